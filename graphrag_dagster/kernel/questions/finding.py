"""Retrieval of text units, entities and reports for a search, with traces for its answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.stable_values import Scores, cosines
from graphrag_dagster.kernel.models.embedders import Embedder
from graphrag_dagster.kernel.questions.context.answer import (
    Answer,
    Call,
    TraceSection,
    entity,
    section,
    text_unit,
)
from graphrag_dagster.kernel.questions.context.index_retriever import retriever_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.questions.scope.course_of_time import in_course
from graphrag_dagster.kernel.retrieval.entity_linking import LinkedName
from graphrag_dagster.kernel.retrieval.packaged_reranker import stages
from graphrag_dagster.kernel.retrieval.ranking import Mode, Ranking, first_places
from graphrag_dagster.kernel.retrieval.rerankers import Reranked, rerank
from graphrag_dagster.kernel.retrieval.retriever import LocalRanking
from graphrag_dagster.kernel.retrieval.search_words import words
from graphrag_dagster.kernel.tasks.answering_ports import Routed, Sought
from graphrag_dagster.kernel.tasks.embedded_rows import embed_rows
from graphrag_dagster.kernel.text.english_words import OFFICES

_MOST_FOUND = 20
#: Title of the trace section with the linked names of the question.
NAMES = "Names in the question"


def with_history(search: Search, question: str | None = None) -> str:
    """Return the search text: follow-up questions may refer to what only an earlier question names.

    Args:
        search: with the conversation.
        question: default: the question of the search.
    """
    if question is None:
        question = search.course.text if search.course else search.question.text
    return "\n".join(
        [*(turn.question for turn in search.question.history[-2:]), question, *_offices_in(question)]
    )


def _offices_in(question: str) -> list[str]:
    """Return the full names of offices that a question abbreviates: a text may have either."""
    return [OFFICES[word] for word in dict.fromkeys(words(question)) if word in OFFICES]


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A text with its retrieval mode; see :func:`text_query`.

    Attributes:
        search: over an index that supports the mode.
        text: the query.
        vector: its unit vector [d]; None: lexical only.
        mode: the retrieval mode in use.
        note: why retrieval fell back to lexical; None if it did not.
    """

    search: Search
    text: str
    vector: NDArray[np.float32] | None
    mode: Mode
    note: str | None

    def units(self, *, favoured: bool = True) -> Ranking:
        """Return text units, best first.

        Args:
            favoured: give more weight to documents that the question favours.
        """
        prior = prior_of(self.search) if favoured else None
        return self.search.retriever.units(self.text, self.vector, self.mode, prior=prior)

    def local(self, entities: int) -> LocalRanking:
        """Return text units and up to ``entities`` entities by following the text through the graph."""
        return self.search.retriever.local(
            self.text, self.vector, self.mode, most_entities=entities, prior=prior_of(self.search)
        )

    def spread(self) -> Ranking:
        """Return text units by a random walk over names and text units."""
        return self.search.retriever.spread(self.text, self.vector, self.mode, prior=prior_of(self.search))


def text_query(search: Search, text: str, mode: Mode | None = None) -> TextQuery:
    """Return a query with its vector, if the vectors of the index can be used.

    Args:
        search: the question.
        text: the query text.
        mode: retrieval mode; default: that of the options.

    Raises:
        QuestionError: the mode is ``vector`` and the vectors of the text units cannot be used.
    """
    wanted = search.options.retrieval if mode is None else mode
    search = _with_passage_vectors(search, wanted)
    vector, used_mode, note = _question_vector(search, text, wanted)
    return TextQuery(search, text, vector, used_mode, note)


