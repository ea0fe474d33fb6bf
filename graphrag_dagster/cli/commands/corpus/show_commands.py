"""``graphrag-dagster show`` and ``corpora``, and files that were not read."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import polars as pl
import typer
from rich.table import Table as RichTable
from rich.text import Text

from graphrag_dagster.cli.console import markdown
from graphrag_dagster.cli.options import Name
from graphrag_dagster.cli.result import Frame, Part, Result, facts_table
from graphrag_dagster.errors import GraphragError, QuestionError
from graphrag_dagster.kernel.common.printable import os_error_message, plural
from graphrag_dagster.kernel.documents.documents import describe_files, partly_read_files, unread_files
from graphrag_dagster.kernel.questions.document_filters import level_of
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import published, reading
from graphrag_dagster.kernel.storage.published.shared_snapshots import shared_corpora
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.import_tables import IMPORT_ACCOUNT
from graphrag_dagster.systems.graphrag.index.extraction_tables import (
    units_without_grammar,
    unreadable_units,
)
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES, DECISIONS
from graphrag_dagster.systems.graphrag.tables import QUARANTINE


def unread_rows(files: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The files that were not read and those read in part, by the keys they have in JSON."""
    return {"files_not_read": unread_files(files), "files_read_in_part": partly_read_files(files)}


def unread_lines(name: str, files: pl.DataFrame, most: int = 10) -> Iterator[str | Text]:
    """Yield which files were not read, which in part, and how to see all where that takes too many lines."""
    lines, left = describe_files(files, most)
    yield from (Text(line, "yellow") for line in lines)
    if left:
        more = plural(left, "more file", "more files")
        yield f"and {more}; all of them: graphrag-dagster show {name} --files"


def file_table(files: pl.DataFrame) -> Frame:
    """Return every file with its status."""
    status = pl.when("incomplete").then(pl.lit("read in part")).otherwise("status")
    shown = files.select("path", status.alias("status"), "documents", pl.col("reason").fill_null(""))
    styles = {"read": None, "ignored": "dim", "duplicate": "dim"}
    return Frame(
        shown, "files", {"path": "file"}, styles=[styles.get(one, "yellow") for one in shown["status"]]
    )


#: What became of the rows of graph files, in this order.
_OUTCOMES = {
    "read": "read",
    "repaired": "read after a repair",
    "dangling": "naming what the graph does not declare",
    "duplicate": "repeated",
    "loop": "leading to where they begin",
    "malformed": "quarantined",
}
#: Outcomes whose reasons are shown; of what is quarantined the files say why.
_REASONED = ("repaired", "dangling")
_MOST_REASONS = 5


def account_lines(account: pl.DataFrame) -> Iterator[str | Text]:
    """Yield how many rows the files have, and what became of them; with reasons where a part was odd."""
    if account.is_empty():
        return
    counts = dict(account.group_by("outcome").agg(pl.sum("rows")).iter_rows())
    parts = " + ".join(f"{counts[one]:,} {_OUTCOMES[one]}" for one in _OUTCOMES if counts.get(one))
    yield f"{plural(sum(counts.values()), 'row')} of graphs: {parts}"
    odd = account.filter(pl.col("outcome").is_in(_REASONED)).sort(
        pl.col("outcome").replace_strict(_REASONED, range(len(_REASONED))), "path", "record"
    )
    for path, outcome, rows, first, reason in (
        odd.select("path", "outcome", "rows", "first_row", "reason").head(_MOST_REASONS).iter_rows()
    ):
        others = f" and {rows - 1:,} more" if rows > 1 else ""
        text = f" row {first:,}{others}, {_OUTCOMES[outcome]}: {reason or ''}"
        yield Text.assemble("  ", (path, "yellow"), text)
    if odd.height > _MOST_REASONS:
        yield f"  and {odd.height - _MOST_REASONS:,} more kinds; all of them: table imports.account"


_MOST_COMMUNITIES = 10
#: Sentences on files that were not read, with everything and without.
_MOST_FILES, _FEW_FILES = 20, 5


