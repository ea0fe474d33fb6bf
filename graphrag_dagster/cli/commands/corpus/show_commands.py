"""``graphrag-dagster show`` and ``corpora``, and files that were not read."""

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.console import OUT, markdown, number, print_json, table_of
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


def unread_rows(files: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """The files that were not read and those read in part, for JSON, by the keys they have there."""
    return {
        "files_not_read": unread_files(files).to_dicts(),
        "files_read_in_part": partly_read_files(files).to_dicts(),
    }


def print_unread(name: str, files: pl.DataFrame, most: int = 10) -> None:
    """Say which files were not read, which in part, and how to see all where that takes too many lines."""
    lines, left = describe_files(files, most)
    OUT.warn(*lines)
    if left:
        command = f"graphrag-dagster show {escape(name)} --files"
        OUT.say(f"and {plural(left, 'more file', 'more files')}; all of them: {command}")


def print_files(files: pl.DataFrame) -> None:
    """List every file with what became of it."""
    table = RichTable(title="files", title_justify="left")
    table.add_column("file", overflow="fold")
    table.add_column("fate")
    table.add_column("documents", justify="right")
    table.add_column("reason", overflow="fold", ratio=1)
    for path, status, incomplete, documents, reason in files.select(
        "path", "status", "incomplete", "documents", "reason"
    ).iter_rows():
        style = {"read": None, "ignored": "dim", "duplicate": "dim"}.get(status, "yellow")
        fate = "read in part" if incomplete else status
        table.add_row(
            escape(path),
            fate,
            f"{documents:,}",
            escape(reason or ""),
            style="yellow" if incomplete else style,
        )
    OUT.print(table)


#: How an outcome is told, in this order.
_TOLD = {
    "read": "read",
    "repaired": "read after a repair",
    "dangling": "naming what the graph does not declare",
    "duplicate": "repeated",
    "loop": "leading to where they begin",
    "malformed": "put aside",
}
#: Of those that were put aside, what is told of their files says why.
_REASONED = ("repaired", "dangling")
_MOST_REASONS = 5


def print_accounts(account: pl.DataFrame) -> None:
    """Say how many rows the files have, and what became of them; with reasons where a part was odd."""
    if account.is_empty():
        return
    counts = dict(account.group_by("outcome").agg(pl.sum("rows")).iter_rows())
    parts = " + ".join(f"{counts[one]:,} {_TOLD[one]}" for one in _TOLD if counts.get(one))
    OUT.say(f"{plural(sum(counts.values()), 'row')} of graphs: {parts}", markup=False)
    odd = account.filter(pl.col("outcome").is_in(_REASONED)).sort(
        pl.col("outcome").replace_strict(_REASONED, range(len(_REASONED))), "path", "record"
    )
    for path, outcome, rows, first, reason in (
        odd.select("path", "outcome", "rows", "first_row", "reason").head(_MOST_REASONS).iter_rows()
    ):
        others = f" and {rows - 1:,} more" if rows > 1 else ""
        OUT.say(
            f"  [yellow]{escape(path)}[/] row {first:,}{others}, {_TOLD[outcome]}: {escape(reason or '')}"
        )
    if odd.height > _MOST_REASONS:
        OUT.print(f"  and {odd.height - _MOST_REASONS:,} more kinds; all of them: table imports.account")


_MOST_COMMUNITIES = 10
#: Sentences on files that were not read, with everything and without.
_MOST_FILES, _FEW_FILES = 20, 5
_PUT_ASIDE = frozenset({"failed", "refused", "unsupported", "read in part", "units unreadable"})


def show_corpus(
    name: str,
    reports: int | None,
    level: str,
    *,
    files: bool = False,
    everything: bool = False,
    as_json: bool,
) -> None:
    """Print a screen of counts, files not read, what is open on names, and a level's communities.

    Args:
        name: of the corpus.
        reports: how many reports are printed; default: none, and one with everything.
        level: of the communities.
        files: print every file instead.
        everything: print every count, the sizes of contexts, and what was put aside by reason, too.
        as_json: print all of it as JSON.

    Raises:
        QuestionError: there is no such level.
        WarehouseError: the corpus has not been indexed.
    """
    if files:
        _show_files(name, as_json=as_json)
        return
    with reading(Warehouse(), name) as (reader, snapshot):
        summary = reader.read(tables.CORPUS_SUMMARY)
        sizes = reader.read_if_present(tables.CONTEXT_SIZES)
        communities = communities_of(reader, level_of(level))
        quarantine = reader.read(QUARANTINE)
        ledger = reader.read(tables.UNIT_LEDGER)
        found = reader.read(tables.FILES)
        account = reader.read(IMPORT_ACCOUNT)
        names = name_figures(reader)
    if as_json:
        print_json(
            {
                "corpus": name,
                "summary": summary.to_dicts(),
                **unread_rows(found),
                "rows": account.to_dicts(),
                "context_sizes": [] if sizes is None else sizes.to_dicts(),
                "quarantine": quarantine.drop("prompt").to_dicts(),
                "unreadable": unreadable_units(ledger),
                "without_grammar": units_without_grammar(ledger),
                "names": names,
                "communities": communities.to_dicts(),
            }
        )
        return
    if everything:
        OUT.print(summary_table(name, summary))
    else:
        state = f"published {snapshot.published[:16].replace('T', ' ')} UTC" if snapshot else "not published"
        OUT.say(f"[bold]{escape(name)}[/]: {plural(_documents_in(summary), 'document')}, {state}")
        OUT.print(figures_table(summary))
    print_unread(name, found, _MOST_FILES if everything else _FEW_FILES)
    print_accounts(account)
    if everything:
        if sizes is not None:
            OUT.print(sizes_table(sizes))
        _print_quarantine(quarantine)
    print_languages(ledger)
    print_names(name, names)
    OUT.print(_community_table(communities.head(_MOST_COMMUNITIES), level))
    for content in communities["content"].head(int(everything) if reports is None else reports):
        OUT.print()
        OUT.print(markdown(content))
    if not everything:
        command = f"graphrag-dagster show {shlex.quote(name)} --all"
        OUT.say(f"every count, what was put aside and why, and a report: {escape(command)}")


def _documents_in(summary: pl.DataFrame) -> int:
    return next((int(value) for _, measure, value in summary.rows() if measure == "documents"), 0)


def _show_files(name: str, *, as_json: bool) -> None:
    with reading(Warehouse(), name) as (reader, _):
        found = reader.read(tables.FILES)
    if as_json:
        print_json({"corpus": name, "files": found.to_dicts()})
    else:
        print_files(found)


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


def print_names(corpus: str, told: dict[str, Any] | None) -> None:
    """Print how many names were joined, how many questions are open, and decisions without effect."""
    if told is None:
        return
    OUT.say(
        f"{plural(told['joined'], 'name')} joined to {plural(told['into'], 'entity', 'entities')}; "
        f"{plural(told['open'], 'question')} on names open: "
        f"graphrag-dagster entities {escape(corpus)} --ask"
    )
    print_unused(told["unused"])


def print_unused(unused: Iterable[Mapping[str, Any]]) -> None:
    """Print decisions without effect: id, if there is one, and reason of each."""
    for row in unused:
        named = f"{row['decision_id']}: " if row["decision_id"] else ""
        OUT.warn(f"a decision without effect: {named + row['reason']}")


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


def summary_table(title: str, summary: pl.DataFrame) -> RichTable:
    """The rows of ``marts.corpus_summary``; what was put aside stands out."""
    table = table_of("area", "measure", "value", numbers=("value",), title=escape(title))
    for area, measure, value in summary.rows():
        put_aside = "quarantined" in measure or measure in _PUT_ASIDE
        shown = f"{value:.1%}" if measure == "coverage of entities" else number(value)
        table.add_row(area, measure, shown, style="yellow" if put_aside and value else None)
    return table


#: What is told after an index, in this order: a label, and the measures of ``marts.corpus_summary``.
_FIGURES = {
    "text units": ("text units", "tokens"),
    "graph": ("entities", "relationships", "triples"),
    "claims": ("claims",),
    "communities": ("communities in C0", "communities in C1", "communities in C2"),
    "names": ("pairs of names: ask",),
    "put aside": (
        "units quarantined",
        "units unreadable",
        "reply records quarantined",
        "pairs with a problem",
    ),
}
_CALLED = {"pairs of names: ask": "pairs open"}


def figures_table(summary: pl.DataFrame) -> RichTable:
    """The few rows of ``marts.corpus_summary`` that a person wants after an index, those of zero left out."""
    made = {measure: value for _, measure, value in summary.rows()}
    above = (measure for measure in made if measure.startswith("communities in C-"))
    figures = {
        **_FIGURES,
        "communities": (
            *sorted(above, key=lambda measure: -int(measure.rpartition("-")[2])),
            *_FIGURES["communities"],
        ),
        "reports": tuple(measure for measure in made if measure.startswith("reports by ")),
    }
    table = RichTable(box=None, show_header=False, padding=(0, 2, 0, 0))
    for label, measures in figures.items():
        told = [_figure(label, measure, made[measure]) for measure in measures if made.get(measure)]
        if told:
            style = "yellow" if label == "put aside" else None
            table.add_row(label, ", ".join(told), style=style)
    return table


def _figure(label: str, measure: str, value: float) -> str:
    told = _CALLED.get(measure, measure.removeprefix(f"{label} in ").removeprefix(f"{label} "))
    if label == "communities":
        return f"{told} {number(value)}"
    return f"{number(value)} {_singular(told) if value == 1 else told}"


def _singular(told: str) -> str:
    """Return what is counted in the singular.

    >>> _singular("entities"), _singular("pairs open"), _singular("by extractive engine")
    ('entity', 'pair open', 'by extractive engine')
    """
    return re.sub(r"s\b", "", re.sub(r"ies\b", "y", told), count=1)


def sizes_table(sizes: pl.DataFrame) -> RichTable:
    """The rows of ``marts.context_sizes``, the paper's Table 2."""
    numbers = ("units", "tokens", "% of TS")
    table = table_of("condition", *numbers, numbers=numbers, title="context size per question")
    for condition, units, tokens, percent in sizes.iter_rows():
        table.add_row(condition, f"{units:,}", f"{tokens:,}", "–" if percent is None else f"{percent:.1f}")
    return table


def list_corpora(*, as_json: bool) -> None:
    """Print every corpus, where it lies and how much was made of it."""
    store, warehouse = CorpusStore(), Warehouse()
    rows, damaged = [], {}
    for name in sorted({*store.names(), *shared_corpora(warehouse)}):
        try:
            rows.append(_corpus_row(store, warehouse, name))
        except (GraphragError, OSError) as error:
            # One that is damaged hides no other.
            damaged[name] = os_error_message(error) if isinstance(error, OSError) else str(error)
    if as_json:
        listed = {"root": str(store.path), "corpora": rows, "misnamed": store.misnamed(), "damaged": damaged}
        print_json(listed)
        return
    if not rows and not damaged:
        OUT.say(f"no corpora below {store.path}; make one with: graphrag-dagster init NAME")
    if rows:
        numbers = ("documents", "text units", "entities", "reports")
        table = table_of("corpus", *numbers, "folder", numbers=numbers, overflow="fold")
        for row in rows:
            table.add_row(
                *(escape(number(v)) if isinstance(v, float) else escape(str(v or "–")) for v in row.values())
            )
        OUT.print(table)
    for name, problem in damaged.items():
        OUT.warn(f"{name} cannot be read: {problem}")
    for name in store.misnamed():
        OUT.warn(
            f"the folder {name!r} is no corpus, as its name is not allowed; to index it: "
            f"graphrag-dagster index {shlex.quote(str(store.path / name))}"
        )


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


def print_languages(ledger: "pl.DataFrame") -> None:
    """Print which text units were not read, or only for names, for their language, and what that means.

    Args:
        ledger: rows of ``extraction.unit_ledger``.
    """
    if unread := unreadable_units(ledger):
        OUT.warn(*unread)
        OUT.say(
            "nothing is extracted from these, and search finds their words; a model reads them (engine: llm)"
        )
    if named := units_without_grammar(ledger):
        OUT.warn(*named)
        OUT.say(
            "relations of these are names that share a sentence; a spaCy pipeline of the language "
            "(extraction.pipeline) knows names better than capitals tell, a model (engine: llm) reads all"
        )


def _print_quarantine(quarantine: pl.DataFrame) -> None:
    if quarantine.is_empty():
        return
    title = "put aside, by reason (extraction.quarantine has every record)"
    table = table_of("kind", "reason", "records", title=title)
    counted = (
        quarantine.group_by("kind", "reason")
        .len()
        .sort(["len", "kind", "reason"], descending=[True, False, False])
    )
    for kind, reason, records in counted.head(10).rows():
        table.add_row(kind, escape(reason), number(records))
    OUT.print(table)


def _community_table(communities: pl.DataFrame, level: str) -> RichTable:
    title, numbers = f"largest communities of {escape(level.upper())}", ("members", "rating")
    table = table_of(*numbers, "report", numbers=numbers, title=title)
    for size, rating, title in communities["size", "rating", "title"].rows():
        table.add_row(str(size), f"{rating:.1f}", escape(title))
    return table
