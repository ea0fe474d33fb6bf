"""Explains an answer of CoTeRAG-S: on one line, and as sections of its trace."""

from collections.abc import Iterable, Iterator, Mapping

from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.questions.context.answer import (
    RowLink,
    TraceSection,
    Value,
    community,
    entity,
    facts,
    section,
    text_unit,
)
from graphrag_dagster.systems.coterag.coterag_options import Trigger
from graphrag_dagster.systems.coterag.search.answer_loop import CoteragAnswer
from graphrag_dagster.systems.coterag.search.path_traversal import (
    ChunkMatch,
    EntityMatch,
    RetrievedEvidence,
    Trace,
)

_TRIGGERS: Mapping[Trigger, str] = {
    "no_community": "no community matched",
    "search_more": "the context was not enough",
    "validator": "the validator found the answer insufficient",
    "coverage": "a term of the question stood nowhere",
    "support": "the answer was not supported enough",
}
_CLASSES = {
    "high_confidence": "by similarity and terms",
    "high_similarity": "by similarity alone",
    "dropped": "too few terms",
}


def explain(made: CoteragAnswer, left_out: int) -> str:
    """Return how an answer came about."""
    return "; ".join(_parts(made.trace, made.insufficient, left_out))


def _parts(trace: Trace, insufficient: bool, left_out: int) -> Iterator[str]:
    if trace.retrieved is None:
        yield f"a general question, answered without documents by what the model knows: {trace.route.reason}"
        return
    yield from _explain_matches(trace.retrieved)
    if left_out:
        there = "community speaks" if left_out == 1 else "communities speak"
        yield f"{left_out:,} {there} of other documents too and could not be matched"
    if trace.rounds:
        yield _explain_fallback(trace)
    if trace.blank_question:
        yield "the question has no vector, so that nothing is near it"
    if insufficient:
        yield "the evidence is not sufficient"
    yield f"thresholds: {trace.profile}"


def _explain_matches(found: RetrievedEvidence) -> Iterator[str]:
    sure = sum(one.selected and one.match_class == "high_confidence" for one in found.communities)
    if found.communities:
        communities = plural(len(found.selected), "community", "communities")
        yield f"{communities} matched, {sure} by similarity and terms"
    parts = (
        plural(len(found.entities), "entity", "entities"),
        plural(len(found.triples), "triple"),
        plural(len(found.chunks), "text unit"),
    )
    yield ", ".join(parts)


def _explain_fallback(trace: Trace) -> str:
    reasons = ", ".join(dict.fromkeys(_TRIGGERS[one.trigger] for one in trace.rounds))
    only = plural(len(trace.only_by_fallback), "text unit")
    rounds = plural(len(trace.rounds), "round")
    return f"{rounds} over what stands apart, since {reasons}: {only} found by that alone"


def sections_of(trace: Trace) -> tuple[TraceSection, ...]:
    """Return in full how an answer came about."""
    found = trace.retrieved or RetrievedEvidence()
    told = facts(
        "CoTeRAG-S",
        profile=trace.profile,
        route=trace.route.route,
        why=trace.route.reason,
        terms=", ".join(found.terms),
        nearest_community=None if found.communities else found.nearest,
        triples_left_out=found.triples_cut or None,
        text_units_below_the_threshold=found.chunks_below or None,
        question_without_a_vector=trace.blank_question or None,
        generations=trace.generations,
        coverage_of_terms=trace.coverage,
        support=trace.support,
    )
    rounds = [(one.number, one.trigger, one.most_entities) for one in trace.rounds]
    again = [(one.number, *row) for one in trace.rounds for row in _entities(trace, one.entities)]
    alone = [(one.number, *row) for one in trace.rounds for row in _text_units(trace, one.chunks)]
    checked = [(one.verdict, one.reason, one.problem) for one in trace.validations]
    made = (
        told,
        section("Thresholds", ("threshold", "value"), trace.thresholds),
        section(
            "Communities",
            ("community", "similarity", "coverage", "score", "matched", "taken"),
            _communities(trace),
        ),
        section("Entities", _LIKE, _entities(trace, found.entities)),
        section("Triples", ("head", "relation", "tail", "community", "hop", "similarity"), _triples(trace)),
        section("Text units", ("text unit", "entity", "similarity"), _text_units(trace, found.chunks)),
        section("Rounds over what stands apart", ("round", "since", "most entities"), rounds),
        section("Entities that stand apart", ("round", *_LIKE), again),
        section("Found by that alone", ("round", "text unit", "entity", "similarity"), alone),
        section("Validator", ("verdict", "why", "problem"), checked),
    )
    return tuple(one for one in made if one.rows)


_LIKE = ("entity", "similarity")
_Row = tuple[Value | RowLink, ...]


def _communities(trace: Trace) -> Iterator[_Row]:
    for one in trace.retrieved.communities if trace.retrieved else ():
        facts_of = (one.similarity, one.coverage, one.score, _CLASSES[one.match_class], one.selected)
        yield community(one.community_id, trace.titles[one.community_id]), *facts_of


def _triples(trace: Trace) -> Iterator[_Row]:
    for one in trace.retrieved.triples if trace.retrieved else ():
        inside = one.community_id
        head, tail = (entity(end, trace.titles[end]) for end in (one.head, one.tail))
        where = community(inside, trace.titles.get(inside, inside)) if inside else None
        yield head, one.relation, tail, where, one.hop, one.similarity


def _entities(trace: Trace, matches: Iterable[EntityMatch]) -> Iterator[_Row]:
    for one in matches:
        yield entity(one.entity_id, trace.titles[one.entity_id]), one.similarity


def _text_units(trace: Trace, matches: Iterable[ChunkMatch]) -> Iterator[_Row]:
    for one in matches:
        of = entity(one.entity_id, trace.titles[one.entity_id]) if one.entity_id else None
        yield text_unit(one.text_unit_id), of, one.similarity