def rerank_units(
    search: Search, question: str, unit_ids: Sequence[str], *, followed: bool
) -> tuple[Sequence[str], list[Reranked]]:
    """Rerank the first text units; without a reranker their order stays.

    Where the question wants to hear something over time, periods then take turns.

    Args:
        search: with the reranker and how many units it sees.
        question: the query that they were found by.
        unit_ids: best first.
        followed: whether they were found by following the question through the graph.

    Raises:
        EngineError: the reranker cannot be used.
    """
    sought = Sought(question, search.retriever.length, followed)
    changes = []
    # Follow-up questions are many, and the packaged model takes its time for each.
    asked_once = question == with_history(search)
    for reranker, first in stages(
        search.engines.reranker(), search.options.rerank_first, asked_once=asked_once
    ):
        if unit_ids and reranker.counts(sought):
            unit_ids, change = rerank(unit_ids, search.retriever.text, sought, reranker, first)
            changes.append(change)
    if asked_once and search.course:
        unit_ids = in_course(search.course, unit_ids, search.index)
    return unit_ids, changes


def prior_of(search: Search) -> Scores | None:
    """Return the weight of each text unit of the retriever by the favoured documents; None without any."""
    favour = search.favour
    if not favour.clues:
        return None
    of_units = search.index.once(_documents_of_units)
    return favour.prior(of_units.number_of)[of_units.numbers]


def is_favoured(search: Search) -> Callable[[str], bool]:
    """Return whether a text unit, by its id, is of a document that the question names."""
    weights, passages = search.favour.weights(), search.index.passages
    return lambda unit_id: unit_id in passages and passages[unit_id].document_id in weights


def with_retrieval_trace(
    search: Search, made: Answer, note: str | None, moves: Iterable[Reranked] = ()
) -> Answer:
    """Return an answer with notes and trace on its retrieval: favoured documents and reranking."""
    favour = search.favour
    why = "; ".join(filter(None, (note, favour.description)))
    sections = _reranking(made, list(moves))
    return replace(made, why=why or None, favoured=favour.all, trace=(*made.trace, *sections))


def _reranking(answer: Answer, moves: Sequence[Reranked]) -> tuple[TraceSection, ...]:
    """Return trace sections on the reranking; units of the context come first."""
    if not moves:
        return ()
    titles = {use.record_id: use.title for use in answer.context}
    summaries = ((move.reranker, move.question, move.units, len(move.moved)) for move in moves)
    moved = [
        (
            text_unit(unit.text_unit_id, titles.get(unit.text_unit_id, "")),
            move.question,
            unit.before,
            unit.after,
        )
        for move in moves
        for unit in sorted(move.moved, key=lambda unit: unit.text_unit_id not in titles)
    ]
    summary = section("Reranked", ("reranker", "question", "text units", "moved"), summaries)
    return (
        summary,
        *([section("Moved", ("text unit", "question", "before", "after"), moved)] if moved else []),
    )


def with_route(made: Answer, routed: Routed | None, none: str) -> Answer:
    """Return an answer with the model call that routed the question, and its usage.

    Args:
        made: the answer.
        routed: the reply of the model; None if it was not called.
        none: the method to report if the model chose none.
    """
    if routed is None:
        return made
    problem = f"route: {routed.problem}" if routed.problem else None
    call = Call("route", routed.method or none, used=routed.method is not None, problem=problem)
    return replace(
        made,
        steps=(call, *made.steps),
        usage=routed.usage + made.usage,
        problems=(*filter(None, (problem,)), *made.problems),
    )


def without_favour(search: Search, made: Answer, reads: str) -> Answer:
    """Return an answer that says which named documents were not favoured, and why: ``reads``."""
    why = "; ".join(
        filter(None, (made.why, search.favour.describe_as(f"named, but not favoured, since {reads}")))
    )
    return replace(made, why=why or None)


def names_in_question(search: Search) -> tuple[LinkedName, ...]:
    """Return the linked names of the question and of those before it."""
    return search.retriever.linked_names(with_history(search))


