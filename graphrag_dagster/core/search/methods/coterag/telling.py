"""What an answer of CoTeRAG-S says of how it came about, on a line."""

from collections.abc import Iterator, Mapping

from graphrag_dagster.core.coterag.answering import CoteragAnswer
from graphrag_dagster.core.coterag.options import Trigger
from graphrag_dagster.core.coterag.trace import Retrieved, Trace
from graphrag_dagster.core.wording import counted

_TRIGGERS: Mapping[Trigger, str] = {
    "no_community": "no community matched",
    "search_more": "the context was not enough",
    "validator": "the validator found the answer insufficient",
    "coverage": "a term of the question stood nowhere",
    "support": "the answer was not supported enough",
}


def told(made: CoteragAnswer, left_out: int) -> str:
    """Return how an answer came about.

    Args:
        made: the answer.
        left_out: communities that could not be matched, since they speak of documents that are not asked.
    """
    return "; ".join(_parts(made.trace, made.insufficient, left_out))


def _parts(trace: Trace, insufficient: bool, left_out: int) -> Iterator[str]:
    if trace.retrieved is None:
        yield f"a general question, answered without documents by what the model knows: {trace.route.reason}"
        return
    yield from _matched(trace.retrieved)
    if left_out:
        there = "community speaks" if left_out == 1 else "communities speak"
        yield f"{left_out:,} {there} of other documents too and could not be matched"
    if trace.rounds:
        yield _looked_again(trace)
    if trace.blank_question:
        yield "the question has no vector, so that nothing is near it"
    if insufficient:
        yield "the evidence is not sufficient"
    yield f"thresholds: {trace.profile}"


def _matched(found: Retrieved) -> Iterator[str]:
    sure = sum(one.selected and one.match_class == "high_confidence" for one in found.communities)
    if found.communities:
        communities = counted(len(found.selected), "community", "communities")
        yield f"{communities} matched, {sure} by similarity and terms"
    parts = (
        counted(len(found.entities), "entity", "entities"),
        counted(len(found.triples), "triple"),
        counted(len(found.chunks), "text unit"),
    )
    yield ", ".join(parts)


def _looked_again(trace: Trace) -> str:
    reasons = ", ".join(dict.fromkeys(_TRIGGERS[one.trigger] for one in trace.rounds))
    only = counted(len(trace.only_by_fallback), "text unit")
    rounds = counted(len(trace.rounds), "round")
    return f"{rounds} over what stands apart, since {reasons}: {only} found by that alone"
