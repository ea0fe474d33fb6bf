"""Text units, entities and reports that a question is about."""

from collections.abc import Iterable, Sequence
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
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search, retriever_of
from graphrag_dagster.kernel.retrieval.entity_linking import LinkedName
from graphrag_dagster.kernel.retrieval.ranking import Mode, Ranking, first_places
from graphrag_dagster.kernel.retrieval.rerankers import Reranked, Sought, reordered
from graphrag_dagster.kernel.retrieval.retriever import LocalRanking
from graphrag_dagster.kernel.tasks.answering_ports import Routed
from graphrag_dagster.kernel.tasks.embedded_rows import embed_rows

_MOST_FOUND = 20
#: Title of the section of a trace that tells what each name in the question was taken for.
NAMES = "Names in the question"


def with_history(search: Search, question: str | None = None) -> str:
    """Return what to look for: a question of a conversation may name what it is about only in an earlier one.

    Args:
        search: with the conversation.
        question: default: the one that is asked.
    """
    own = search.question.text if question is None else question
    return "\n".join([*(turn.question for turn in search.question.history[-2:]), own])


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A text, and how text units are found by it; see :func:`looked_for`.

    Attributes:
        search: over an index that has what is needed for it.
        text: what to look for.
        vector: its unit vector [d]; None: by words alone.
        mode: how.
        note: why by words alone, though that was not wanted; None where it is not so.
    """

    search: Search
    text: str
    vector: NDArray[np.float32] | None
    mode: Mode
    note: str | None

    def units(self, *, favoured: bool = True) -> Ranking:
        """Return text units, best first.

        Args:
            favoured: documents that the question favours count more.
        """
        prior = prior_of(self.search) if favoured else None
        return self.search.retriever.units(self.text, self.vector, self.mode, prior=prior)

    def local(self, entities: int) -> LocalRanking:
        """Return text units by following the text over the graph, and at most so many entities."""
        return self.search.retriever.local(
            self.text, self.vector, self.mode, most_entities=entities, prior=prior_of(self.search)
        )

    def spread(self) -> Ranking:
        """Return text units by a walk over names and text units."""
        return self.search.retriever.spread(self.text, self.vector, self.mode, prior=prior_of(self.search))


def looked_for(search: Search, text: str, mode: Mode | None = None) -> TextQuery:
    """Return a text with its vector, as far as vectors of the index can be used.

    Args:
        search: the question.
        text: what to look for.
        mode: how; default: as the options say.

    Raises:
        QuestionError: vectors alone are wanted, and those of the text units cannot be used.
    """
    wanted = search.options.retrieval if mode is None else mode
    search = _with_passage_vectors(search, wanted)
    vector, used, note = _question_vector(search, text, wanted)
    return TextQuery(search, text, vector, used, note)


def in_new_order(
    search: Search, question: str, unit_ids: Sequence[str], *, followed: bool
) -> tuple[Sequence[str], list[Reranked]]:
    """Return text units, the first of them as the reranker orders them, and what it did; none: as they are.

    Args:
        search: with who reranks, and how many.
        question: what they were found by.
        unit_ids: best first.
        followed: whether that was by following the question over the graph.

    Raises:
        EngineError: the reranker cannot be used.
    """
    reranker, first = search.engines.reranker(), search.options.rerank_first
    sought = Sought(question, search.retriever.length, followed)
    if reranker is None or not unit_ids or not reranker.counts(sought):
        return unit_ids, []
    made, done = reordered(unit_ids, search.retriever.text, sought, reranker, first)
    return made, [done]


def prior_of(search: Search) -> Scores | None:
    """Return the weight of each text unit of the retriever by what the question favours; None for none."""
    favour = search.favour
    return favour.prior(search.index.once(_documents_of_units)) if favour.clues else None


def with_retrieval_trace(
    search: Search, made: Answer, note: str | None, moves: Iterable[Reranked] = ()
) -> Answer:
    """Return an answer that tells how its text units were found: what the question favoured, what moved."""
    favour = search.favour
    why = "; ".join(filter(None, (note, favour.told)))
    told = _reranking(made, list(moves))
    return replace(made, why=why or None, favoured=favour.all, trace=(*made.trace, *told))


def _reranking(made: Answer, moves: Sequence[Reranked]) -> tuple[TraceSection, ...]:
    """Who reranked, and what moved: what stands in the context first."""
    if not moves:
        return ()
    titles = {use.record_id: use.title for use in made.context}
    by = ((one.reranker, one.question, one.units, len(one.moved)) for one in moves)
    moved = [
        (
            text_unit(unit.text_unit_id, titles.get(unit.text_unit_id, "")),
            one.question,
            unit.before,
            unit.after,
        )
        for one in moves
        for unit in sorted(one.moved, key=lambda unit: unit.text_unit_id not in titles)
    ]
    told = section("Reranked", ("reranker", "question", "text units", "moved"), by)
    return (told, *([section("Moved", ("text unit", "question", "before", "after"), moved)] if moved else []))


def with_route(made: Answer, routed: Routed | None, none: str) -> Answer:
    """Return an answer that tells what was asked of a model for a choice, and what that cost.

    Args:
        made: the answer.
        routed: what the model said; None where it was not asked.
        none: what stands for a choice where it made none.
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


