"""Dynamic search: the reports that have to do with the question, from the top down."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import polars as pl

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.answer import Answer, Call
from graphrag_dagster.kernel.questions.context.context_chunks import Chunk, Count, fill_chunks, render
from graphrag_dagster.kernel.questions.context.context_rows import ReportUnits
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.finding import without_favour
from graphrag_dagster.kernel.questions.question import REFUSAL, Basis, Search
from graphrag_dagster.kernel.questions.searcher import top_level
from graphrag_dagster.kernel.tasks.answering_ports import Rating, ReportRater
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
from graphrag_dagster.systems.graphrag.search.deferred_reports import DeferredReports, deferred_reports
from graphrag_dagster.systems.graphrag.search.global_search import chunks_of, reports_of
from graphrag_dagster.systems.graphrag.search.map_reduce import map_reduce
from graphrag_dagster.systems.graphrag.settings import CommunitySettings
from graphrag_dagster.systems.graphrag.tasks import ANSWERER, RATER

#: A report without a rating is followed like the best.
_MOST_SCORE = 5.0


def dynamic_search(search: Search, *, keep_parent: bool = False) -> Answer:
    """Answer a question from those reports that have to do with it, each branch as deep as it does.

    The reports of the root communities are rated 0–5. Below each that is relevant, by the rating from which
    the options have it so, its children are rated, and so on down to the question's level. Where there are
    levels above C0 the roots are few, and no level costs more than they do: below the best rated only, as
    many are rated as there may be roots (at least the children of the best). Of each relevant
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
    method = search.method.name
    level = search.level or 0
    reports_of(index, level)
    deferred = deferred_reports(search, level)
    tree = _Tree(deferred.index, level, search, deferred) if deferred else index.once(_Tree, level)
    rating = _Rating(
        tree,
        rater,
        search.question.text,
        search.count,
        options.context_tokens,
        options.seed,
        most_rated(search),
    )
    chosen = rating.chosen_reports(options.relevant_from, keep_parent=keep_parent)
    rows = [tree.unit(report_id) for report_id in chosen]
    chunks = fill_chunks(rows, count=search.count, limit=options.context_tokens, seed=options.seed)
    top = index.once(top_level)
    # What a global search reads by default: at the top where there are levels above C0.
    whole = level if deferred is None else int(index.reports["level"].max() or 0)  # type: ignore[arg-type]
    compared = top if top < 0 and not index.restricted else whole
    if chunks:
        answer = map_reduce(
            replace(search, index=tree.units.index), answerer, tree.units, chunks, method=method
        )
    else:
        answer = Answer(search.question.text, method, level, REFUSAL, answerer.engine, refused=True)
    told = replace(
        answer,
        why=_why(compared, rating, chunks, chunks_of(replace(search, level=compared))),
        steps=(*rating.calls(set(chosen)), *answer.steps),
        usage=tree.usage + rating.usage + answer.usage,
        problems=(*rating.problems(), *answer.problems),
    )
    return without_favour(search, told, "reports are chosen by what they say")


def most_rated(basis: Basis) -> int | None:
    """Return how many reports of a level are rated below the roots; None: without a bound."""
    if basis.index.once(top_level) >= 0:
        return None
    return basis.settings.section(CommunitySettings).roots


