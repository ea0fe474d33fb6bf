"""Rows of a context of CoTeRAG-S, and the words of the documents each rests on."""

from collections.abc import Mapping, Sequence
from itertools import islice

import polars as pl

from graphrag_dagster.core.coterag.context import Context, Part
from graphrag_dagster.core.language.tasks import ContextUnit, Quote
from graphrag_dagster.core.search.context.context_units import Provenance, RecordKind, spans_of
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.stating import words_stating
from graphrag_dagster.core.text.citations import ContextKind
from graphrag_dagster.core.text.spans import Span

_RECORDS: Mapping[Part, RecordKind] = {
    "summary": "summary",
    "path": "triple",
    "chunk": "source",
    "fallback": "source",
}
#: Sentences that a triple rests on whose own words are not known, and triples that a summary does.
_SENTENCES, _TRIPLES = 6, 200

Key = tuple[str, str, str]


class CoteragUnits:
    """Summaries, paths and text units, numbered in the order of the context.

    A summary rests on the words it was made of, else on those of its community's triples; a triple on its own
    words, a text unit on its sentences.

    Args:
        index: with what CoTeRAG-S answers from.
        context: of an answer.
    """

    def __init__(self, index: IndexSnapshot, context: Context) -> None:
        self.index = index
        self._rows = context.rows

    @property
    def all(self) -> Sequence[ContextUnit]:
        """All rows, in the order of their numbers."""
        return [row.unit for row in self._rows]

    def kind(self, number: int) -> ContextKind:
        """Return as what the row is cited."""
        return self._rows[number - 1].unit.kind

    def record_kind(self, number: int) -> RecordKind:
        """Return what the row's record is."""
        return _RECORDS[self._rows[number - 1].part]

    def record_id(self, number: int) -> str:
        """Return the id of the community, the triple or the text unit."""
        record = self._rows[number - 1].record
        return record if isinstance(record, str) else self.index.once(_triple_ids)[record]

    def title(self, number: int) -> str:
        """Return the title of the row."""
        return self._rows[number - 1].unit.title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the row rests on, each words once."""
        kind, record = self.record_kind(number), self.record_id(number)
        if kind == "summary":
            return self.index.once(_of_summary, record)
        if kind == "triple":
            return self.index.once(_of_triple, record)
        return [Provenance(Quote(record, span)) for span, _ in spans_of(self.index, record)]


def _triples(index: IndexSnapshot) -> pl.DataFrame:
    return pl.DataFrame() if index.coterag is None else index.coterag.triples


def _triple_ids(index: IndexSnapshot) -> dict[Key, str]:
    rows = _triples(index).select("head_id", "relation", "tail_id", "triple_id").iter_rows()
    return {(head, relation, tail): triple_id for head, relation, tail, triple_id in rows}


def _of_triple(index: IndexSnapshot, triple_id: str) -> Sequence[Provenance]:
    (row,) = _triples(index).filter(pl.col("triple_id") == triple_id).iter_rows(named=True)
    quotes = _stated(index, row)
    return [Provenance(quote, None, "triple", triple_id) for quote in quotes]


def _stated(index: IndexSnapshot, row: Mapping[str, object]) -> list[Quote]:
    """The words of a triple; where there are none, not even sentences that name both ends, the whole unit."""
    unit = str(row["evidence_unit_id"])
    return words_stating(index, row, _SENTENCES) or [Quote(unit, span) for span, _ in spans_of(index, unit)]


def _of_summary(index: IndexSnapshot, community_id: str) -> Sequence[Provenance]:
    own = index.coterag
    if own is None:
        return []
    quoted = own.summary_quotes.filter(pl.col("community_id") == community_id).sort("position")
    if len(quoted):
        rows = quoted.select("text_unit_id", "start_char", "end_char").iter_rows()
        return [Provenance(Quote(unit, Span(start, end))) for unit, start, end in rows]
    members = own.members.filter(pl.col("community_id") == community_id)["entity_id"].implode()
    inside = own.triples.filter(pl.col("head_id").is_in(members) & pl.col("tail_id").is_in(members))
    best = inside.sort(-pl.col("strength"), "triple_id").iter_rows(named=True)
    found: dict[Quote, Provenance] = {}
    for row in islice(best, _TRIPLES):
        for quote in _stated(index, row):
            found.setdefault(quote, Provenance(quote, None, "triple", str(row["triple_id"])))
    return list(found.values())