def linked_names_section(names: Sequence[LinkedName]) -> tuple[TraceSection, ...]:
    """Return the linked names of a question as a trace section; empty without names."""
    rows = (
        (
            name.text,
            entity(name.entity_id, name.title or name.text) if name.entity_id else name.title,
            name.how,
            name.sure,
            name.weight,
            name.reason,
        )
        for name in names
    )
    columns = ("in the question", "taken for", "how", "sure", "weight", "why")
    return (section(NAMES, columns, rows),) if names else ()


def nearest_reports(search: Search) -> list[str]:
    """Return report ids, nearest to the question first; without usable vectors, best rated first."""
    vectors = search.index.report_vectors
    if vectors is None or vectors["embedder"].unique().to_list() != [search.engines.embedder().name]:
        ordered = search.index.reports.sort(["rating", "report_id"], descending=[True, False])
        return ordered["report_id"].to_list()[:_MOST_FOUND]
    (vector,) = search.engines.embedder().embed_queries([search.question.text])
    similarities = cosines(vectors["vector"].to_numpy(), vector)
    return [str(vectors["report_id"][int(position)]) for position in first_places(similarities, _MOST_FOUND)]


def _with_passage_vectors(search: Search, mode: Mode) -> Search:
    """Return the search with vectors for the passages of an imported graph, if only vectors are wanted.

    Such a graph has no stored vectors. Its passages are embedded once per opened index, and only for mode
    ``vector``, since each passage takes a call at an endpoint.

    Args:
        search: the question.
        mode: the retrieval mode.
    """
    if mode != "vector" or search.index.sentences is None:
        return search
    return replace(search, index=search.index.once(PassageVectors).by(search.engines.embedder()))


def _question_vector(
    search: Search, sought: str, mode: Mode
) -> tuple[NDArray[np.float32] | None, Mode, str | None]:
    """Return the vector of a query, the mode, and a note if the mode falls back to lexical.

    Raises:
        QuestionError: the mode is ``vector`` and the vectors of the text units cannot be used.
    """
    if mode == "lexical":
        return None, mode, None
    vectors = search.index.unit_vectors
    embedder = search.engines.embedder()
    made_by = sorted(vectors["embedder"].unique()) if vectors is not None and len(vectors) else []
    if made_by == [embedder.name]:
        return embedder.embed_queries([sought])[0], mode, None
    problem = (
        f"its vectors were made by {', '.join(made_by)}, the settings say {embedder.name}"
        if made_by
        else "it has no vectors of text units"
    )
    if mode == "vector":
        raise QuestionError(f"{problem}: materialise the embeddings (graphrag-dagster index NAME)")
    return None, "lexical", f"found by words alone: {problem}"


@dataclass(frozen=True)
class _UnitDocuments:
    """Numbers of the documents that have text units; ``numbers``: by unit, in the retriever's order."""

    number_of: Mapping[str, int]
    numbers: NDArray[np.int64]


def _documents_of_units(index: IndexSnapshot) -> _UnitDocuments:
    of_unit = dict(index.text_chunks.select("text_unit_id", "document_id").iter_rows())
    number_of = {one: number for number, one in enumerate(dict.fromkeys(of_unit.values()))}
    numbers = [number_of[of_unit[unit]] for unit in retriever_of(index).unit_ids]
    return _UnitDocuments(number_of, np.array(numbers, dtype=np.int64))


class PassageVectors:
    """Snapshots with a vector per passage, made lazily per embedder.

    Args:
        index: with passages generated from an imported graph.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self._index = index
        self._made: dict[str, IndexSnapshot] = {}

    def by(self, embedder: Embedder) -> IndexSnapshot:
        """Return the snapshot with the embedder's vectors; the first call embeds all passages."""
        if embedder.name not in self._made:
            units = self._index.text_chunks
            vectors = embed_rows(units["text_unit_id"], units["text"], embedder, named="passages")
            self._made[embedder.name] = replace(self._index, unit_vectors=vectors)
        return self._made[embedder.name]