class _Tree:
    """The reports down to a level, as context rows and as a tree.

    Args:
        index: the tables.
        level: the deepest level.
        search: the question, for which reports are written.
        deferred: writes those that are not there; None where all are, or none may be written.
    """

    def __init__(
        self,
        index: IndexSnapshot,
        level: int,
        search: Search | None = None,
        deferred: DeferredReports | None = None,
    ) -> None:
        known = index.communities.filter(pl.col("level") <= level).sort("level", "community_id")
        pairs = list(known.select("community_id", "parent_id").iter_rows())
        self._below: dict[str | None, list[str]] = {}
        ids = {community for community, _ in pairs}
        for community, parent in pairs:
            self._below.setdefault(parent if parent in ids else None, []).append(community)
        self._ids = ids
        self._search, self._deferred = search, deferred
        self.units = self._units(index)
        #: What writing reports cost.
        self.usage = Usage()

    def _units(self, index: IndexSnapshot) -> ReportUnits:
        return ReportUnits(index, index.reports.filter(pl.col("report_id").is_in(list(self._ids))))

    def write_below(self, communities: Sequence[str]) -> None:
        """Have the reports of the children of some communities written, as far as they are not there."""
        if self._deferred is None or self._search is None:
            return
        children = [child for one in communities for child in self._below.get(one, [])]
        if any(child not in self.units.number_of for child in children):
            self.usage += self._deferred.write(children, self._search)
            self.units = self._units(self._deferred.index)

    def count_below(self, community: str) -> int:
        """Return how many reports are rated below a community."""
        if self._deferred is not None:
            return len(self._below.get(community, []))
        return sum(1 for _ in self.below(community))

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
    most: int | None = None
    ratings: dict[str, Rating] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    tokens: dict[str, int] = field(default_factory=dict)
    batches: int = 0

    def chosen_reports(self, threshold: int, *, keep_parent: bool) -> list[str]:
        """Return the ids of the reports to read."""
        relevant: dict[str, None] = {}
        above: dict[str, str] = {}
        wave = list(self.tree.below(None))
        while wave:
            self._rate(wave)
            kept = [one for one in wave if _is_relevant(self.ratings[one], threshold)]
            relevant.update(dict.fromkeys(kept))
            if not keep_parent:
                for one in kept:
                    relevant.pop(above.get(one, ""), None)
            wave = []
            followed = self._followed(kept)
            self.tree.write_below(followed)
            for one in followed:
                below = list(self.tree.below(one))
                above.update(dict.fromkeys(below, one))
                wave += below
        return list(relevant)

    def _followed(self, relevant: Sequence[str]) -> Sequence[str]:
        """Return those of relevant reports whose children are rated: all, or the best as far as the bound."""
        if self.most is None:
            return relevant
        best = sorted(relevant, key=lambda one: -self._score(one))
        sizes = accumulate(map(self.tree.count_below, best))
        return [
            one
            for place, (one, size) in enumerate(zip(best, sizes, strict=True))
            if not place or size <= self.most
        ]

    def _score(self, report_id: str) -> float:
        score = self.ratings[report_id].score
        return _MOST_SCORE if score is None else score

    def _rate(self, wave: Sequence[str]) -> None:
        rows = [self.tree.unit(report_id) for report_id in wave]
        batches = [
            _renumbered_chunk(chunk)
            for chunk in fill_chunks(rows, count=self.count, limit=self.limit, seed=self.seed)
        ]
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


def _is_relevant(rating: Rating, threshold: int) -> bool:
    return rating.score is None or rating.score >= threshold


def _renumbered_chunk(chunk: Chunk) -> tuple[Chunk, list[ContextUnit], str]:
    """Return a chunk with its units numbered 1…n, so that a prompt holds no numbers from outside of it."""
    units = [replace(unit, id=number) for number, unit in enumerate(chunk.units, start=1)]
    return chunk, units, render(units)


def _why(level: int, rating: _Rating, chunks: Sequence[Chunk], fixed: Sequence[Chunk]) -> str:
    """Tell what was read against what a global search of the level reads, what rating cost included."""
    read, whole = _tokens(chunks), _tokens(fixed)
    rated, calls = sum(rating.tokens.values()), rating.usage.calls
    against = f"the {sum(len(chunk.units) for chunk in fixed):,} of C{level}"
    reports = plural(sum(len(chunk.units) for chunk in chunks), "report")
    judged = plural(len(rating.ratings), "report")
    by = f"with about {rated:,} tokens were rated in {plural(calls, 'model call')}"
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
