"""One way in to all ways of answering, over one snapshot of an index."""

from dataclasses import replace
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.catalogue.methods import AUTO, GLOBAL, SearchMethod
from graphrag_dagster.kernel.catalogue.registry import at_level, in_plugin, loaded, methods
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.background import Support
from graphrag_dagster.kernel.questions.context.chunks import Count
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.filters import level_of
from graphrag_dagster.kernel.questions.question import Basis, Engines, Question, Search
from graphrag_dagster.kernel.questions.refusing import telling_what_was_searched
from graphrag_dagster.kernel.questions.scope.restricting import restricted
from graphrag_dagster.kernel.questions.scope.selecting import scope_of, selected
from graphrag_dagster.kernel.retrieval.finding import looked_for

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.accounting.planning import WaySize
    from graphrag_dagster.kernel.settings.corpus import CorpusSettings
    from graphrag_dagster.kernel.settings.search import SearchSettings

B = TypeVar("B", bound=Basis)


def known_way(name: str) -> SearchMethod | None:
    """Return the way of answering of a name, in whatever capitals; ``C<k>`` of deeper levels is one too."""
    for own, way in methods().items():
        if own.casefold() == name.casefold():
            return way
    try:
        return at_level(level_of(name.upper())) if _of_a_level(name) else None
    except QuestionError:
        return None


def way_of(name: str) -> SearchMethod:
    """Return the way of answering of a name.

    Raises:
        QuestionError: there is none, which lists those there are, or it names a level that cannot be.
    """
    if (way := known_way(name)) is not None:
        return way
    if _of_a_level(name):
        return at_level(level_of(name.upper()))
    raise QuestionError(f"there is no way of answering {name!r}; there are {', '.join(methods())}")


def _of_a_level(name: str) -> bool:
    return name[:1] in {"C", "c"} and name[1:].isdigit()


def level_read(way: SearchMethod, chosen: int | None, options: "SearchSettings") -> int | None:
    """Return the community level that a way of answering reads.

    Args:
        way: the way of answering.
        chosen: level that was asked for.
        options: with the level that is read otherwise.
    """
    if way.levelled:
        return options.level if chosen is None else chosen
    return way.level


def in_way(basis: B, name: str) -> B:
    """Return the same, to be answered in another way.

    Raises:
        QuestionError: there is none of that name.
    """
    way = way_of(name)
    return replace(basis, way=way, level=level_read(way, None, basis.options))


def answered(search: Search) -> Answer:
    """Return what a question's way of answering gives.

    Raises:
        CatalogueError: its declaration names what cannot be loaded.
        EngineError: it gives something else than an answer.
        PluginError: it is another package's, and failed.
    """
    with in_plugin("method", search.way.name, "answering a question"):
        made = loaded(search.way.answer)(search)
    if not isinstance(made, Answer):
        raise EngineError(
            f"the way of answering {search.way.name} gave a {type(made).__name__}, not an Answer"
        )
    return made


#: Restrictions of the snapshot that are kept; each may be as large as the whole.
_KEPT = 4


class Searcher:
    """Answers questions over one snapshot.

    Args:
        index: the tables of the corpus.
        settings: of the corpus.
        count: tokens of a text.
        support: compares statements with the words they rest on.
    """

    def __init__(
        self, index: IndexSnapshot, settings: "CorpusSettings", count: Count, support: Support | None = None
    ) -> None:
        self.index = index
        self.settings = settings
        self.count = count
        self._support = support
        # A conversation tends to stay with its filters.
        self._restricted = lru_cache(_KEPT)(partial(restricted, index))

    def answer(self, question: Question, engines: Engines) -> Answer:
        """Answer a question.

        Args:
            question: what is asked.
            engines: who does the language tasks.

        Raises:
            QuestionError: the question, method or level cannot be answered, or lacks what it needs, or no
                document fits the filters; says what to do.
            EngineError: an engine cannot do what was asked.
            EndpointError: the model endpoint cannot be used.
        """
        begin = monotonic()
        search = self._search(question, engines)
        made = telling_what_was_searched(search, answered(search))
        told = search.scope.told if search.scope else None
        return replace(
            made,
            why="; ".join(filter(None, (made.why, told))) or None,
            scope=search.scope,
            seconds=round(monotonic() - begin, 3),
        )

    def size(self, method: str) -> "WaySize":
        """Return what one question asks of a model in one of the ways, told beforehand.

        Raises:
            QuestionError: there is no such way of answering.
        """
        from graphrag_dagster.kernel.questions.sizes import with_support_judged

        way = way_of(method)
        level = level_read(way, None, self.settings.search)
        basis = Basis(way=way, index=self.index, count=self.count, settings=self.settings, level=level)
        with in_plugin("method", way.name, "telling its size"):
            told: WaySize = loaded(way.size)(basis)
        # What reads nothing cites nothing, so there is nothing to judge.
        return with_support_judged(told, self.settings.search.support) if way.tables else told

    def with_settings(self, settings: "CorpusSettings") -> "Searcher":
        """Return a searcher of the same snapshot with other settings."""
        return Searcher(self.index, settings, self.count, self._support)

    def with_options(self, **changes: Any) -> "Searcher":
        """Return a searcher of the same snapshot with other values of keys of the section ``search``."""
        own = self.settings.search.model_copy(update=changes)
        return self.with_settings(self.settings.model_copy(update={"search": own}))

    def entities(self, query: str, limit: int, engines: Engines) -> list[tuple[str, float]]:
        """Return the entities that a query is about, best first: id and score.

        Args:
            query: as a question.
            limit: most entities.
            engines: who turns the query into a vector.

        Raises:
            QuestionError: the query is blank or too long.
        """
        search = self._search(Question(query, AUTO), engines)
        ranking = looked_for(search, search.question.text).local(limit)
        return list(zip(ranking.entities.ids, ranking.entities.scores, strict=True))

    def _search(self, question: Question, engines: Engines) -> Search:
        """Return the search for an answer: by which method, of which level, over which documents."""
        way = way_of(question.method or (GLOBAL if question.level else self.settings.search.method))
        level = None if question.level is None else level_of(question.level)
        if level is not None:
            way = way_of(way.with_level) if way.with_level else way
            if not way.levelled:
                levelled = " or ".join(one.name for one in methods().values() if one.levelled)
                raise QuestionError(
                    f"{way.name} reads no level of choice; leave it out, or ask by {levelled}"
                )
        index, scope, filters = self.index, None, question.filters
        question = question.checked()
        if filters.restricting:
            chosen = selected(filters, self.index)
            index = self._restricted(chosen.document_ids)
            scope = scope_of(filters, chosen, self.index, index)
        return Search(
            way=way,
            index=index,
            count=self.count,
            settings=self.settings,
            level=level_read(way, level, self.settings.search),
            question=question,
            engines=engines,
            support=self._support,
            scope=scope,
        )
