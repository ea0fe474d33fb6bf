"""Dynamic community selection: reports are rated from the roots down, and only relevant ones are read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.questions.context.answer import Answer, Call
from graphrag_dagster.kernel.questions.context.chunks import Chunk, Count, fill, render
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.context.report_units import ReportUnits
from graphrag_dagster.kernel.questions.question import REFUSAL, Search
from graphrag_dagster.kernel.retrieval.finding import favouring_none
from graphrag_dagster.kernel.tasks.answering import Rating, ReportRater
from graphrag_dagster.kernel.tasks.ports import ContextUnit, Usage
from graphrag_dagster.systems.graphrag.search.global_search import chunks_of, reports_of
from graphrag_dagster.systems.graphrag.search.map_reduce import map_reduce
from graphrag_dagster.systems.graphrag.tasks import ANSWERER, RATER


def dynamic_search(search: Search, *, keep_parent: bool = False) -> Answer:
    """Answer a question from those reports that have to do with it, each branch as deep as it does.

    The reports of the root communities are rated 0–5. Below each that is relevant, by the rating from which
    the options have it so, its children are rated, and so on down to the question's level. Of each relevant
    branch the deepest relevant report is read: a report gives way where a child of it is relevant, and stands
    where none is. What was chosen goes through
    :func:`~graphrag_dagster.systems.graphrag.search.map_reduce.map_reduce`; where no root is relevant the
    answer is the refusal, without a map call. A report whose rating is missing or unusable counts as
    relevant, and a community without a report hands the question on to its children.

    Args:
        search: the question; a batch of reports to rate has the size of a context.
        keep_parent: a relevant report is read even where a child of it is relevant.

    Raises:
        QuestionError: there is no such level, or there are no reports.
        EngineError: the rater or the answerer did not give what was asked, one for one.
    """
    rater, answerer = search.engines.task(RATER), search.engines.task(ANSWERER)
    index, options = search.index, search.options
    method = search.way.name
    level = options.level if search.level is None else search.level
    search = replace(search, level=level)
    reports_of(index, level)
    tree = index.once(_Tree, level)
    rating = _Rating(tree, rater, search.question.text, search.count, options.context_tokens, options.seed)
    chosen = rating.chosen(options.relevant_from, keep_parent=keep_parent)
    rows = [tree.unit(report_id) for report_id in chosen]
    chunks = fill(rows, count=search.count, limit=options.context_tokens, seed=options.seed)
    if chunks:
        answer = map_reduce(search, answerer, tree.units, chunks, method=method)
    else:
        answer = Answer(search.question.text, method, level, REFUSAL, answerer.engine, refused=True)
    told = replace(
        answer,
        why=_why(level, rating, chunks, chunks_of(search)),
        steps=(*rating.calls(set(chosen)), *answer.steps),
        usage=rating.usage + answer.usage,
        problems=(*rating.problems(), *answer.problems),
    )
    return favouring_none(search, told, "reports are chosen by what they say")


class _Tree:
    """The reports down to a level, as context rows and as a tree."""

    def __init__(self, index: IndexSnapshot, level: int) -> None:
        known = index.communities.filter(pl.col("level") <= level).sort("level", "community_id")
        pairs = list(known.select("community_id", "parent_id").iter_rows())
        self._below: dict[str | None, list[str]] = {}
        ids = {community for community, _ in pairs}
        for community, parent in pairs:
            self._below.setdefault(parent if parent in ids else None, []).append(community)
        chosen = index.reports.filter(pl.col("report_id").is_in(list(ids)))
        self.units = ReportUnits(index, chosen)

    def unit(self, report_id: str) -> ContextUnit:
        """Return the report as a row."""
        return self.units.all[self.units.number_of[report_id] - 1]

    def below(self, community: str | None) -> Iterator[str]:
        """Yield the nearest reports below a community; None is above the roots."""
        for child in self._below.get(community, []):
            if child in self.units.number_of:
                yield child
            else:
                yield from self.below(child)


@dataclass(slots=True)
class _Rating:
    """Rates reports level by level, and remembers what came of it."""

    tree: _Tree
    rater: ReportRater
    question: str
    count: Count
    limit: int
    seed: int
    ratings: dict[str, Rating] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    tokens: dict[str, int] = field(default_factory=dict)
    batches: int = 0

    def chosen(self, threshold: int, *, keep_parent: bool) -> list[str]:
        """Return the ids of the reports to read."""
        relevant: dict[str, None] = {}
        above: dict[str, str] = {}
        wave = list(self.tree.below(None))
        while wave:
            self._rate(wave)
            kept = [one for one in wave if _relevant(self.ratings[one], threshold)]
            relevant.update(dict.fromkeys(kept))
            if not keep_parent:
                for one in kept:
                    relevant.pop(above.get(one, ""), None)
            wave = []
            for one in kept:
                below = list(self.tree.below(one))
                above.update(dict.fromkeys(below, one))
                wave += below
        return list(relevant)

    def _rate(self, wave: Sequence[str]) -> None:
        rows = [self.tree.unit(report_id) for report_id in wave]
        batches = [_local(chunk) for chunk in fill(rows, count=self.count, limit=self.limit, seed=self.seed)]
        rated = self.rater.rate(
            self.question, [units for _, units, _ in batches], [rendered for _, _, rendered in batches]
        )
        sizes = [len(units) for _, units, _ in batches]
        if [len(batch.ratings) for batch in rated] != sizes:
            raise EngineError(
                f"the {self.rater.engine} rater did not return one rating for each of {sum(sizes)} reports: "
                "it must return as many as each batch has, in order"
            )
        self.batches += len(batches)
        for (chunk, _, _), batch in zip(batches, rated, strict=True):
            self.usage += batch.usage
            for unit, tokens, rating in zip(chunk.units, chunk.row_tokens, batch.ratings, strict=True):
                report_id = self.tree.units.record_id(unit.id)
                self.ratings[report_id], self.tokens[report_id] = rating, tokens

    def calls(self, chosen: set[str]) -> tuple[Call, ...]:
        """Return what was asked, level by level, in the order in which the reports were shown."""
        return tuple(
            Call(
                "rate",
                self.tree.unit(report_id).title,
                rating.score,
                self.tokens[report_id],
                report_id in chosen,
                rating.problem,
            )
            for report_id, rating in self.ratings.items()
        )

    def problems(self) -> tuple[str, ...]:
        """Return why reports have no rating."""
        return tuple(
            f"{self.tree.unit(report_id).title}: {rating.problem or 'no rating'}; it counts as relevant"
            if rating.score is None
            else f"{self.tree.unit(report_id).title}: {rating.problem}"
            for report_id, rating in self.ratings.items()
            if rating.problem or rating.score is None
        )


def _relevant(rating: Rating, threshold: int) -> bool:
    return rating.score is None or rating.score >= threshold


def _local(chunk: Chunk) -> tuple[Chunk, list[ContextUnit], str]:
    """Return a chunk with its units numbered 1…n, so that a prompt holds no numbers from outside of it."""
    units = [replace(unit, id=number) for number, unit in enumerate(chunk.units, start=1)]
    return chunk, units, render(units)


def _why(level: int, rating: _Rating, chunks: Sequence[Chunk], fixed: Sequence[Chunk]) -> str:
    """Tell what was read against what a global search of the level reads, what rating cost included."""
    read, whole = _tokens(chunks), _tokens(fixed)
    rated, calls = sum(rating.tokens.values()), rating.usage.calls
    against = f"the {sum(len(chunk.units) for chunk in fixed):,} of C{level}"
    reports = counted(sum(len(chunk.units) for chunk in chunks), "report")
    judged = counted(len(rating.ratings), "report")
    by = f"with about {rated:,} tokens were rated in {counted(calls, 'model call')}"
    cost = f"to choose, {judged} {by if calls else 'were rated without a model'}"
    if not chunks:
        return f"no root community has to do with the question, so none of {against} was read; {cost}"
    every = f", which makes {read + rated:,} tokens, {_change(read + rated, whole)}" if calls else ""
    return (
        f"read {reports} in place of {against}: about {read:,} tokens against {whole:,}, "
        f"{_change(read, whole)}; {cost}{every}"
    )


def _tokens(chunks: Sequence[Chunk]) -> int:
    return sum(sum(chunk.row_tokens) for chunk in chunks)


def _change(tokens: int, whole: int) -> str:
    share = round(100 * (1 - tokens / whole)) if whole else 0
    return f"{abs(share)} % {'more' if share < 0 else 'fewer'}" if share else "as many"
