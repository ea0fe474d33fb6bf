"""Map-reduce over chunks of context rows (paper §3.1.6)."""

from collections.abc import Sequence
from dataclasses import replace

from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.answer import Answer, Call, ContextUse
from graphrag_dagster.kernel.questions.context.citing import CitedText, cite
from graphrag_dagster.kernel.questions.context.context_chunks import Chunk, Count
from graphrag_dagster.kernel.questions.context.context_units import ContextUnits
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.questions.question import REFUSAL, Search
from graphrag_dagster.kernel.tasks.task_ports import Answerer, FinalAnswer, PartialAnswer
from graphrag_dagster.kernel.text.citations import Citation, parse_citations, rewrite_citations


def map_reduce(
    search: Search,
    answerer: Answerer,
    units: ContextUnits,
    chunks: Sequence[Chunk],
    *,
    method: str,
    direct: bool = False,
) -> Answer:
    """Answer a question from chunks: a partial answer with a score for each, and one answer made of the best.

    Partial answers with score 0 are dropped, the others taken in descending order while they fit, and joined.
    Where none is left the answer is a fixed refusal, without a reduce call. A single chunk whose rows were
    chosen for the question (``direct``) needs no joining: its partial answer is the answer, unless it is
    blank or says of itself that it is of no help (score 0); one without a score counts.

    Args:
        search: the question; its context is that of the partial answers that are joined, too.
        answerer: makes partial answers and joins them.
        units: what the chunks were made of.
        chunks: each row stands in one of them.
        method: goes into the answer.
        direct: there is one chunk at most, of rows that were chosen for the question.

    Raises:
        QuestionError: not even the best partial answer fits.
        EngineError: the answerer did not give one partial answer per chunk.
    """
    question = search.asked_of(answerer.engine, (unit for chunk in chunks for unit in chunk.units))
    partials = _partials(answerer, question, chunks)
    cleaned, removed = _without_invented_citations(partials, chunks)
    kept = (
        [one for one in cleaned if one.score != 0 and one.text.strip()]
        if direct
        else best_that_fit(cleaned, search.count, search.options.context_tokens)
    )
    used = [number for number, partial in enumerate(cleaned) if any(partial is one for one in kept)]
    answer = Answer(
        question=search.question.text,
        method=method,
        level=search.level,
        text=REFUSAL,
        engine=answerer.engine,
        refused=True,
        context=uses(chunks, units, used),
        scores=tuple(score_of(one) for one in partials if not direct or one.score is not None),
        dropped=len(partials) - len(kept),
        removed_citations=removed,
        problems=tuple(one.problem for one in partials if one.problem and not (direct and one.score is None)),
        steps=tuple(
            Call(
                "map",
                f"chunk {number}",
                None if direct and partial.score is None else score_of(partial),
                sum(chunk.row_tokens),
                number in used,
                partial.problem,
            )
            for number, (partial, chunk) in enumerate(zip(partials, chunks, strict=True))
        ),
        usage=sum((partial.usage for partial in partials), Usage()),
    )
    if not kept:
        return answer
    if direct:
        (only,) = kept
        final = FinalAnswer(
            only.text,
            answerer.engine,
            only.quotes,
            general_knowledge=only.general_knowledge,
            layout=only.layout,
        )
    else:
        final = answerer.reduce(question, kept)
        joined = Call(
            "reduce", plural(len(kept), "partial answer"), None, sum(search.count(one.text) for one in kept)
        )
        answer = replace(answer, steps=(*answer.steps, joined))
    shown = {unit.id for number in used for unit in chunks[number].units}
    return finish_answer(answer, final, units, shown, search.supporting)


def finish_answer(
    answer: Answer, final: FinalAnswer, units: ContextUnits, shown: set[int], support: Support
) -> Answer:
    """Return the answer with its text, citations resolved to the words of the documents; see :func:`cite`."""
    cited = cite(final, units, shown, support)
    text = cited.text if any(map(str.isalnum, cited.text)) else ""
    return replace(
        answer,
        text=text or REFUSAL,
        engine=final.engine,
        refused=not text,
        marks=cited.marks if text else (),
        sources=cited.sources if text else (),
        statements=cited.statements if text else (),
        removed_citations=answer.removed_citations + cited.removed,
        problems=(*answer.problems, *cited.problems),
        steps=(*answer.steps, *_judging_calls(cited)),
        usage=answer.usage + final.usage + cited.usage,
    )


def _judging_calls(cited: CitedText) -> tuple[Call, ...]:
    """Verdicts of a model on the support of statements."""
    if cited.usage == Usage():
        return ()
    return (
        Call(
            "support", plural(len(cited.statements), "statement"), problem="; ".join(cited.problems) or None
        ),
    )


def score_of(partial: PartialAnswer) -> int:
    """Return the partial answer's score as a whole number from 0 to 100; 0 where there is none."""
    try:
        return min(max(round(float(partial.score or 0)), 0), 100)
    except (TypeError, ValueError, OverflowError):
        return 0


def best_that_fit(partials: Sequence[PartialAnswer], count: Count, limit: int) -> list[PartialAnswer]:
    """Return the partial answers above 0, best first, until the next does not fit (stop, not skip).

    Equal scores keep the order of the chunks.

    Raises:
        QuestionError: not even the best fits.
    """
    useful = [partial for partial in partials if score_of(partial) > 0 and partial.text.strip()]
    kept: list[PartialAnswer] = []
    tokens = 0
    for partial in sorted(useful, key=score_of, reverse=True):
        tokens += count(partial.text)
        if tokens > limit:
            break
        kept.append(partial)
    if useful and not kept:
        raise QuestionError(
            f"a context of {limit} tokens is too small for the best partial answer of {tokens} tokens; raise "
            "search.context_tokens in corpus.yaml"
        )
    return kept


def uses(chunks: Sequence[Chunk], units: ContextUnits, used: Sequence[int]) -> tuple[ContextUse, ...]:
    """Return what the chunks showed; ``used``: the chunks whose partial answers went into the answer."""
    return tuple(
        ContextUse(
            units.record_kind(unit.id),
            units.record_id(unit.id),
            unit.title,
            number,
            tokens,
            number in used,
        )
        for number, chunk in enumerate(chunks)
        for unit, tokens in zip(chunk.units, chunk.row_tokens, strict=True)
    )


def _partials(answerer: Answerer, question: str, chunks: Sequence[Chunk]) -> list[PartialAnswer]:
    partials = answerer.map(question, [chunk.units for chunk in chunks], [chunk.rendered for chunk in chunks])
    if len(partials) != len(chunks):
        raise EngineError(
            f"the {answerer.engine} answerer returned {len(partials)} partial answers for {len(chunks)} "
            "chunks: it must return one per chunk, in order"
        )
    return partials


def _without_invented_citations(
    partials: Sequence[PartialAnswer], chunks: Sequence[Chunk]
) -> tuple[list[PartialAnswer], int]:
    """Take citations of what a chunk does not hold out of its partial answer; count them."""
    cleaned, removed = [], 0
    for partial, chunk in zip(partials, chunks, strict=True):
        if partial.layout.quotations:
            # What looks like a citation in a quotation is the document's own.
            cleaned.append(partial)
            continue
        known = {Citation(unit.kind, unit.id): unit.id for unit in chunk.units}
        invented = sum(cited not in known for cited in parse_citations(partial.text))
        removed += invented
        text = rewrite_citations(partial.text, known) if invented else partial.text
        cleaned.append(replace(partial, text=text))
    return cleaned, removed
