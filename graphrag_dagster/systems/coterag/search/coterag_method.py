"""The search method ``coterag`` and its ablations (thesis 3.3 to 3.7, 4.1.3)."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.answer import Answer, Call, ContextUse
from graphrag_dagster.kernel.questions.context.citing import cite
from graphrag_dagster.kernel.questions.context.context_rows import quotes_stating
from graphrag_dagster.kernel.questions.context.context_units import Provenance, RecordKind, spans_of
from graphrag_dagster.kernel.questions.finding import with_history, without_favour
from graphrag_dagster.kernel.questions.question import REFUSAL, Search
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, FinalAnswer, Quote
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.coterag.search.answer_loop import (
    CoteragAnswer,
    CoteragEngines,
    Supported,
    run_answer_loop,
)
from graphrag_dagster.systems.coterag.search.coterag_explain import explain, sections_of
from graphrag_dagster.systems.coterag.search.coterag_snapshot import coterag_tables_of, snapshot_of
from graphrag_dagster.systems.coterag.settings import CoteragSettings
from graphrag_dagster.systems.coterag.tasks import ANSWER_VALIDATOR, EVIDENCE_ANSWERER, EVIDENCE_ROUTER
from graphrag_dagster.systems.graphrag.api import finish_answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
    from graphrag_dagster.kernel.text.citations import ContextKind
    from graphrag_dagster.systems.coterag.search.answer_loop import EvidenceContext, Part
    from graphrag_dagster.systems.coterag.search.coterag_snapshot import CoteragSnapshot
    from graphrag_dagster.systems.coterag.search.path_traversal import Trace
    from graphrag_dagster.systems.coterag.tasks import EvidenceAnswer

#: Stands before the best that could be said.
INSUFFICIENT = "The evidence that was found is not sufficient for an answer. What it says:"


def coterag(search: Search) -> Answer:
    """Answer a question from matched communities, paths and text units, then from what stands apart.

    Raises:
        QuestionError: the index was made without CoTeRAG-S, or with vectors of another embedder.
        GraphragError: vectors cannot be compared.
    """
    return _answer_with(search)


def without_communities(search: Search) -> Answer:
    """Answer from entities and paths of the whole graph: no summaries or terms, nothing that stands apart."""
    fallback = search.settings.section(CoteragSettings).fallback.model_copy(update={"rounds": 0})
    return _answer_with(search, communities=0, order="similarity", summaries="none", fallback=fallback)


def without_matching(search: Search) -> Answer:
    """Answer from entities and paths of the whole graph; terms and what stands apart are kept."""
    return _answer_with(search, communities=0)


def without_coverage(search: Search) -> Answer:
    """Answer from the communities that are most similar, whatever terms they cover."""
    return _answer_with(search, coverage="all", order="similarity")


def without_traversal(search: Search) -> Answer:
    """Answer from the text units of the nearest entities alone, without going on from these."""
    return _answer_with(search, hops=0)


def without_fallback(search: Search) -> Answer:
    """Answer without ever searching what stands apart."""
    fallback = search.settings.section(CoteragSettings).fallback.model_copy(update={"rounds": 0})
    return _answer_with(search, fallback=fallback)


def open_coterag(index: IndexSnapshot) -> CoteragSnapshot:
    """Return what CoTeRAG-S answers from.

    Raises:
        QuestionError: the index was made without it.
    """
    stored = coterag_tables_of(index)
    if stored is None or index.unit_vectors is None:
        raise QuestionError(
            "the index was made without CoTeRAG-S: put the section 'coterag: {profile: calibrated}' into "
            "corpus.yaml, and index again (graphrag-dagster index NAME)"
        )
    return snapshot_of(
        stored,
        entities=index.entities,
        documents=index.documents,
        text_chunks=index.text_chunks,
        unit_vectors=index.unit_vectors,
    )


def _answer_with(search: Search, **changed: Any) -> Answer:
    """Answer by the settings, save for what is changed."""
    index = search.index
    snapshot, stored = index.once(open_coterag), coterag_tables_of(index)
    if stored:
        # The thresholds in force are those that the index was made with.
        changed["profile"] = stored.profile
    made = run_answer_loop(
        search.question.text,
        snapshot,
        _engines(search),
        search.settings.section(CoteragSettings).model_copy(update=changed),
        sought=with_history(search),
    )
    units, trace = CoteragUnits(index, made.context), made.trace
    tokens = [search.count(f"{unit.title} {unit.text}") for unit in units.all]
    answer = Answer(
        search.question.text,
        search.method.name,
        None,
        REFUSAL,
        made.answer.engine,
        why=explain(made, stored.left_out if stored else 0),
        context=tuple(
            ContextUse(units.record_kind(unit.id), units.record_id(unit.id), unit.title, 0, count, True)
            for unit, count in zip(units.all, tokens, strict=True)
        ),
        problems=trace.problems,
        steps=tuple(_calls(made, tokens)),
        usage=made.usage,
        trace=sections_of(trace),
    )
    found = finish_answer(
        answer, _final(made.answer), units, set(range(1, len(units.all) + 1)), search.supporting
    )
    return without_favour(search, _with_refusal(found, made), "likeness to the question alone chooses")


def _engines(search: Search) -> CoteragEngines:
    supporting = search.supporting

    def judged(context: EvidenceContext, answer: EvidenceAnswer) -> Supported:
        units = CoteragUnits(search.index, context)
        cited = cite(_final(answer), units, range(1, len(units.all) + 1), supporting)
        supported = [one.verdict == "supported" for one in cited.statements if one.verdict]
        return Supported(sum(supported) / len(supported) if supported else None, cited.usage)

    engines = search.engines
    return CoteragEngines(
        engines.embedder(),
        engines.task(EVIDENCE_ROUTER),
        engines.task(EVIDENCE_ANSWERER),
        engines.task(ANSWER_VALIDATOR),
        judged,
    )


def _final(answer: EvidenceAnswer) -> FinalAnswer:
    return FinalAnswer(answer.text, answer.engine, answer.quotes, layout=answer.layout)


def _with_refusal(answer: Answer, made: CoteragAnswer) -> Answer:
    if made.trace.retrieved is None:
        return _without_verdicts(answer)
    if not made.insufficient or answer.refused:
        return answer
    return replace(answer, text=f"{INSUFFICIENT}\n\n{answer.text}", refused=True, marks=())


def _without_verdicts(answer: Answer) -> Answer:
    """What was answered without documents has no verdict."""
    general = (replace(one, verdict=None, score=None, reason="", general=True) for one in answer.statements)
    return replace(answer, statements=tuple(general))


def _calls(made: CoteragAnswer, tokens: list[int]) -> Iterator[Call]:
    trace = made.trace
    yield Call("route", f"{trace.route.route}: {trace.route.reason}", problem=trace.route.problem)
    for number in range(trace.generations):
        read = sum(tokens[: _rows_read(made.context, trace, number)])
        about = "the context" if number else "what matches" if trace.retrieved else "what the model knows"
        yield Call("answer", f"{about}, with round {number}" if number else about, None, read)
    for verdict in trace.validations:
        yield Call("validate", f"{verdict.verdict}: {verdict.reason}", problem=verdict.problem)


def _rows_read(context: EvidenceContext, trace: Trace, rounds: int) -> int:
    """How many rows the answer after so many rounds was given from."""
    later = sum(len(one.chunks) for one in trace.rounds[rounds:])
    return len(context.rows) - later


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
    """

    def __init__(self, index: IndexSnapshot, context: EvidenceContext) -> None:
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
            return self.index.once(_summary_provenance, record)
        if kind == "triple":
            return self.index.once(_triple_provenance, record)
        return [Provenance(Quote(record, span)) for span, _ in spans_of(self.index, record)]


