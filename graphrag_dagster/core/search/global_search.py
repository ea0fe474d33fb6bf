"""Global search: map-reduce over the community reports of a level (paper §3.1.6, spec_graphrag §7)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from graphrag_dagster.core.errors import EngineError, QuestionError
from graphrag_dagster.core.language.citations import parse_citations, rewrite_citations
from graphrag_dagster.core.language.tasks import Answerer, Citation, PartialAnswer, Usage
from graphrag_dagster.core.search.answer import Answer, ContextUse
from graphrag_dagster.core.search.chunks import Chunk, Count, fill
from graphrag_dagster.core.search.index import IndexSnapshot
from graphrag_dagster.core.search.report_units import ReportUnits
from graphrag_dagster.core.search.sources import cite

REFUSAL = "The documents of this corpus do not hold an answer to this question."
LONGEST_QUESTION = 4000


def global_search(
    index: IndexSnapshot,
    question: str,
    *,
    level: int,
    answerer: Answerer,
    count: Callable[[str], int],
    context_tokens: int = 8000,
    seed: int = 86,
) -> Answer:
    """Answer a question from all reports of ``C<level>``.

    Reports are shuffled with the seed and packed into chunks; each chunk gives a partial answer with a score;
    those with 0 are dropped, the others taken in descending order while they fit, and joined. Where none is
    left the answer is a fixed refusal, without a reduce call.

    Args:
        index: the tables of the corpus.
        question: at most 4,000 characters.
        level: k of Ck.
        answerer: makes partial answers and joins them.
        count: tokens of a text.
        context_tokens: most tokens of a chunk, and of the partial answers that are joined.
        seed: seed of the shuffle.

    Raises:
        QuestionError: the question is blank or too long, there is no such level, or there are no reports.
        EngineError: the answerer did not give one partial answer per chunk.
    """
    asked = checked(question)
    units = ReportUnits(index, _reports_of(index, level))
    chunks = fill(units.all, count=count, limit=context_tokens, seed=seed)
    partials = _partials(answerer, asked, chunks)
    cleaned, removed = _without_invented(partials, chunks)
    kept = best_that_fit(cleaned, count, context_tokens)
    used = [number for number, partial in enumerate(cleaned) if any(partial is one for one in kept)]
    answer = Answer(
        question=asked,
        method="global",
        level=level,
        text=REFUSAL,
        engine=answerer.engine,
        refused=True,
        context=_uses(chunks, units, used),
        scores=tuple(map(score_of, partials)),
        dropped=len(partials) - len(kept),
        removed_citations=removed,
        problems=tuple(partial.problem for partial in partials if partial.problem),
        calls=len(chunks),
        usage=sum((partial.usage for partial in partials), Usage()),
    )
    if not kept:
        return answer
    final = answerer.reduce(asked, kept)
    cited = cite(final, units, {unit.id for number in used for unit in chunks[number].units})
    return replace(
        answer,
        text=cited.text or REFUSAL,
        engine=final.engine,
        refused=not cited.text,
        sources=cited.sources,
        removed_citations=removed + cited.removed,
        calls=len(chunks) + 1,
        usage=answer.usage + final.usage,
    )


def checked(question: str) -> str:
    """Return the question without surrounding blanks.

    Raises:
        QuestionError: it holds no letter or digit, or is longer than 4,000 characters.
    """
    asked = question.strip()
    if not any(character.isalnum() for character in asked):
        raise QuestionError("the question is empty; ask in words")
    if len(asked) > LONGEST_QUESTION:
        raise QuestionError(
            f"the question has {len(asked):,} characters; at most {LONGEST_QUESTION:,} can be answered"
        )
    return asked


def score_of(partial: PartialAnswer) -> int:
    """Return the partial answer's score as a whole number from 0 to 100; 0 where there is none."""
    try:
        return min(max(round(float(partial.score)), 0), 100)
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
            f"a context of {limit} tokens cannot hold the best partial answer, which has {tokens}; raise "
            "search.context_tokens in corpus.yaml"
        )
    return kept


def _partials(answerer: Answerer, question: str, chunks: Sequence[Chunk]) -> list[PartialAnswer]:
    partials = answerer.map(question, [chunk.units for chunk in chunks], [chunk.rendered for chunk in chunks])
    if len(partials) != len(chunks):
        raise EngineError(
            f"the {answerer.engine} answerer gave {len(partials)} partial answers for {len(chunks)} chunks: "
            "it must give one per chunk, in their order"
        )
    return partials


def _without_invented(
    partials: Sequence[PartialAnswer], chunks: Sequence[Chunk]
) -> tuple[list[PartialAnswer], int]:
    """Take citations of what a chunk does not hold out of its partial answer; count them."""
    cleaned, removed = [], 0
    for partial, chunk in zip(partials, chunks, strict=True):
        known = {Citation("report", unit.id): unit.id for unit in chunk.units}
        invented = sum(cited not in known for cited in parse_citations(partial.text))
        removed += invented
        text = rewrite_citations(partial.text, known) if invented else partial.text
        cleaned.append(replace(partial, text=text))
    return cleaned, removed


def _reports_of(index: IndexSnapshot, level: int) -> pl.DataFrame:
    known = sorted(index.community_levels["level"].unique())
    if not known or index.reports.is_empty():
        raise QuestionError(
            "this corpus has no community reports, for instance because no two entities are related; "
            "index it again with more documents (graphrag-dagster index NAME), or look at what was found "
            "(graphrag-dagster show NAME)"
        )
    if level not in known:
        levels = ", ".join(f"C{k}" for k in known)
        raise QuestionError(f"there is no level C{level}; there are {levels}")
    chosen = index.community_levels.filter(pl.col("level") == level).select("community_id").unique()
    return index.reports.join(chosen, left_on="report_id", right_on="community_id", how="semi")


def _uses(chunks: Sequence[Chunk], units: ReportUnits, used: Sequence[int]) -> tuple[ContextUse, ...]:
    return tuple(
        ContextUse(units.report_id(unit.id), unit.title, number, tokens, number in used)
        for number, chunk in enumerate(chunks)
        for unit, tokens in zip(chunk.units, chunk.row_tokens, strict=True)
    )
