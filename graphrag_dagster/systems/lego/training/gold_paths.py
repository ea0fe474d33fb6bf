"""Training questions, and the paths that lead to their gold answers."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import polars as pl

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.graph.graph_labels import VerbalizedRows, Vocabulary, first_by_score
from graphrag_dagster.systems.lego.llm.path_selection import SelectionPrompts, candidate_lines, numbered_lines
from graphrag_dagster.systems.lego.retrieval.path_enumeration import ShortestPaths
from graphrag_dagster.systems.lego.retrieval.path_scorers import ShuffledScorer, in_words
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Paths, Subgraph
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies.answer_metrics import identity
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
            for topic, text in zip(_beginnings(distinct), self._texts(distinct.verbalised), strict=True)
        ]

    def _texts(self, paths: VerbalizedRows) -> list[str]:
        return VerbalizedRows(self._read, paths.rows).texts


def leads_to(paths: VerbalizedRows, answers: Collection[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which paths end at an answer: labels count as the same that are normalised alike [n]."""
    wanted = set(map(identity, answers))
    lengths = (paths.rows >= 0).sum(axis=1)
    ends = paths.rows[np.arange(len(paths)), lengths - 1] if len(paths) else np.zeros(0, dtype=np.int32)
    known = {end: identity(paths.vocabulary.piece(end)) in wanted for end in np.unique(ends).tolist()}
    return np.array([known[end] for end in ends.tolist()], dtype=np.bool_)


def split_paths(
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
        (tried if is_held_out(one.topic, share, seed) else learnt).append(one)
    return learnt, tried


def is_held_out(topic: str, share: float = _SHARE, seed: int = 0) -> bool:
    """Return whether pairs of a topic are tried, and not learnt from; see :func:`split_paths`."""
    digest = blake2b(f"{seed}\n{topic}".encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest, "big") < share * 2**48


def _beginnings(paths: Paths) -> list[str]:
    return [paths.store.entity_ids[int(node)] for node in paths.nodes[:, 0]]


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """Candidates of a question, as the selector is shown them.

    Attributes:
        level: what they are.
        question: the question.
        candidates: best first, those that are shown.
        gold: places of those that it should name, best first.
    """

    level: Level
    question: str
    candidates: VerbalizedRows
    gold: Sequence[int]

    @classmethod
    def of_paths(
        cls, question: str, candidates: VerbalizedRows, answers: Collection[str]
    ) -> "TrainingExample":
        """Return the example of whole paths, of which those that end at a gold answer should be named."""
        gold = np.flatnonzero(leads_to(candidates, answers)).tolist()
        return cls("path", question, candidates, gold)


def training_lines(prompts: SelectionPrompts, examples: Iterable[TrainingExample]) -> Iterator[str]:
    """Yield a line of JSON for each example with candidates: ``messages`` with roles and contents.

    The last is the reply: the gold candidates with their numbers, ``NONE`` where there is none. Such files
    are read by what fine-tunes chat models, with LoRA or at an endpoint.
    """
    for one in examples:
        if not len(one.candidates):
            continue
        shown = candidate_lines(one.candidates)
        lines = numbered_lines(shown)
        reply = "\n".join(lines[place] for place in one.gold) or "NONE"
        asked = prompts.messages(one.level, one.question, shown)
        told = [{"role": message.role, "content": message.content} for message in asked]
        yield json.dumps({"messages": [*told, {"role": "assistant", "content": reply}]}, ensure_ascii=False)


#: Questions that are drawn, unless more or fewer are wanted.
MOST_QUESTIONS = 1000


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question that is learnt from or tried.

    Attributes:
        query: the question.
        answers: labels of its gold answers.
        tried: it begins from an entity that is held out.
        measured: the job ``paths`` asks it, too.
    """

    query: PathQuery
    answers: tuple[str, ...]
    tried: bool
    measured: bool


@dataclass(frozen=True, slots=True)
class DrawnQuestions:
    """Questions that were drawn.

    Attributes:
        files: how many there are in the files.
        questions: those drawn, in the order of the files.
    """

    files: int
    questions: tuple[TrainingQuestion, ...]

    @property
    def learnt(self) -> list[TrainingQuestion]:
        """Those that are learnt from."""
        return [one for one in self.questions if not one.tried]

    @property
    def measured(self) -> int:
        """How many of those that are learnt from are measured."""
        return sum(one.measured for one in self.learnt)


def drawn_questions(
    linked: pl.DataFrame, store: PathStore, settings: PathSettings, corpus: str, most: int
) -> DrawnQuestions:
    """Return questions with answers and seeds, drawn by ``paths.seed``; each text once.

    Where ``paths.sample`` draws some for the job ``paths``, these are left out.

    Args:
        linked: rows of ``paths.questions``.
        store: the graph that they are linked with.
        settings: sample and seed.
        corpus: its name, for errors.
        most: questions at most, for learning and trying together.

    Raises:
        SettingsError: no question has an answer, none has a seed too, or all are measured.
    """
    rows, seed = _usable_questions(linked, settings, corpus).iter_rows(named=True), settings.seed
    drawn = sorted(rows, key=lambda row: stable_id("path training", seed, row["question_id"]))[:most]
    places = {entity: place for place, entity in enumerate(store.entity_ids)}
    questions = (
        TrainingQuestion(
            PathQuery(row["question"], tuple(places[one] for one in row["seeds"])),
            tuple(row["answers"]),
            any(is_held_out(one, seed=seed) for one in row["seeds"]),
            row["sampled"],
        )
        for row in sorted(drawn, key=lambda row: int(row["position"]))
    )
    return DrawnQuestions(len(linked), tuple(questions))


def _usable_questions(linked: pl.DataFrame, settings: PathSettings, corpus: str) -> pl.DataFrame:
    whose = f"the {len(linked):,} questions of corpus {corpus!r}"
    answered = linked.filter(pl.col("answers").list.len() > 0)
    if answered.is_empty():
        raise SettingsError(f"none of {whose} has an answer; write answers to the files of paths.questions")
    able = answered.filter(pl.col("seeds").list.len() > 0)
    if able.is_empty():
        raise SettingsError(
            f"none of {whose} has an answer and an entity of the graph; write their entities to the files of "
            "paths.questions"
        )
    if settings.sample is not None:
        able = able.join(linked.filter("sampled"), on="question", how="anti", maintain_order="left")
        if able.is_empty():
            raise SettingsError(
                f"paths.sample draws all of {whose} that could be learnt from to be measured; make it less "
                f"than {settings.sample:,}, or name more files under paths.questions"
            )
    return able.sort("position").unique("question", keep="first", maintain_order=True)
