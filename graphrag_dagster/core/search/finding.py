"""What a question is about: text units, entities and reports."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.language.routing import Routed
from graphrag_dagster.core.ranks import Scores, cosines
from graphrag_dagster.core.search.asked import Asked, retriever_of
from graphrag_dagster.core.search.context.answer import Answer, Call
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.passage_vectors import PassageVectors
from graphrag_dagster.core.search.reranking.port import Sought
from graphrag_dagster.core.search.reranking.reordering import Reranked, reordered
from graphrag_dagster.core.search.retrieval.linked import LinkedName
from graphrag_dagster.core.search.retrieval.ranking import Mode, Ranking, first_places
from graphrag_dagster.core.search.retrieval.retriever import LocalRanking
from graphrag_dagster.errors import QuestionError

_MOST_FOUND = 20


def with_history(asked: Asked, question: str | None = None) -> str:
    """Return what to look for: a question of a conversation may name what it is about only in an earlier one.

    Args:
        asked: with the conversation.
        question: default: the one that is asked.
    """
    own = asked.question if question is None else question
    return "\n".join([*(turn.question for turn in asked.history[-2:]), own])


@dataclass(frozen=True, slots=True)
class LookedFor:
    """A text, and how text units are found by it; see :func:`looked_for`.

    Attributes:
        asked: over an index that has what is needed for it.
        text: what to look for.
        vector: its unit vector [d]; None: by words alone.
        mode: how.
        note: why by words alone, though that was not wanted; None where it is not so.
    """

    asked: Asked
    text: str
    vector: NDArray[np.float32] | None
    mode: Mode
    note: str | None

    def units(self, *, favoured: bool = True) -> Ranking:
        """Return text units, best first.

        Args:
            favoured: documents that the question favours count more.
        """
        prior = prior_of(self.asked) if favoured else None
        return self.asked.retriever.units(self.text, self.vector, self.mode, prior=prior)

    def local(self, entities: int) -> LocalRanking:
        """Return text units by following the text over the graph, and at most so many entities."""
        return self.asked.retriever.local(
            self.text, self.vector, self.mode, most_entities=entities, prior=prior_of(self.asked)
        )

    def spread(self) -> Ranking:
        """Return text units by a walk over names and text units."""
        return self.asked.retriever.spread(self.text, self.vector, self.mode, prior=prior_of(self.asked))


def looked_for(asked: Asked, text: str, mode: Mode | None = None) -> LookedFor:
    """Return a text with its vector, as far as vectors of the index can be used.

    Args:
        asked: the question.
        text: what to look for.
        mode: how; default: as the options say.

    Raises:
        QuestionError: vectors alone are wanted, and those of the text units cannot be used.
    """
    wanted = asked.options.retrieval if mode is None else mode
    asked = _with_passage_vectors(asked, wanted)
    vector, used, note = _question_vector(asked, text, wanted)
    return LookedFor(asked, text, vector, used, note)


def in_new_order(
    asked: Asked, question: str, unit_ids: Sequence[str], *, followed: bool
) -> tuple[Sequence[str], list[Reranked]]:
    """Return text units, the first of them as the reranker orders them, and what it did; none: as they are.

    Args:
        asked: with who reranks, and how many.
        question: what they were found by.
        unit_ids: best first.
        followed: whether that was by following the question over the graph.

    Raises:
        EngineError: the reranker cannot be used.
    """
    reranker, first = asked.engines.reranker(), asked.options.rerank_first
    sought = Sought(question, asked.retriever.length, followed)
    if reranker is None or not unit_ids or not reranker.counts(sought):
        return unit_ids, []
    made, done = reordered(unit_ids, asked.retriever.text, sought, reranker, first)
    return made, [done]


def prior_of(asked: Asked) -> Scores | None:
    """Return the weight of each text unit of the retriever by what the question favours; None for none."""
    favour = asked.favour
    return favour.prior(asked.index.once(_documents_of_units)) if favour.clues else None


def telling_how(asked: Asked, made: Answer, note: str | None, moves: Iterable[Reranked] = ()) -> Answer:
    """Return an answer that tells how its text units were found: what the question favoured, what moved."""
    favour = asked.favour
    why = "; ".join(filter(None, (note, favour.told)))
    return replace(made, why=why or None, favoured=favour.all, reranked=tuple(moves))


def telling_route(made: Answer, routed: Routed | None, none: str) -> Answer:
    """Return an answer that tells what was asked of a model for a choice, and what that cost.

    Args:
        made: the answer.
        routed: what the model said; None where it was not asked.
        none: what stands for a choice where it made none.
    """
    if routed is None:
        return made
    problem = f"route: {routed.problem}" if routed.problem else None
    call = Call("route", routed.way or none, used=routed.way is not None, problem=problem)
    return replace(
        made,
        trace=(call, *made.trace),
        usage=routed.usage + made.usage,
        problems=(*filter(None, (problem,)), *made.problems),
    )


def favouring_none(asked: Asked, made: Answer, reads: str) -> Answer:
    """Return an answer that tells which documents the question named to no effect: ``reads`` says why."""
    why = "; ".join(filter(None, (made.why, asked.favour.told_as(f"named, but not favoured, since {reads}"))))
    return replace(made, why=why or None)


def linked(asked: Asked) -> tuple[LinkedName, ...]:
    """Return the names in the question, and in those before it, and what each was taken for."""
    return asked.retriever.linked(with_history(asked))


def nearest_reports(asked: Asked) -> list[str]:
    """Return ids of reports, the nearest to the question first; without vectors those of the best rating."""
    vectors = asked.index.report_vectors
    if vectors is None or vectors["embedder"].unique().to_list() != [asked.engines.embedder().name]:
        ordered = asked.index.reports.sort(["rating", "report_id"], descending=[True, False])
        return ordered["report_id"].to_list()[:_MOST_FOUND]
    (vector,) = asked.engines.embedder().embed_queries([asked.question])
    near = cosines(vectors["vector"].to_numpy(), vector)
    return [str(vectors["report_id"][int(place)]) for place in first_places(near, _MOST_FOUND)]


def _with_passage_vectors(asked: Asked, mode: Mode) -> Asked:
    """Return the question over an index that has what vectors alone are to find, as far as it can be made.

    A graph told in words has no stored vectors; its passages are embedded once an opened index, and only
    where nothing but vectors is wanted, since that takes a call for each at an endpoint.

    Args:
        asked: the question.
        mode: what text units are found by.
    """
    if mode != "vector" or asked.index.sentences is None:
        return asked
    return replace(asked, index=asked.index.once(PassageVectors).by(asked.engines.embedder()))


def _question_vector(
    asked: Asked, sought: str, mode: Mode
) -> tuple[NDArray[np.float32] | None, Mode, str | None]:
    """Return the vector of a text, how to look for it, and a note where that is by words alone.

    Raises:
        QuestionError: vectors alone are wanted, and those of the text units cannot be used.
    """
    if mode == "lexical":
        return None, mode, None
    vectors = asked.index.unit_vectors
    embedder = asked.engines.embedder()
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
