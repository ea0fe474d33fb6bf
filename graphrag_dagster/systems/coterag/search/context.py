"""The context of an answer, in order: summaries, paths, text units, what the preserved store added."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.kernel.tasks.ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.sentences import sentence_spans
from graphrag_dagster.systems.coterag.options import SummariesShown
from graphrag_dagster.systems.coterag.search.retrieval import same_text
from graphrag_dagster.systems.coterag.search.snapshot import CoteragSnapshot
from graphrag_dagster.systems.coterag.search.trace import ChunkMatch, Retrieved
from graphrag_dagster.systems.coterag.search.traversal import PathTriple
from graphrag_dagster.systems.coterag.terms import terms

Part = Literal["summary", "path", "chunk", "fallback"]


@dataclass(frozen=True, slots=True)
class ContextRow:
    """A row of a context.

    Attributes:
        part: where it comes from.
        unit: as answerers see it; its id is its number in the context.
        record: community or text unit that it shows; of a triple the ids of its ends and its relation.
    """

    part: Part
    unit: ContextUnit
    record: str | tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Context:
    """Rows in the order in which an answerer sees them."""

    rows: tuple[ContextRow, ...] = ()

    @property
    def units(self) -> list[ContextUnit]:
        """The rows as answerers see them."""
        return [row.unit for row in self.rows]

    @property
    def texts(self) -> set[str]:
        """Texts of the text units, as they are told apart."""
        return {same_text(row.unit.text) for row in self.rows if row.part in {"chunk", "fallback"}}

    @property
    def stems(self) -> set[str]:
        """Terms of all rows."""
        return {one for row in self.rows for text in (row.unit.title, row.unit.text) for one in terms(text)}

    def nodes(self) -> list[str]:
        """Return the ranked list by which contextual precision is measured: all paths are one node."""
        paths = [row.unit.text for row in self.rows if row.part == "path"]
        found: list[str] = []
        for row in self.rows:
            if row.part != "path":
                found.append(row.unit.text)
            elif paths:
                found.append("\n".join(paths))
                paths = []
        return found

    def with_chunks(self, index: CoteragSnapshot, chunks: Sequence[ChunkMatch], part: Part) -> "Context":
        """Return the context with further text units behind it."""
        rows = list(self.rows)
        for one in chunks:
            title, text = index.texts[one.text_unit_id]
            sentences = tuple(
                (" ".join(text[span.start : span.end].split()), Quote(one.text_unit_id, span))
                for span in sentence_spans(text)
            )
            unit = ContextUnit(len(rows) + 1, title, text, sentences, "source")
            rows.append(ContextRow(part, unit, one.text_unit_id))
        return Context(tuple(rows))


def first_context(index: CoteragSnapshot, found: Retrieved, shown: SummariesShown) -> Context:
    """Return the context of what the main graph gave.

    Args:
        index: has the texts.
        found: what is shown.
        shown: of the summaries: all, that of the best community, or none.
    """
    selected = {"all": found.selected, "best": found.selected[:1], "none": []}[shown]
    rows: list[ContextRow] = []
    for community in selected:
        title, text = index.summary_of[community]
        rows.append(ContextRow("summary", ContextUnit(len(rows) + 1, title, text), community))
    for triple in found.triples:
        title, text = _told(index, triple)
        unit = ContextUnit(len(rows) + 1, title, text, kind="relationship")
        rows.append(ContextRow("path", unit, (triple.head, triple.relation, triple.tail)))
    return Context(tuple(rows)).with_chunks(index, found.chunks, "chunk")


def _told(index: CoteragSnapshot, triple: PathTriple) -> tuple[str, str]:
    head, tail = index.titles[triple.head], index.titles[triple.tail]
    return f"{head} – {tail}", f"{head} {triple.relation} {tail}."