def _triples(index: IndexSnapshot) -> pl.DataFrame:
    stored = coterag_tables_of(index)
    return pl.DataFrame() if stored is None else stored.triples


def _triple_ids(index: IndexSnapshot) -> dict[Key, str]:
    rows = _triples(index).select("head_id", "relation", "tail_id", "triple_id").iter_rows()
    return {(head, relation, tail): triple_id for head, relation, tail, triple_id in rows}


def _triple_provenance(index: IndexSnapshot, triple_id: str) -> Sequence[Provenance]:
    (row,) = _triples(index).filter(pl.col("triple_id") == triple_id).iter_rows(named=True)
    quotes = _quotes_of_triple(index, row)
    return [Provenance(quote, None, "triple", triple_id) for quote in quotes]


def _quotes_of_triple(index: IndexSnapshot, row: Mapping[str, object]) -> list[Quote]:
    """The words of a triple; where there are none, not even sentences that name both ends, the whole unit."""
    unit = str(row["evidence_unit_id"])
    return quotes_stating(index, row, _SENTENCES) or [Quote(unit, span) for span, _ in spans_of(index, unit)]


def _summary_provenance(index: IndexSnapshot, community_id: str) -> Sequence[Provenance]:
    own = coterag_tables_of(index)
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
        for quote in _quotes_of_triple(index, row):
            found.setdefault(quote, Provenance(quote, None, "triple", str(row["triple_id"])))
    return list(found.values())