def show_corpus(
    name: Name,
    reports: Annotated[int | None, typer.Option(min=0, help="How many reports to print in full.")] = None,
    level: Annotated[str, typer.Option(help="Level of the communities shown.")] = "C0",
    everything: Annotated[
        bool,
        typer.Option("--all", help="Every count, what was quarantined and why, context sizes, a report."),
    ] = False,
    files: Annotated[bool, typer.Option("--files", help="List every file with its status.")] = False,
) -> Result:
    """Show a screen of counts, files not read, what is open on names, and a level's communities.

    Raises:
        QuestionError: there is no such level.
        WarehouseError: the corpus has not been indexed.
    """
    with reading(Warehouse(), name) as (reader, snapshot):
        found = reader.read(tables.FILES)
        if files:
            return Result({"corpus": name, "files": found}, [file_table(found)])
        summary = reader.read(tables.CORPUS_SUMMARY)
        sizes = reader.read_if_present(tables.CONTEXT_SIZES)
        communities = communities_of(reader, level_of(level))
        quarantine = reader.read(QUARANTINE)
        ledger = reader.read(tables.UNIT_LEDGER)
        account = reader.read(IMPORT_ACCOUNT)
        names = name_figures(reader)

    def shown() -> Iterator[Part]:
        if everything:
            yield Frame(summary, name)
        else:
            state = (
                f"published {snapshot.published[:16].replace('T', ' ')} UTC" if snapshot else "not published"
            )
            yield Text.assemble((name, "bold"), f": {plural(_documents_in(summary), 'document')}, {state}")
            yield figures_table(summary)
        yield from unread_lines(name, found, _MOST_FILES if everything else _FEW_FILES)
        yield from account_lines(account)
        if everything:
            yield from [] if sizes is None else [sizes_table(sizes)]
            yield from _quarantine_table(quarantine)
        yield from language_lines(ledger)
        yield from _name_lines(name, names)
        yield _community_table(communities.head(_MOST_COMMUNITIES), level)
        for content in communities["content"].head(int(everything) if reports is None else reports):
            yield ""
            yield markdown(content)
        if not everything:
            command = f"graphrag-dagster show {shlex.quote(name)} --all"
            yield f"every count, what was quarantined, and a report: {command}"

    facts = {
        "corpus": name,
        "summary": summary,
        **unread_rows(found),
        "rows": account,
        "context_sizes": [] if sizes is None else sizes,
        "quarantine": quarantine.drop("prompt"),
        "unreadable": unreadable_units(ledger),
        "without_grammar": units_without_grammar(ledger),
        "names": names,
        "communities": communities,
    }
    return Result(facts, shown())


def _documents_in(summary: pl.DataFrame) -> int:
    return next((int(value) for _, measure, value in summary.rows() if measure == "documents"), 0)


def name_figures(reader: Reader) -> dict[str, Any] | None:
    """Return how many names were joined and are open, and decisions without effect; None in older indexes."""
    aliases, decisions = reader.read_if_present(ALIASES), reader.read_if_present(DECISIONS)
    if aliases is None or decisions is None:
        return None
    joined = aliases.group_by("entity").agg(pl.col("name").n_unique()).filter(pl.col("name") > 1)
    unused = decisions.filter(pl.col("verdict") == "unused")
    return {
        "joined": int(joined["name"].sum()),
        "into": len(joined),
        "open": len(decisions.filter(pl.col("verdict") == "ask").unique(["one", "other"])),
        "unused": unused.select("decision_id", "who", "decided_at", "reason").to_dicts(),
    }


def _name_lines(corpus: str, figures: dict[str, Any] | None) -> Iterator[str | Text]:
    if figures is None:
        return
    yield (
        f"{plural(figures['joined'], 'name')} joined to {plural(figures['into'], 'entity', 'entities')}; "
        f"{plural(figures['open'], 'question')} on names open: "
        f"graphrag-dagster entities {corpus} --ask"
    )
    yield from unused_lines(figures["unused"])


def unused_lines(unused: Iterable[Mapping[str, Any]]) -> Iterator[Text]:
    """Yield decisions without effect: id, if there is one, and reason of each."""
    for row in unused:
        named = f"{row['decision_id']}: " if row["decision_id"] else ""
        yield Text(f"a decision without effect: {named + row['reason']}", "yellow")


def communities_of(reader: Reader, level: int) -> pl.DataFrame:
    """The communities of ``C<level>`` with their reports, biggest first.

    Raises:
        QuestionError: there is no such level; names those there are.
    """
    levels = reader.read(tables.COMMUNITY_LEVELS)
    known = sorted(levels["level"].unique())
    if level not in known and known:
        raise QuestionError(f"no level C{level}; there are {', '.join(f'C{k}' for k in known)}")
    ids = levels.filter(pl.col("level") == level).select("community_id").unique()
    communities = reader.read(tables.COMMUNITIES).join(ids, on="community_id")
    reports = reader.read(tables.COMMUNITY_REPORTS).select(
        "report_id", "title", "summary", "rating", "content", "engine"
    )
    return communities.join(reports, left_on="community_id", right_on="report_id", how="left").sort(
        ["size", "summed_degree", "community_id"], descending=[True, True, False]
    )


#: Headings of ``marts.context_sizes``.
_SIZES = ("units", "tokens", "% of TS")
_CORPUS_COLUMNS = {
    "corpus": pl.String,
    **dict.fromkeys(("documents", "text_units", "entities", "reports"), pl.Float64),
    "folder": pl.String,
}

_LEVEL, _DEEPEST = "communities in C", 2
#: What is shown after an index, in this order: a label, and the measures of ``marts.corpus_summary``.
_FIGURES: Mapping[str, tuple[str, ...]] = {
    "text units": ("text units", "tokens"),
    "graph": ("entities", "relationships", "triples"),
    "claims": ("claims",),
    "communities": (),
    "names": ("pairs of names: ask",),
    "quarantined": (
        *("units quarantined", "units unreadable"),
        *("reply records quarantined", "pairs with a problem"),
    ),
    "reports": (),
}


