"""``graphrag-dagster why`` and ``impact``."""

from collections.abc import Iterable

import polars as pl
from rich.markup import escape
from rich.table import Table as RichTable
from rich.tree import Tree

from graphrag_dagster.cli.console import OUT, number, print_json, table_of
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.lineage.impact import Impact
from graphrag_dagster.kernel.lineage.lineage_reader import impact, why
from graphrag_dagster.kernel.lineage.lineage_steps import LineageStep
from graphrag_dagster.kernel.lineage.row_lineage import WHY_KINDS
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.text.evidence import Told

_SHOWN, _TEXT = 5, 200
_ROWS = 10
_UNTOLD = {
    "human_readable_id",
    "document_id",
    "start_char",
    "end_char",
    "question",
    "number",
    "cites",
    "names",
}


def show_why(name: str, kind: str, asked: str, *, everything: bool, as_json: bool) -> None:
    """Print the tree from a row down to the words of the documents it rests on.

    Raises:
        QuestionError: there is no such kind, no row fits, or more than one does.
        WarehouseError: the corpus has not been indexed.
    """
    if kind not in WHY_KINDS:
        raise QuestionError(f"{kind!r} is nothing to ask about; choose {', '.join(WHY_KINDS)}")
    step = why(Warehouse(), name, kind, asked, None if everything else _SHOWN)
    if as_json:
        print_json(step.to_dict())
        return
    tree = Tree(_line(step), guide_style="dim")
    _grow(tree, step)
    OUT.print(tree)


def show_impact(name: str, document: str, *, everything: bool, as_json: bool) -> None:
    """Print what would go and change without a document.

    Raises:
        QuestionError: there is no such document.
        WarehouseError: the corpus has not been indexed.
    """
    found = impact(Warehouse(), name, document)
    if as_json:
        print_json(found.to_dict())
        return
    for title, path, characters in found.documents.select("title", "path", "characters").head(_ROWS).rows():
        OUT.say(f"[bold]without {escape(path)}[/] “{escape(title)}”, {characters:,} characters")
    if (more := len(found.documents) - _ROWS) > 0:
        OUT.print(f"… and {more:,} more documents")
    for path in found.copies:
        OUT.warn(f"{path} has the same content and would take its place")
    OUT.print(_count_table(found))
    most = None if everything else _ROWS
    for title, frame in _parts(found):
        _print_rows(title, frame, most)
    OUT.print("Communities are taken to stay as they are; a run may cluster anew.", style="dim")


def _grow(tree: Tree, step: LineageStep) -> None:
    if step.text:
        tree.add(escape(_shorten(step.text)), style="dim")
    for evidence in step.evidence:
        tree.add(_display_text(evidence.told))
    for below in step.steps:
        _grow(tree.add(_line(below)), below)
    if step.left_out:
        tree.add(f"[dim]… {step.left_out:,} more: --all[/]")


def _line(step: LineageStep) -> str:
    told = ", ".join(
        f"{key} {_format_value(value)}" for key, value in step.facts.items() if key not in _UNTOLD
    )
    facts = f" [dim]{escape(told)}[/]" if told else ""
    identity = f" [dim]{escape(step.id)}[/]" if step.id else ""
    if step.kind == "text_unit":
        span = f"characters {step.facts.get('start_char', '?')}–{step.facts.get('end_char', '?')}"
        return f"text unit{identity} of {escape(step.title)}, {span}"
    if step.kind in {"statement", "summary", "finding"}:
        return f"{step.kind}: {escape(_shorten(step.title))}{facts}"
    mark = f"\\[{step.facts['number']}] " if "number" in step.facts else ""
    return f"{mark}{step.kind} [bold]{escape(_shorten(step.title))}[/]{identity}{facts}"


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _display_text(told: Told) -> str:
    if told.before or told.after:
        text = f"{escape(told.before)}[bold]{escape(told.said)}[/]{escape(told.after)}"
    else:
        text = escape(_shorten(told.said) if told.remark else told.said)
    remark = f" [dim]({told.remark})[/]" if told.remark else ""
    return f"{escape(told.location)}: {told.with_mark(text)}{remark}"


def _shorten(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= _TEXT else folded[: _TEXT - 1] + "…"


def _count_table(found: Impact) -> RichTable:
    counts, totals = found.counts(), found.totals
    table = table_of("", "gone", "less", "of", numbers=("gone", "less", "of"))
    sorts = ("text_units", "entities", "relationships", "claims", "communities", "context_nodes")
    for name in (one for one in sorts if one != "context_nodes" or totals[one]):
        gone, less = counts.get(f"{name}_gone"), counts.get(f"{name}_less")
        table.add_row(name.replace("_", " "), *map(_count, (gone, less)), number(totals[name]))
    table.add_section()
    table.add_row(
        "reports that show any of it", "", number(counts["reports_holding"]), number(totals["reports"])
    )
    if totals["summaries"]:
        told = number(counts["summaries_again"])
        table.add_row("summaries that tell of it", "", told, number(totals["summaries"]))
    table.add_row("answers that cite it", "", number(counts["answers_citing"]), number(totals["answers"]))
    table.add_section()
    table.add_row("at most written again: descriptions", "", number(counts["descriptions_again"]), "")
    table.add_row("at most written again: reports", "", number(counts["reports_again"]), "")
    return table


def _count(value: int | None) -> str:
    return "" if value is None else number(value)


def _parts(found: Impact) -> Iterable[tuple[str, pl.DataFrame]]:
    entities, relationships = found.entities, found.relationships
    ends = pl.format("{} – {}", "source", "target")
    kept = ~pl.col("gone")
    units = ("text_units", "text_units_after")
    yield "entities that go", entities.filter("gone").select("title", "type", "text_units", "entity_id")
    yield "entities in fewer text units", entities.filter(kept).select("title", *units, "entity_id")
    yield (
        "relationships that go",
        relationships.filter("gone").select(ends.alias("relationship"), "text_units", "relationship_id"),
    )
    yield (
        "relationships in fewer text units",
        relationships.filter(kept).select(ends.alias("relationship"), *units, "relationship_id"),
    )
    yield "claims that go", found.claims.filter("gone").select("description", "claim_id")
    yield "claims in fewer text units", found.claims.filter(kept).select("description", *units, "claim_id")
    yield (
        "communities that lose members",
        found.communities.select("level", "size", "size_after", "title", "community_id"),
    )
    yield "reports that show any of it", found.reports.select("level", "title", "shown", "report_id")
    yield (
        "summaries that tell of it",
        found.summaries.select("title", "engine", "triples", "lost", "community_id"),
    )
    yield (
        "answers that cite it or were shown it",
        found.answers.select("question", "method", "citations", "shown", "answer_id"),
    )


def _print_rows(title: str, frame: pl.DataFrame, most: int | None) -> None:
    if frame.is_empty():
        return
    table = RichTable(title=f"{title} ({len(frame):,})", title_justify="left")
    for column in frame.columns:
        numeric = frame.schema[column].is_numeric()
        table.add_column(column.replace("_", " "), justify="right" if numeric else "left", overflow="fold")
    shown = frame if most is None else frame.head(most)
    for row in shown.iter_rows():
        table.add_row(*map(_cell, row))
    OUT.print(table)
    if len(frame) > len(shown):
        OUT.print(f"[dim]… {len(frame) - len(shown):,} more: --all[/]")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else escape(_shorten(_format_value(value)))
