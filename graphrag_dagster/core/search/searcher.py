"""One way in to all ways of answering, over one snapshot of an index."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING

from graphrag_dagster.catalogue.registry import in_plugin, loaded, ways
from graphrag_dagster.catalogue.ways import AUTO
from graphrag_dagster.core.language.tasks import Turn
from graphrag_dagster.core.search.asked import Asked, Basis, Engines
from graphrag_dagster.core.search.context.answer import Answer
from graphrag_dagster.core.search.context.chunks import Count
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.support import Support
from graphrag_dagster.core.search.filters import ALL, Filters
from graphrag_dagster.core.search.finding import looked_for
from graphrag_dagster.core.search.options import SearchOptions
from graphrag_dagster.core.search.refusing import telling_what_was_searched
from graphrag_dagster.core.search.scope.restricting import restricted
from graphrag_dagster.core.search.scope.selecting import scope_of, selected
from graphrag_dagster.core.search.ways import answered, level_read, way_of
from graphrag_dagster.errors import QuestionError

if TYPE_CHECKING:
    from graphrag_dagster.core.accounting.evaluation_size import WaySize

#: Restrictions of the snapshot that are kept; each may be as large as the whole.
_KEPT = 4


class Searcher:
    """Answers questions over one snapshot.

    Args:
        index: the tables of the corpus.
        options: how questions are answered.
        count: tokens of a text.
        support: compares statements with the words they rest on.
    """

    def __init__(
        self, index: IndexSnapshot, options: SearchOptions, count: Count, support: Support | None = None
    ) -> None:
        self.index = index
        self.options = options
        self.count = count
        self._support = support
        # A conversation tends to stay with its filters.
        self._restricted = lru_cache(_KEPT)(partial(restricted, index))

    def answer(
        self,
        question: str,
        engines: Engines,
        *,
        method: str = AUTO,
        level: int | None = None,
        history: Sequence[Turn] = (),
        filters: Filters = ALL,
    ) -> Answer:
        """Answer a question in one of the ways.

        Args:
            question: at most 4,000 characters.
            engines: who does the language tasks.
            method: a way of answering of the catalogue, or ``C<k>`` of a deeper level.
            level: community level of a way that reads one of choice; default: that of the options.
            history: the conversation so far, oldest first; not every way takes it into account.
            filters: which documents to answer from.

        Raises:
            QuestionError: the question, method or level cannot be answered, or lacks what it needs, or no
                document fits the filters; says what to do.
            EngineError: an engine cannot do what was asked.
            EndpointError: the model endpoint cannot be used.
        """
        begin = monotonic()
        asked = self._within(self._asked(question, engines, method, level, history), filters)
        made = telling_what_was_searched(asked, answered(asked))
        told = asked.scope.told if asked.scope else None
        return replace(
            made,
            why="; ".join(filter(None, (made.why, told))) or None,
            scope=asked.scope,
            seconds=round(monotonic() - begin, 3),
        )

    def size(self, method: str) -> "WaySize":
        """Return what one question asks of a model in one of the ways, told beforehand.

        Raises:
            QuestionError: there is no such way of answering.
        """
        from graphrag_dagster.core.search.methods.sizes import with_support_judged

        way = way_of(method)
        level = level_read(way, None, self.options)
        basis = Basis(way=way, index=self.index, count=self.count, options=self.options, level=level)
        with in_plugin("method", way.name, "telling its size"):
            told: WaySize = loaded(way.size)(basis)
        # What reads nothing cites nothing, so there is nothing to judge.
        return with_support_judged(told, self.options.support) if way.tables else told

    def with_options(self, options: SearchOptions) -> "Searcher":
        """Return a searcher of the same snapshot with other options."""
        return Searcher(self.index, options, self.count, self._support)

    def entities(self, query: str, limit: int, engines: Engines) -> list[tuple[str, float]]:
        """Return the entities that a query is about, best first: id and score.

        Args:
            query: as a question.
            limit: most entities.
            engines: who turns the query into a vector.

        Raises:
            QuestionError: the query is blank or too long.
        """
        asked = self._asked(query, engines, AUTO, None, ())
        ranking = looked_for(asked, asked.question).local(limit)
        return list(zip(ranking.entities.ids, ranking.entities.scores, strict=True))

    def _within(self, asked: Asked, filters: Filters) -> Asked:
        """Return the question over the documents that are meant."""
        if filters.restricting:
            chosen = selected(filters, self.index)
            inside = self._restricted(chosen.document_ids)
            asked = replace(asked, index=inside, scope=scope_of(filters, chosen, self.index, inside))
        return replace(asked, soft=filters.soft)

    def _asked(
        self, question: str, engines: Engines, method: str, level: int | None, history: Sequence[Turn]
    ) -> Asked:
        way = way_of(method)
        if level is not None:
            way = way_of(way.with_level) if way.with_level else way
            if not way.levelled:
                levelled = " or ".join(one.name for one in ways().values() if one.levelled)
                raise QuestionError(
                    f"{way.name} reads no level of choice; leave it out, or ask by {levelled}"
                )
        return Asked(
            way=way,
            index=self.index,
            count=self.count,
            options=self.options,
            level=level_read(way, level, self.options),
            question=question,
            engines=engines,
            history=history,
            support=self._support,
        )
