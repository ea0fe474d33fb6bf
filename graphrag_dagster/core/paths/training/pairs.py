"""Questions with the paths that lead to their gold answers, and how they are split."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from graphrag_dagster.core.paths.found import Paths
from graphrag_dagster.core.paths.metrics.normalising import identity
from graphrag_dagster.core.paths.options import PathOptions
from graphrag_dagster.core.paths.query import PathQuery
from graphrag_dagster.core.paths.retrieval.shortest import ShortestPaths
from graphrag_dagster.core.paths.scoring.shuffled import ShuffledScorer
from graphrag_dagster.core.paths.scoring.worded import in_words
from graphrag_dagster.core.paths.store import PathStore
from graphrag_dagster.core.paths.subgraph import Subgraph
from graphrag_dagster.core.text.verbalised import Verbalised, Vocabulary, first_by_score

#: Paths of a question that are learnt from at most, the shortest.
MOST_PATHS = 8
#: Paths that lead elsewhere, of a question.
OTHERS = 4
_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class GoldPath:
    """A path that answers a question.

    Attributes:
        question: the question.
        topic: id of the entity that it begins from.
        path: as text, as scorers read it.
        others: paths from the same seeds that lead elsewhere: what it has to be told from.
    """

    question: str
    topic: str
    path: str
    others: tuple[str, ...] = ()


class GoldPaths:
    """Finds the shortest paths from seeds to gold answers; the pairs of question and path to learn from.

    Args:
        options: ``direction``, ``max_hop``, ``skip_ids``, ``ties`` and ``relation_words``.
        store: the graph.
        most: paths of a question at most.
        others: drawn of those that lead elsewhere, for each question.
    """

    def __init__(
        self, options: PathOptions, store: PathStore, most: int = MOST_PATHS, others: int = OTHERS
    ) -> None:
        self._shortest = ShortestPaths(options, store)
        self._most, self._others = most, others
        self._chance = ShuffledScorer(options.seed)
        relations = store.relations
        self._read = Vocabulary(
            store.labels, list(map(in_words, relations)) if options.relation_words else relations
        )

    def of(self, query: PathQuery, answers: Collection[str], subgraph: Subgraph) -> list[GoldPath]:
        """Return the pairs of a question, short paths first; none where no answer is reached.

        Args:
            query: the question.
            answers: labels of its gold answers.
            subgraph: in which paths are looked for.
        """
        paths = self._shortest.retrieve(query, subgraph).paths
        right = leads_to(paths.verbalised, answers)
        found = paths.at(np.flatnonzero(right))
        distinct = found.at(found.verbalised.distinct()[: self._most])
        if not len(distinct):
            return []
        wrong = paths.verbalised.at(np.flatnonzero(~right))
        wrong = wrong.at(wrong.distinct())
        drawn = first_by_score(self._chance.scores(query.question, wrong), wrong, self._others)
        others = tuple(self._texts(wrong.at(drawn)))
        return [
            GoldPath(query.question, topic, text, others)
            for topic, text in zip(_begins(distinct), self._texts(distinct.verbalised), strict=True)
        ]

    def _texts(self, paths: Verbalised) -> list[str]:
        return Verbalised(self._read, paths.rows).texts


def leads_to(paths: Verbalised, answers: Collection[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which paths end at an answer: labels count as the same that are normalised alike [n]."""
    wanted = set(map(identity, answers))
    lengths = (paths.rows >= 0).sum(axis=1)
    ends = paths.rows[np.arange(len(paths)), lengths - 1] if len(paths) else np.zeros(0, dtype=np.int32)
    known = {end: identity(paths.vocabulary.piece(end)) in wanted for end in np.unique(ends).tolist()}
    return np.array([known[end] for end in ends.tolist()], dtype=np.bool_)


def split(
    pairs: Sequence[GoldPath], share: float = _SHARE, seed: int = 0
) -> tuple[list[GoldPath], list[GoldPath]]:
    """Return the pairs to learn from and those to try it on; no topic is in both.

    Args:
        pairs: in any order, which both keep.
        share: of the topics that are tried, about; each is drawn for itself, whatever the others.
        seed: of the draw.
    """
    learnt: list[GoldPath] = []
    tried: list[GoldPath] = []
    for one in pairs:
        (tried if held_out(one.topic, share, seed) else learnt).append(one)
    return learnt, tried


def held_out(topic: str, share: float = _SHARE, seed: int = 0) -> bool:
    """Return whether pairs of a topic are tried, and not learnt from; see :func:`split`."""
    digest = blake2b(f"{seed}\n{topic}".encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest, "big") < share * 2**48


def _begins(paths: Paths) -> list[str]:
    return [paths.store.entity_ids[int(node)] for node in paths.nodes[:, 0]]
