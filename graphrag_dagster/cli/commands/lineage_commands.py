"""``graphrag-dagster why`` and ``impact``."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import polars as pl
import typer
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from graphrag_dagster.cli.options import Everything, Name
from graphrag_dagster.cli.result import Frame, Part, Result
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.printable import shorten
from graphrag_dagster.kernel.lineage.impact import Impact, impact
from graphrag_dagster.kernel.lineage.lineage_steps import LineageStep, open_rows
from graphrag_dagster.kernel.lineage.row_lineage import WHY_KINDS, why
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.text.evidence import Told

_SHOWN, _TEXT = 5, 200
_ROWS = 10
_HIDDEN_FACTS = frozenset(
    ["human_readable_id", "document_id", "start_char", "end_char", "question", "number", "cites", "names"]
)


def show_why(
    name: Name,
    kind: Annotated[
        str, typer.Argument(help="entity, relationship, report, claim, answer, triple or summary.")
    ],
    row: Annotated[
        str, typer.Argument(help="Its id, the start of that, its number, or its name.", metavar="ID")
    ],
    everything: Everything = False,
) -> Result:
    """Show the tree from a row down to the words of the documents it rests on.

    Raises:
        QuestionError: there is no such kind, no row fits, or more than one does.
        WarehouseError: the corpus has not been indexed.
    """
    if kind not in WHY_KINDS:
        raise QuestionError(f"{kind!r} is not a kind of row; choose {', '.join(WHY_KINDS)}")
    with open_rows(Warehouse(), name) as rows:
        step = why(rows, kind, row, None if everything else _SHOWN)
    tree = Tree(_line(step), guide_style="dim")
    _grow(tree, step)
    return Result(step.to_dict(), [tree])


def show_impact(
    name: Name,
    document: Annotated[str, typer.Argument(help="Path, id or title of a document.")],
    everything: Annotated[bool, typer.Option("--all", help="Print all rows.")] = False,
) -> Result:
    """Show what would go and change without a document.

    Raises:
        QuestionError: there is no such document.
        WarehouseError: the corpus has not been indexed.
    """
    with open_rows(Warehouse(), name) as rows:
        found = impact(rows, document)
    return Result(found.to_dict(), _impact(found, None if everything else _ROWS))


def _impact(found: Impact, most: int | None) -> Iterator[Part]:
    for title, path, characters in found.documents.select("title", "path", "characters").head(_ROWS).rows():
        yield Text.assemble((f"without {path}", "bold"), f" “{title}”, {characters:,} characters")
    if (more := len(found.documents) - _ROWS) > 0:
        yield f"… and {more:,} more documents"
    for path in found.copies:
        yield Text(f"{path} has the same content and would take its place", "yellow")
    yield _count_table(found)
    for title, frame in _parts(found):
        if not frame.is_empty():
            yield Frame(frame, f"{title} ({len(frame):,})", most=most)
    yield Text("Communities are taken to stay as they are; a run may cluster anew.", "dim")


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
    listed = ", ".join(
        f"{key} {_format_value(value)}" for key, value in step.facts.items() if key not in _HIDDEN_FACTS
    )
    facts = f" [dim]{escape(listed)}[/]" if listed else ""
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
    return shorten(" ".join(text.split()), _TEXT)


def _count_table(found: Impact) -> Frame:
    counts, totals = found.counts(), found.totals
    sorts = ("text_units", "entities", "relationships", "claims", "communities", "context_nodes")
    rows: list[tuple[str, int | None, int | None, int | None]] = [
        (name.replace("_", " "), counts.get(f"{name}_gone"), counts.get(f"{name}_less"), totals[name])
        for name in sorts
        if name != "context_nodes" or totals[name]
    ]
    rows.append(("reports that show any of it", None, counts["reports_holding"], totals["reports"]))
    if totals["summaries"]:
        rows.append(("summaries that mention it", None, counts["summaries_again"], totals["summaries"]))
    rows += [
        ("answers that cite it", None, counts["answers_citing"], totals["answers"]),
        ("at most written again: descriptions", None, counts["descriptions_again"], None),
        ("at most written again: reports", None, counts["reports_again"], None),
    ]
    return Frame(pl.DataFrame(rows, ("rows", "gone", "less", "of"), orient="row"))


def _parts(found: Impact) -> Iterable[tuple[str, pl.DataFrame]]:
    entities, relationships, kept = found.entities, found.relationships, ~pl.col("gone")
    ends, units = (
        pl.format("{} – {}", "source", "target").alias("relationship"),
        ("text_units", "text_units_after"),
    )
    yield "entities that go", entities.filter("gone")["title", "type", "text_units", "entity_id"]
    yield "entities in fewer text units", entities.filter(kept)["title", *units, "entity_id"]
    gone = relationships.filter("gone").select(ends, "text_units", "relationship_id")
    yield "relationships that go", gone
    fewer = relationships.filter(kept).select(ends, *units, "relationship_id")
    yield "relationships in fewer text units", fewer
    yield "claims that go", found.claims.filter("gone")["description", "claim_id"]
    yield "claims in fewer text units", found.claims.filter(kept)["description", *units, "claim_id"]
    smaller = found.communities["level", "size", "size_after", "title", "community_id"]
    yield "communities that lose members", smaller
    yield "reports that show any of it", found.reports["level", "title", "shown", "report_id"]
    summaries = found.summaries["title", "engine", "triples", "lost", "community_id"]
    yield "summaries that mention it", summaries
    answers = found.answers["question", "method", "citations", "shown", "answer_id"]
    yield "answers that cite it or were shown it", answers
