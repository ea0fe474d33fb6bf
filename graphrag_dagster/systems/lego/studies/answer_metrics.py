"""Measures of answers and subgraphs by gold answers, after RoG's normaliser."""

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import numpy as np

from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.graph.graph_labels import NO_PIECE, VerbalizedRows
from graphrag_dagster.systems.lego.search.reasoning_paths import Subgraph
from graphrag_dagster.systems.lego.tasks import PathAnswer

#: By whole words, or anywhere, even within a word, as the paper's code does.
Matching = Literal["default", "paper"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def normalise_answer(text: str) -> str:
    """Return a text in lower case without ASCII punctuation, the words a, an and the, and surplus blanks.

    >>> [normalise_answer(text) for text in ("The Beatles!", "$", "a -> starred_actors -> Dr. No")]
    ['beatles', '', 'starredactors dr no']
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def identity(text: str) -> str:
    """Return by what texts are the same answer: normalised, or as they are where nothing is left then."""
    return normalise_answer(text) or " ".join(text.casefold().split())


@dataclass(frozen=True)
class Answers:
    """The different gold answers of a question.

    Attributes:
        texts: one of each identity, in the order of these.
        matching: how they are found in texts.
    """

    texts: tuple[str, ...]
    matching: Matching = "default"

    @classmethod
    def of(cls, answers: Iterable[str], matching: Matching = "default") -> "Answers":
        """Return the different ones of some answers; blank ones are none."""
        first: dict[str, str] = {}
        for answer in sorted(answers):
            if key := identity(answer):
                first.setdefault(key, answer)
        return cls(tuple(first[key] for key in sorted(first)), matching)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def _normalised_gold(self) -> tuple[str, ...]:
        bare = [normalise_answer(text) for text in self.texts]
        return tuple(bare if self.matching == "paper" else [one and f" {one} " for one in bare])

    @property
    def unmatchable(self) -> int:
        """How many normalise to nothing: no text can be said to hold these."""
        return sum(not one for one in self._normalised_gold)

    def answers_in(self, text: str) -> set[int]:
        """Return the places of the answers that a normalised text holds."""
        padded = f" {text} "
        return {place for place, one in enumerate(self._normalised_gold) if one and one in padded}


class NormalisedLabels:
    """The pieces of a store normalised, made once for many questions; pieces when they are first read.

    Args:
        store: the graph.
    """

    def __init__(self, store: PathStore) -> None:
        self.store = store
        self._vocabulary = store.vocabulary
        self._pieces: dict[int, str] = {NO_PIECE: ""}

    @cached_property
    def _labels(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for place, label in enumerate(self.store.labels):
            found.setdefault(identity(label), []).append(place)
        return found

    def labels(self, answer: str) -> Sequence[int]:
        """Return the places of the labels that are the same as an answer."""
        return self._labels.get(identity(answer), ())

    def texts(self, candidates: VerbalizedRows) -> list[str]:
        """Return paths as normalised texts."""
        known = self._pieces
        for place in np.unique(candidates.rows).tolist():
            if place not in known:
                known[place] = normalise_answer(self._vocabulary.piece(place))
        return [" ".join(filter(None, map(known.__getitem__, row))) for row in candidates.rows.tolist()]


#: What is behind the name of a measure of an answer that no model gave.
LEX = "_lex"
ANSWER_MEASURES = ("hits_at_1", "answer_f1", "list_f1")
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")


def harmonic_mean(precision: float, recall: float) -> float:
    """Return F1; 0 where both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def answer_scores(answer: PathAnswer, gold: Answers) -> dict[str, float | None]:
    """Return the measures of an answer; those that are not for who gave it, and all without gold, are None.

    hits_at_1: 1 where the text holds any gold answer. answer_f1: the text is one prediction, whose precision
    is that, and whose recall the share of gold answers that it holds. list_f1: each item of it is a
    prediction. Where no model answered they end in :data:`LEX`.
    """
    own, other = ("", LEX) if asks_model(answer.engine) else (LEX, "")
    found: dict[str, float | None] = dict.fromkeys(f"{name}{other}" for name in ANSWER_MEASURES)
    measured = _set_measures(answer, gold) if len(gold) else dict.fromkeys(ANSWER_MEASURES)
    return found | {f"{name}{own}": value for name, value in measured.items()}


def answer_items(text: str, gold: Sequence[str] = ()) -> list[str]:
    """Return the lines of a reply without bullets, split at commas unless a whole line is a gold answer."""
    whole = {identity(one) for one in gold}
    found: list[str] = []
    for line in (_BULLET.sub("", line) for line in text.splitlines()):
        found += [line] if identity(line) in whole else line.split(",")
    return [item.strip() for item in found if item.strip()]


def _set_measures(answer: PathAnswer, gold: Answers) -> Mapping[str, float]:
    said = "" if answer.named == () else answer.text
    held = gold.answers_in(normalise_answer(said))
    listed = answer_items(said, gold.texts) if answer.named is None else answer.named
    of_items = [gold.answers_in(normalise_answer(item)) for item in listed]
    right = sum(map(bool, of_items)) / len(of_items) if of_items else 0.0
    return {
        "hits_at_1": float(bool(held)),
        "answer_f1": harmonic_mean(float(bool(held)), len(held) / len(gold)),
        "list_f1": harmonic_mean(right, len(set().union(*of_items)) / len(gold)),
    }


_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "hits_at_1": "Hits@1",
        "answer_f1": "F1",
        "list_f1": "list F1",
        "judge_at_1": "Judge@1",
        "judge_agreement": "Judge@1 = Hits@1",
        "subgraph_recall": "subgraph recall",
        "subgraph_f1": "subgraph F1",
        "subgraph_nodes": "nodes",
        "subgraph_edges": "edges",
        "wcc": "components",
        "answers": "gold answers",
        "unmatchable": "unmatchable answers",
        "paths": "paths",
    }
)
_PATH_PART: Mapping[str, str] = MappingProxyType(
    {"precision": "path precision", "recall": "path recall", "f1": "path F1", "hit": "path hit"}
)
_AT = re.compile(r"path_(\w+)_at_(\d+)")


def measure_label(name: str) -> str:
    """Return what a measure is called.

    >>> measure_label("hits_at_1_lex"), measure_label("path_f1_at_32"), measure_label("seconds_retrieval")
    ('Hits@1-lex', 'path F1 at 32', 'seconds retrieval')
    """
    if name.endswith(LEX):
        return f"{measure_label(name.removesuffix(LEX))}-lex"
    if name in _LABELS:
        return _LABELS[name]
    if found := _AT.fullmatch(name):
        return f"{_PATH_PART[found[1]]} at {found[2]}"
    return name.replace("_", " ")


SUBGRAPH_MEASURES = ("subgraph_recall", "subgraph_f1")


def subgraph_scores(subgraph: Subgraph, gold: Answers, labels: NormalisedLabels) -> dict[str, float | None]:
    """Return recall and F1 of the answers among the labels of its nodes; None without gold.

    Precision, which F1 is made of, is the share of the nodes that are answers: the paper has recall .96
    beside F1 .004.
    """
    if not len(gold):
        return dict.fromkeys(SUBGRAPH_MEASURES)
    there = set(subgraph.store.label_of[subgraph.nodes].tolist())
    found = sum(not there.isdisjoint(labels.labels(answer)) for answer in gold.texts)
    recall = found / len(gold)
    precision = found / len(subgraph.nodes) if len(subgraph.nodes) else 0.0
    return {"subgraph_recall": recall, "subgraph_f1": harmonic_mean(precision, recall)}
