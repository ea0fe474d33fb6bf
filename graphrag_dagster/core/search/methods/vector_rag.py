"""Answers from the text units nearest to the question: condition SS, and basic search (paper §4.1.1)."""

from collections.abc import Sequence
from dataclasses import replace

from graphrag_dagster.core.language.tasks import Answerer
from graphrag_dagster.core.search.context.answer import Answer
from graphrag_dagster.core.search.context.chunks import Chunk, Count, first_that_fit
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.question import checked
from graphrag_dagster.core.search.context.support import Support
from graphrag_dagster.core.search.methods.global_search import sources_of
from graphrag_dagster.core.search.methods.map_reduce import map_reduce


def vector_rag(
    index: IndexSnapshot,
    question: str,
    ranked: Sequence[str],
    *,
    method: str,
    answerer: Answerer,
    count: Count,
    context_tokens: int = 8000,
    support: Support | None = None,
) -> Answer:
    """Answer a question from the best text units, taken in their order until the next does not fit.

    One call with the prompt of a partial answer makes the answer (spec_graphrag §7, SS).

    Args:
        index: the tables of the corpus.
        question: at most 4,000 characters.
        ranked: ids of text units, best first.
        method: ``SS`` or ``basic``.
        answerer: makes the answer.
        count: tokens of a text.
        context_tokens: most tokens of the context.
        support: compares statements with the words they rest on.

    Raises:
        QuestionError: the question is blank or too long.
    """
    asked = checked(question)
    units = sources_of(index)
    rows = [units.all[units.number_of[unit_id] - 1] for unit_id in ranked if unit_id in units.number_of]
    chunks: list[Chunk] = first_that_fit(rows, count=count, limit=context_tokens)
    answer = map_reduce(
        asked,
        units,
        chunks,
        method=method,
        level=None,
        answerer=answerer,
        count=count,
        context_tokens=context_tokens,
        support=support,
    )
    return replace(
        answer, trace=tuple(replace(call, about="the nearest text units") for call in answer.trace)
    )
