"""Questions with the paths that lead to their gold answers, and how they are split."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from graphrag_dagster.kernel.graph.arrays import PathStore
from graphrag_dagster.kernel.graph.verbalised import Verbalised, Vocabulary, first_by_score
from graphrag_dagster.systems.lego.instances.found import PathQuery, Paths
from graphrag_dagster.systems.lego.instances.options import PathOptions
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.llm.asking import SelectionPrompts, numbered, shown_lines
from graphrag_dagster.systems.lego.retrieval.shortest import ShortestPaths
from graphrag_dagster.systems.lego.scoring.shuffled import ShuffledScorer
from graphrag_dagster.systems.lego.scoring.worded import in_words
from graphrag_dagster.systems.lego.studies.metrics.answers import identity
from graphrag_dagster.systems.lego.tasks import Level

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


@dataclass(frozen=True, slots=True)
class Example:
    """Candidates of a question, as the selector is shown them.

    Attributes:
        level: what they are.
        question: the question.
        candidates: best first, those that are shown.
        gold: places of those that it should name, best first.
    """

    level: Level
    question: str
    candidates: Verbalised
    gold: Sequence[int]

    @classmethod
    def of_paths(cls, question: str, candidates: Verbalised, answers: Collection[str]) -> "Example":
        """Return the example of whole paths, of which those that end at a gold answer should be named."""
        gold = np.flatnonzero(leads_to(candidates, answers)).tolist()
        return cls("path", question, candidates, gold)


def training_lines(prompts: SelectionPrompts, examples: Iterable[Example]) -> Iterator[str]:
    """Yield a line of JSON for each example with candidates: ``messages`` with roles and contents.

    The last is the reply: the gold candidates with their numbers, ``NONE`` where there is none. Such files
    are read by what fine-tunes chat models, with LoRA or at an endpoint.
    """
    for one in examples:
        if not len(one.candidates):
            continue
        shown = shown_lines(one.candidates)
        lines = numbered(shown)
        reply = "\n".join(lines[place] for place in one.gold) or "NONE"
        asked = prompts.messages(one.level, one.question, shown)
        told = [{"role": message.role, "content": message.content} for message in asked]
        yield json.dumps({"messages": [*told, {"role": "assistant", "content": reply}]}, ensure_ascii=False)
