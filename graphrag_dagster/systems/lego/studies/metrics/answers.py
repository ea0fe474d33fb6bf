"""How good the text of an answer is (spec_lego §9).

Whether a text holds an answer, by the normaliser of RoG (spec_lego §9).
"""

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.graph.arrays import PathStore
from graphrag_dagster.kernel.graph.verbalised import NO_PIECE, Verbalised
from graphrag_dagster.systems.lego.tasks import GraphAnswer

#: By whole words, or anywhere, even within a word, as the paper's code does.
Matching = Literal["default", "paper"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def normalised(text: str) -> str:
    """Return a text in lower case without ASCII punctuation, the words a, an and the, and surplus blanks.

    >>> normalised("The Beatles!"), normalised("$"), normalised("a -> starred_actors -> Dr. No")
    ('beatles', '', 'starredactors dr no')
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def identity(text: str) -> str:
    """Return by what texts are the same answer: normalised, or as they are where nothing is left then."""
    return normalised(text) or " ".join(text.casefold().split())


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
    def _sought(self) -> tuple[str, ...]:
        bare = [normalised(text) for text in self.texts]
        return tuple(bare if self.matching == "paper" else [one and f" {one} " for one in bare])

    @property
    def unmatchable(self) -> int:
        """How many normalise to nothing: no text can be said to hold these."""
        return sum(not one for one in self._sought)

    def within(self, text: str) -> set[int]:
        """Return the places of the answers that a normalised text holds."""
        padded = f" {text} "
        return {place for place, one in enumerate(self._sought) if one and one in padded}


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

    def texts(self, candidates: Verbalised) -> list[str]:
        """Return paths as normalised texts."""
        known = self._pieces
        for place in np.unique(candidates.rows).tolist():
            if place not in known:
                known[place] = normalised(self._vocabulary.piece(place))
        return [" ".join(filter(None, map(known.__getitem__, row))) for row in candidates.rows.tolist()]


#: What is behind the name of a measure of an answer that no model gave.
LEX = "_lex"
ANSWER_MEASURES = ("hits_at_1", "answer_f1", "list_f1")
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")


def harmonic(precision: float, recall: float) -> float:
    """Return F1; 0 where both are 0."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def answer_scores(answer: GraphAnswer, gold: Answers) -> dict[str, float | None]:
    """Return the measures of an answer; those that are not for who gave it, and all without gold, are None.

    hits_at_1: 1 where the text holds any gold answer. answer_f1: the text is one prediction, whose precision
    is that, and whose recall the share of gold answers that it holds. list_f1: each item of it is a
    prediction. Where no model answered they end in :data:`LEX`.
    """
    own, other = ("", LEX) if asks_model(answer.engine) else (LEX, "")
    found: dict[str, float | None] = dict.fromkeys(f"{name}{other}" for name in ANSWER_MEASURES)
    measured = _measured(answer, gold) if len(gold) else dict.fromkeys(ANSWER_MEASURES)
    return found | {f"{name}{own}": value for name, value in measured.items()}


def items(text: str, gold: Sequence[str] = ()) -> list[str]:
    """Return the lines of a reply without bullets, split at commas unless a whole line is a gold answer."""
    whole = {identity(one) for one in gold}
    found: list[str] = []
    for line in (_BULLET.sub("", line) for line in text.splitlines()):
        found += [line] if identity(line) in whole else line.split(",")
    return [item.strip() for item in found if item.strip()]


def _measured(answer: GraphAnswer, gold: Answers) -> Mapping[str, float]:
    said = "" if answer.named == () else answer.text
    held = gold.within(normalised(said))
    listed = items(said, gold.texts) if answer.named is None else answer.named
    of_items = [gold.within(normalised(item)) for item in listed]
    right = sum(map(bool, of_items)) / len(of_items) if of_items else 0.0
    return {
        "hits_at_1": float(bool(held)),
        "answer_f1": harmonic(float(bool(held)), len(held) / len(gold)),
        "list_f1": harmonic(right, len(set().union(*of_items)) / len(gold)),
    }
