"""Which documents a question favours, because it names them, their period, folder or place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["document", "period", "folder", "place"]

#: By how much passages are favoured of what is clearly named, and of what is likely meant.
NAMED, LIKELY = 10.0, 3.0


@dataclass(frozen=True, slots=True)
class Clue:
    """What a question names, and the documents that are, or are of, that."""

    kind: Kind
    words: str
    document_ids: frozenset[str]
    weight: float

    @property
    def told(self) -> str:
        """What is favoured, in words."""
        return {
            "document": f"the document {self.words}",
            "period": f"documents of {self.words}",
            "folder": f"documents of the folder {self.words}",
            "place": f"documents of {self.words}",
        }[self.kind]


@dataclass(frozen=True, slots=True)
class Favoured:
    """A clue as an answer tells it: how many documents it favours, and by how much."""

    kind: Kind
    words: str
    documents: int
    weight: float


@dataclass(frozen=True, slots=True)
class Favour:
    """What a question favours among so many documents; ``notes`` say what it names that there is not."""

    clues: tuple[Clue, ...] = ()
    notes: tuple[str, ...] = ()
    documents: int = 0

    @property
    def names_documents(self) -> bool:
        """Whether the question clearly names documents, or their period."""
        return any(clue.weight >= NAMED for clue in self.clues)

    @property
    def all(self) -> tuple[Favoured, ...]:
        """The clues, as an answer tells them."""
        return tuple(
            Favoured(clue.kind, clue.words, len(clue.document_ids), clue.weight) for clue in self.clues
        )

    @property
    def told(self) -> str:
        """All of it on one line; blank where there is nothing to say."""
        return self.told_as("favoured")

    def told_as(self, how: str) -> str:
        """Return all of it on one line; ``how`` says what becomes of it."""
        shown = ", ".join(
            f"{clue.told} ({len(clue.document_ids):,} of {self.documents:,})" for clue in self.clues
        )
        return "; ".join(filter(None, (shown and f"{how}: {shown}", *self.notes)))

    def weights(self) -> Mapping[str, float]:
        """Return the weight of each favoured document: of several clues of a kind the best counts, those of
        different kinds multiply.
        """
        best: dict[tuple[str, str], float] = {}
        for clue in self.clues:
            for one in clue.document_ids:
                best[one, clue.kind] = max(best.get((one, clue.kind), 1.0), clue.weight)
        found: dict[str, float] = {}
        for (one, _), weight in sorted(best.items()):
            found[one] = found.get(one, 1.0) * weight
        return found

    def prior(self, document_ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the weight of each text unit, by the document of each."""
        weights = self.weights()
        return np.array([weights.get(one, 1.0) for one in document_ids], dtype=np.float64)


def distinctive(clues: Sequence[Clue], documents: int) -> tuple[Clue, ...]:
    """Return the clues that tell documents apart: those that mean not all, and if not for sure, at most half.

    Clues of the same kind and documents count once, and one gives way to another of its kind that means some
    of its documents as surely.
    """
    kept: dict[tuple[Kind, frozenset[str]], Clue] = {}
    for clue in clues:
        most = documents - 1 if clue.weight >= NAMED else documents // 2
        key = (clue.kind, clue.document_ids)
        if 0 < len(clue.document_ids) <= most and (key not in kept or kept[key].weight < clue.weight):
            kept[key] = clue
    return tuple(
        clue
        for clue in kept.values()
        if not any(
            other.kind == clue.kind and other.weight >= clue.weight and other.document_ids < clue.document_ids
            for other in kept.values()
        )
    )
