"""One way in to all ways of answering, over one snapshot of an index."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.language.exploring import Explorer, ReportRater
from graphrag_dagster.core.language.tasks import Answerer, Turn
from graphrag_dagster.core.ranks import cosines
from graphrag_dagster.core.search.choosing import choose
from graphrag_dagster.core.search.context.answer import Answer
from graphrag_dagster.core.search.context.chunks import Count
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.levels import level_of
from graphrag_dagster.core.search.context.question import checked
from graphrag_dagster.core.search.context.support import Support
from graphrag_dagster.core.search.methods.drift import LocalContext as DriftContext
from graphrag_dagster.core.search.methods.drift import drift_search
from graphrag_dagster.core.search.methods.dynamic import dynamic_search
from graphrag_dagster.core.search.methods.global_search import global_search
from graphrag_dagster.core.search.methods.local import (
    LocalContext,
    Ranked,
    Shares,
    local_context,
    local_search,
)
from graphrag_dagster.core.search.methods.vector_rag import vector_rag
from graphrag_dagster.core.search.retrieval.ranking import first_places
from graphrag_dagster.core.search.retrieval.retriever import LocalRanking, Retriever
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.errors import QuestionError

Mode = Literal["hybrid", "vector", "lexical"]

#: The ways of answering, and the paper's conditions (§4.1.1).
METHODS = ("auto", "global", "dynamic", "local", "drift", "basic")
CONDITIONS = ("C0", "C1", "C2", "C3", "TS", "SS")
_LEVELLED = ("global", "dynamic")
_SURE = 0.3
_MOST_FOUND = 20
#: Entities whose surroundings a local context is made of, at most.
_ENTITIES = 50


class Engines(Protocol):
    """Who does the language tasks of a question; each is made when it is first needed."""

    def answerer(self) -> Answerer:
        """Who answers."""

    def rater(self) -> ReportRater:
        """Who rates reports."""

    def explorer(self) -> Explorer:
        """Who asks follow-up questions."""

    def embedder(self) -> Embedder:
        """Who turns the question into a vector."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How questions are answered; the meaning of each is that of the setting of the same name."""

    context_tokens: int = 8000
    seed: int = 86
    level: int = 1
    retrieval: Mode = "hybrid"
    shares: Shares = field(default_factory=Shares)
    relevant_from: int = 1
    steps: int = 2
    follow_ups: int = 3


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

    @cached_property
    def retriever(self) -> Retriever:
        """Finds text units and entities; made on first use."""
        index = self.index
        return Retriever(
            index.text_chunks,
            index.entities,
            index.relationships,
            index.unit_vectors,
            index.entity_vectors,
            titles=dict(
                index.text_chunks.join(index.documents.select("document_id", "title"), on="document_id")
                .select("text_unit_id", "title")
                .iter_rows()
            ),
        )

    def answer(
        self,
        question: str,
        engines: Engines,
        *,
        method: str = "auto",
        level: int | None = None,
        history: Sequence[Turn] = (),
    ) -> Answer:
        """Answer a question in one of the ways.

        Args:
            question: at most 4,000 characters.
            engines: who does the language tasks.
            method: one of :data:`METHODS` or :data:`CONDITIONS`, or ``C<k>`` of a deeper level.
            level: community level of global and dynamic; default: that of the options.
            history: the conversation so far, oldest first; local search and drift take it into account.

        Raises:
            QuestionError: the question, method or level cannot be answered, or lacks what it needs; says
                what to do.
            EngineError: an engine cannot do what was asked.
            EndpointError: the model endpoint cannot be used.
        """
        asked, begin, why = checked(question), monotonic(), None
        method = _spelled(method)
        if level is not None:
            method = "global" if method == "auto" else method
            if method not in _LEVELLED:
                ways = " or ".join(_LEVELLED)
                raise QuestionError(f"{method} reads no level of choice; leave it out, or ask by {ways}")
        if method == "auto":
            named = self._named(_with_history(asked, history))
            reports = not self.index.reports.is_empty()
            choice = choose(asked, named, reports=reports, told=bool(history))
            method, why = choice.method, choice.why
        answer = self._way(asked, engines, method, level, history)
        shown = "; ".join(filter(None, (why, answer.why))) or None
        return replace(answer, why=shown, seconds=round(monotonic() - begin, 3))

    def with_options(self, options: SearchOptions) -> "Searcher":
        """Return a searcher of the same snapshot with other options, which shares its retriever."""
        other = Searcher(self.index, options, self.count, self._support)
        other.__dict__["retriever"] = self.retriever
        return other

    def entities(self, query: str, limit: int, engines: Engines) -> list[tuple[str, float]]:
        """Return the entities that a query is about, best first: id and score.

        Args:
            query: as checked.
            limit: most entities.
            engines: who turns the query into a vector.
        """
        found, _ = self._found(query, engines)
        return list(zip(found.entities.ids, found.entities.scores, strict=True))[:limit]

    def _way(
        self, asked: str, engines: Engines, method: str, level: int | None, history: Sequence[Turn]
    ) -> Answer:
        ways: dict[str, Callable[[], Answer]] = {
            "global": lambda: self._global(asked, engines, self.options.level if level is None else level),
            "dynamic": lambda: self._dynamic(asked, engines, level),
            "local": lambda: self._local(asked, engines, history),
            "drift": lambda: self._drift(asked, engines, history),
            "basic": lambda: self._nearest(asked, engines, "basic", self.options.retrieval, history),
            "SS": lambda: self._nearest(asked, engines, "SS", "vector", ()),
            "TS": lambda: self._global(asked, engines, None),
        }
        if method in ways:
            return ways[method]()
        if method[:1] == "C" and method[1:].isdigit():
            return self._global(asked, engines, level_of(method))
        raise QuestionError(
            f"there is no way of answering {method!r}; there are {', '.join((*METHODS, *CONDITIONS))}"
        )

    def _global(self, asked: str, engines: Engines, level: int | None) -> Answer:
        return global_search(
            self.index,
            asked,
            level=level,
            answerer=engines.answerer(),
            count=self.count,
            context_tokens=self.options.context_tokens,
            seed=self.options.seed,
            support=self._support,
        )

    def _dynamic(self, asked: str, engines: Engines, level: int | None) -> Answer:
        return dynamic_search(
            self.index,
            asked,
            level=self.options.level if level is None else level,
            rater=engines.rater(),
            answerer=engines.answerer(),
            count=self.count,
            context_tokens=self.options.context_tokens,
            seed=self.options.seed,
            support=self._support,
            threshold=self.options.relevant_from,
        )

    def _nearest(
        self, asked: str, engines: Engines, method: str, mode: Mode, history: Sequence[Turn]
    ) -> Answer:
        sought = _with_history(asked, history)
        vector, mode, note = self._vector(sought, engines, mode, needed=method == "SS")
        answer = vector_rag(
            self.index,
            asked,
            self.retriever.units(sought, vector, mode).ids,
            method=method,
            answerer=engines.answerer(),
            count=self.count,
            context_tokens=self.options.context_tokens,
            support=self._support,
        )
        return replace(answer, why=note)

    def _local(self, asked: str, engines: Engines, history: Sequence[Turn]) -> Answer:
        found, note = self._found(_with_history(asked, history), engines)
        answer = local_search(
            self.index,
            asked,
            Ranked(found.units.ids, found.entities.ids[:_ENTITIES]),
            answerer=engines.answerer(),
            count=self.count,
            context_tokens=self.options.context_tokens,
            shares=self.options.shares,
            history=history,
            support=self._support,
        )
        return replace(answer, why=note)

    def _drift(self, asked: str, engines: Engines, history: Sequence[Turn]) -> Answer:
        def contexts(questions: Sequence[str]) -> list[DriftContext]:
            made = [self._context(_with_history(one, history), engines) for one in questions]
            return [DriftContext(one.units, one.rows, one.rendered, one.row_tokens) for one in made]

        return drift_search(
            self.index,
            asked,
            local=contexts,
            explorer=engines.explorer(),
            answerer=engines.answerer(),
            count=self.count,
            context_tokens=self.options.context_tokens,
            seed=self.options.seed,
            reports=self._reports(asked, engines),
            steps=self.options.steps,
            follow_ups=self.options.follow_ups,
            support=self._support,
        )

    def _context(self, question: str, engines: Engines) -> LocalContext:
        found, _ = self._found(question, engines)
        return local_context(
            self.index,
            Ranked(found.units.ids, found.entities.ids[:_ENTITIES]),
            count=self.count,
            limit=self.options.context_tokens,
            shares=self.options.shares,
        )

    def _found(self, question: str, engines: Engines) -> tuple[LocalRanking, str | None]:
        vector, mode, note = self._vector(question, engines, self.options.retrieval, needed=False)
        return self.retriever.local(question, vector, mode), note

    def _named(self, question: str) -> list[str]:
        linked = self.retriever.local(question, None, "lexical").linked
        titles = self.index.once(
            ("entity titles",), lambda: dict(self.index.entities.select("entity_id", "title").iter_rows())
        )
        return [titles[one] for one, weight in zip(linked.ids, linked.scores, strict=True) if weight >= _SURE]

    def _reports(self, question: str, engines: Engines) -> list[str]:
        """Ids of the reports nearest to a question by their vectors; in the order of rating without these."""
        vectors = self.index.report_vectors
        ordered = self.index.reports.sort(["rating", "report_id"], descending=[True, False])["report_id"]
        if vectors is None or vectors.is_empty():
            return ordered.to_list()[:_MOST_FOUND]
        vector, _, _ = self._vector(question, engines, "hybrid", needed=False)
        if vector is None or vectors["embedder"].unique().to_list() != [engines.embedder().name]:
            return ordered.to_list()[:_MOST_FOUND]
        near = cosines(vectors["vector"].to_numpy(), vector)
        return [str(vectors["report_id"][int(place)]) for place in first_places(near, _MOST_FOUND)]

    def _vector(
        self, question: str, engines: Engines, mode: Mode, *, needed: bool
    ) -> tuple[NDArray[np.float32] | None, Mode, str | None]:
        """The question's vector; without usable vectors of the text units, words alone and a note of that."""
        if mode == "lexical":
            return None, mode, None
        vectors = self.index.unit_vectors
        embedder = engines.embedder()
        made_by = sorted(vectors["embedder"].unique()) if vectors is not None and len(vectors) else []
        if made_by == [embedder.name]:
            return embedder.embed([question])[0], mode, None
        problem = (
            f"its vectors were made by {', '.join(made_by)}, the settings say {embedder.name}"
            if made_by
            else "it has no vectors of text units"
        )
        if needed or mode == "vector":
            raise QuestionError(f"{problem}: materialise the embeddings (graphrag-dagster index NAME)")
        return None, "lexical", f"found by words alone: {problem}"


def _spelled(method: str) -> str:
    """The way of answering in its own capitals."""
    known = {one.lower(): one for one in (*METHODS, *CONDITIONS)}
    deeper = method[:1] in {"C", "c"} and method[1:].isdigit()
    return known.get(method.lower(), method.upper() if deeper else method)


def _with_history(question: str, history: Sequence[Turn]) -> str:
    """What to look for: a question of a conversation may name what it is about only in an earlier one."""
    return "\n".join([*(turn.question for turn in history[-2:]), question])