def favouring_none(search: Search, made: Answer, reads: str) -> Answer:
    """Return an answer that tells which documents the question named to no effect: ``reads`` says why."""
    why = "; ".join(
        filter(None, (made.why, search.favour.told_as(f"named, but not favoured, since {reads}")))
    )
    return replace(made, why=why or None)


def linked(search: Search) -> tuple[LinkedName, ...]:
    """Return the names in the question, and in those before it, and what each was taken for."""
    return search.retriever.linked(with_history(search))


def named_in(names: Sequence[LinkedName]) -> tuple[TraceSection, ...]:
    """Return the names in a question as a section of a trace; none: no section."""
    rows = (
        (
            one.text,
            entity(one.entity_id, one.title or one.text) if one.entity_id else one.title,
            one.how,
            one.sure,
            one.weight,
            one.reason,
        )
        for one in names
    )
    columns = ("in the question", "taken for", "how", "sure", "weight", "why")
    return (section(NAMES, columns, rows),) if names else ()


def nearest_reports(search: Search) -> list[str]:
    """Return ids of reports, the nearest to the question first; without vectors those of the best rating."""
    vectors = search.index.report_vectors
    if vectors is None or vectors["embedder"].unique().to_list() != [search.engines.embedder().name]:
        ordered = search.index.reports.sort(["rating", "report_id"], descending=[True, False])
        return ordered["report_id"].to_list()[:_MOST_FOUND]
    (vector,) = search.engines.embedder().embed_queries([search.question.text])
    near = cosines(vectors["vector"].to_numpy(), vector)
    return [str(vectors["report_id"][int(place)]) for place in first_places(near, _MOST_FOUND)]


def _with_passage_vectors(search: Search, mode: Mode) -> Search:
    """Return the question over an index that has what vectors alone are to find, as far as it can be made.

    A graph told in words has no stored vectors; its passages are embedded once an opened index, and only
    where nothing but vectors is wanted, since that takes a call for each at an endpoint.

    Args:
        search: the question.
        mode: what text units are found by.
    """
    if mode != "vector" or search.index.sentences is None:
        return search
    return replace(search, index=search.index.once(PassageVectors).by(search.engines.embedder()))


def _question_vector(
    search: Search, sought: str, mode: Mode
) -> tuple[NDArray[np.float32] | None, Mode, str | None]:
    """Return the vector of a text, how to look for it, and a note where that is by words alone.

    Raises:
        QuestionError: vectors alone are wanted, and those of the text units cannot be used.
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


def _documents_of_units(index: IndexSnapshot) -> tuple[str, ...]:
    """The document of each text unit, in the order of the retriever."""
    of_unit = dict(index.text_chunks.select("text_unit_id", "document_id").iter_rows())
    return tuple(of_unit[unit] for unit in retriever_of(index).unit_ids)


class PassageVectors:
    """Snapshots with a vector for each passage, one an embedder, each made when it is first asked for.

    Args:
        index: a graph told in words.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self._index = index
        self._made: dict[str, IndexSnapshot] = {}

    def by(self, embedder: Embedder) -> IndexSnapshot:
        """Return the snapshot with vectors by an embedder, which embeds all passages at the first call."""
        if embedder.name not in self._made:
            units = self._index.text_chunks
            vectors = embed_rows(units["text_unit_id"], units["text"], embedder, named="passages")
            self._made[embedder.name] = replace(self._index, unit_vectors=vectors)
        return self._made[embedder.name]
