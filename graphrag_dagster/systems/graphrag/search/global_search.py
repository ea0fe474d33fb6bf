"""Global search over reports or all text units (paper §3.1.6), and dynamic community selection."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import polars as pl

from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.questions.context.answer import Answer, Call
from graphrag_dagster.kernel.questions.context.context_chunks import (
    Chunk,
    Count,
    Packing,
    fill_chunks,
    render,
)
from graphrag_dagster.kernel.questions.context.context_rows import ReportUnits
from graphrag_dagster.kernel.questions.context.context_units import ContextUnits, SourceUnits
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import REFUSAL, Basis, Search
from graphrag_dagster.kernel.questions.searcher import top_level
from graphrag_dagster.kernel.retrieval.finding import without_favour
from graphrag_dagster.kernel.retrieval.index_cache import load_or_build
from graphrag_dagster.kernel.tasks.answering_ports import Rating, ReportRater
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Usage
from graphrag_dagster.kernel.text.tokenization import encoding_of
from graphrag_dagster.systems.graphrag.search.map_reduce import map_reduce
from graphrag_dagster.systems.graphrag.settings import CommunitySettings
from graphrag_dagster.systems.graphrag.tasks import ANSWERER, RATER

_DIGITS = 12
#: A report without a rating is followed like the best.
_MOST_SCORE = 5.0


def global_search(search: Search) -> Answer:
    """Answer a question from all reports of its level, or from all text units where it has none (TS).

    Rows are shuffled with the seed and packed into chunks; each chunk gives a partial answer with a score;
    see :func:`~graphrag_dagster.systems.graphrag.search.map_reduce.map_reduce`.

    Raises:
        QuestionError: there is no such level, or there are no reports.
        EngineError: the answerer did not give one partial answer per chunk.
    """
    answerer, level = search.engines.task(ANSWERER), search.level
    method = search.method.name if level is None else f"C{level}"
    units = context_of(search.index, level)
    made = map_reduce(search, answerer, units, chunks_of(search), method=method)
    read = "text units" if level is None else f"reports of {method}"
    return without_favour(search, made, f"all {read} are read alike")


def context_of(index: IndexSnapshot, level: int | None) -> ContextUnits:
    """Return the reports of ``C<level>``, or all text units, as context rows; made once per snapshot.

    Raises:
        QuestionError: there is no such level, or there are no reports.
    """
    return sources_of(index) if level is None else index.once(_report_units, level)


def sources_of(index: IndexSnapshot) -> SourceUnits:
    """Return all text units as context rows; made once per snapshot."""
    return index.once(SourceUnits)


def chunks_of(basis: Basis) -> Sequence[Chunk]:
    """Return the chunks of a level or of all text units; packed once per snapshot, size and seed.

    Raises:
        QuestionError: as :func:`context_of`, or the context cannot hold the beginning of a row.
    """
    options = basis.options
    return basis.index.once(_pack_chunks, basis.level, basis.count, options.context_tokens, options.seed)


def reports_of(index: IndexSnapshot, level: int) -> pl.DataFrame:
    """Return the reports of ``C<level>``.

    Raises:
        QuestionError: there is no such level, or there are no reports.
    """
    known = levels_of(index)
    if level in known and index.restricted:
        return _report_units_inside(index, level)
    if not known or index.reports.is_empty():
        raise QuestionError(
            "this corpus has no community reports, for example because no two entities are related; index "
            "it again with more documents (graphrag-dagster index NAME), or inspect the index "
            "(graphrag-dagster show NAME); basic and local search need no reports (--method local)"
        )
    if level not in known:
        levels = ", ".join(f"C{k}" for k in known)
        raise QuestionError(f"there is no level C{level}; there are {levels}")
    return _reports_of_level(index, level)


def _reports_of_level(index: IndexSnapshot, level: int) -> pl.DataFrame:
    chosen = index.community_levels.filter(pl.col("level") == level).select("community_id").unique()
    return index.reports.join(chosen, left_on="report_id", right_on="community_id", how="semi")


def _report_units_inside(index: IndexSnapshot, level: int) -> pl.DataFrame:
    found = _reports_of_level(index, level)
    if found.is_empty():
        raise QuestionError(
            f"no report of C{level} was written from the filtered documents alone; use a search method that "
            "reads their text units: local, basic, or TS for all of them (--method TS)"
        )
    return found


def levels_of(index: IndexSnapshot) -> list[int]:
    """Return the community levels there are."""
    return sorted(index.community_levels["level"].unique())


def _report_units(index: IndexSnapshot, level: int) -> ReportUnits:
    return ReportUnits(index, reports_of(index, level))


def _pack_chunks(
    index: IndexSnapshot, level: int | None, count: Count, limit: int, seed: int
) -> Sequence[Chunk]:
    units = context_of(index, level).all
    encoding = encoding_of(count)
    if encoding is None:
        return fill_chunks(units, count=count, limit=limit, seed=seed)
    name = "chunks" + stable_id(encoding, level, limit, seed)[:_DIGITS]
    packing = load_or_build(
        index.shelf,
        name,
        lambda: Packing.of(fill_chunks(units, count=count, limit=limit, seed=seed)),
        Packing,
    )
    return packing.chunks(units)


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
    tree = index.once(_Tree, level)
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
    compared = top if top < 0 and not index.restricted else level
    if chunks:
        answer = map_reduce(search, answerer, tree.units, chunks, method=method)
    else:
        answer = Answer(search.question.text, method, level, REFUSAL, answerer.engine, refused=True)
    told = replace(
        answer,
        why=_why(compared, rating, chunks, chunks_of(replace(search, level=compared))),
        steps=(*rating.calls(set(chosen)), *answer.steps),
        usage=rating.usage + answer.usage,
        problems=(*rating.problems(), *answer.problems),
    )
    return without_favour(search, told, "reports are chosen by what they say")


def most_rated(basis: Basis) -> int | None:
    """Return how many reports of a level are rated below the roots; None: without a bound."""
    if basis.index.once(top_level) >= 0:
        return None
    return basis.settings.section(CommunitySettings).roots


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
            for one in self._followed(kept):
                below = list(self.tree.below(one))
                above.update(dict.fromkeys(below, one))
                wave += below
        return list(relevant)

    def _followed(self, relevant: Sequence[str]) -> Sequence[str]:
        """Return those of relevant reports whose children are rated: all, or the best as far as the bound."""
        if self.most is None:
            return relevant
        best = sorted(relevant, key=lambda one: -self._score(one))
        sizes = accumulate(sum(1 for _ in self.tree.below(one)) for one in best)
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