def figures_table(summary: pl.DataFrame) -> RichTable:
    """The few rows of ``marts.corpus_summary`` that a person wants after an index, those of zero left out."""
    made = {measure: value for _, measure, value in summary.rows() if value}
    rows: dict[str, str | Text] = {
        label: ", ".join(_figure(one, made[one]) for one in measures if one in made)
        for label, measures in _FIGURES.items()
    }
    rows["quarantined"] = Text(str(rows["quarantined"]), "yellow")
    levels = sorted(int(one.removeprefix(_LEVEL)) for one in made if one.startswith(_LEVEL))
    counts = [f"C{level} {made[f'{_LEVEL}{level}']:,.0f}" for level in levels if level <= _DEEPEST]
    rows["communities"] = ", ".join(counts)
    rows["reports"] = ", ".join(_figure(one, made[one]) for one in made if one.startswith("reports by "))
    return facts_table((label, line) for label, line in rows.items() if line)


def _figure(measure: str, value: float) -> str:
    words = "pairs open" if measure.startswith("pairs of names") else measure.removeprefix("reports ")
    return f"{value:,.0f} {_singular(words) if value == 1 else words}"


def _singular(text: str) -> str:
    """Return what is counted in the singular.

    >>> _singular("entities"), _singular("pairs open"), _singular("by extractive engine")
    ('entity', 'pair open', 'by extractive engine')
    """
    return re.sub(r"s\b", "", re.sub(r"ies\b", "y", text), count=1)


def sizes_table(sizes: pl.DataFrame) -> Frame:
    """The rows of ``marts.context_sizes``, the paper's Table 2."""
    return Frame(sizes, "context size per question", dict(zip(sizes.columns[1:], _SIZES, strict=True)))


def list_corpora() -> Result:
    """List every corpus, where it lies and how much was made of it."""
    store, warehouse = CorpusStore(), Warehouse()
    rows, damaged = [], {}
    for name in sorted({*store.names(), *shared_corpora(warehouse)}):
        try:
            rows.append(_corpus_row(store, warehouse, name))
        except (GraphragError, OSError) as error:
            # One that is damaged hides no other.
            damaged[name] = os_error_message(error) if isinstance(error, OSError) else str(error)
    none = f"no corpora below {store.path}; make one with: graphrag-dagster init NAME"
    shown: list[Part] = [Frame(pl.DataFrame(rows, _CORPUS_COLUMNS))] if rows else [] if damaged else [none]
    notes = [f"{name} cannot be read: {problem}" for name, problem in damaged.items()]
    notes += [
        f"the folder {name!r} is no corpus, as its name is not allowed; to index it: "
        f"graphrag-dagster index {shlex.quote(str(store.path / name))}"
        for name in store.misnamed()
    ]
    facts = {"root": store.path, "corpora": rows, "misnamed": store.misnamed(), "damaged": damaged}
    return Result(facts, shown, notes)


def _corpus_row(store: CorpusStore, warehouse: Warehouse, name: str) -> dict[str, Any]:
    summary = None
    if warehouse.file(name).is_file() or published(warehouse, name):
        with reading(warehouse, name) as (reader, _):
            summary = reader.read_if_present(tables.CORPUS_SUMMARY)
    made = {} if summary is None else {m: v for _, m, v in summary.rows()}
    reports = sum(v for m, v in made.items() if m.startswith("reports by "))
    return {
        "corpus": name,
        "documents": made.get("documents"),
        "text_units": made.get("text units"),
        "entities": made.get("entities"),
        "reports": float(reports) if made else None,
        # One that machines share may be indexed elsewhere.
        "folder": str(store.folder(name)) if name in store.names() else None,
    }


def language_lines(ledger: pl.DataFrame) -> Iterator[str | Text]:
    """Yield which text units were not read, or only for names, for their language, and what that means.

    Args:
        ledger: rows of ``extraction.unit_ledger``.
    """
    if unread := unreadable_units(ledger):
        yield from (Text(line, "yellow") for line in unread)
        yield (
            "nothing is extracted from these, and search finds their words; a model reads them (engine: llm)"
        )
    if named := units_without_grammar(ledger):
        yield from (Text(line, "yellow") for line in named)
        yield (
            "relations of these are names that share a sentence; a spaCy pipeline of the language "
            "(extraction.pipeline) knows names better than capitals tell, a model (engine: llm) reads all"
        )


def _quarantine_table(quarantine: pl.DataFrame) -> Iterator[Frame]:
    if not quarantine.is_empty():
        counted = quarantine.group_by("kind", "reason").agg(pl.len().alias("records"))
        counted = counted.sort(["records", "kind", "reason"], descending=[True, False, False]).head(10)
        yield Frame(counted, "quarantined, by reason (extraction.quarantine has every record)")


def _community_table(communities: pl.DataFrame, level: str) -> Frame:
    shown = communities.select(members="size", rating="rating", report="title")
    return Frame(shown, f"largest communities of {level.upper()}")
