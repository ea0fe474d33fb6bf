"""Questions by how much of the graph they need: simple or complex, and how well linked their seeds are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.arrays import Direction, PathStore
from graphrag_dagster.systems.lego.instances.found import PathQuery

Density = Literal["dense", "medium", "sparse"]
DENSITIES: tuple[Density, ...] = ("dense", "medium", "sparse")

#: More than one thing is asked for.
_CONJUNCTION = re.compile(r"\b(?:and|or|both|either|as well as|along with|but also)\b")
#: Something is to be compared; short words that end alike are none.
_SUPERLATIVE = re.compile(
    r"\b(?:most|least|best|worst|(?:first|last)(?= \w)"
    r"|(?!(?:west|guest|forest|interest|request|harvest|honest|modest|protest|contest|invest|suggest)\b)"
    r"\w{3,}est)\b"
)
#: A question within the question; the word that a question begins with is none.
_RELATIVE = re.compile(r"(?<=\w )(?:that|which|who|whom|whose|where|when)\b")


@dataclass(frozen=True, slots=True)
class QuestionClass:
    """Questions alike.

    Attributes:
        is_complex: more than one thing is asked for, or a thing by way of another.
        density: how many edges the seeds have beside the other nodes of the graph.
    """

    is_complex: bool
    density: Density

    @property
    def name(self) -> str:
        """As ``complex, dense``."""
        return f"{'complex' if self.is_complex else 'simple'}, {self.density}"


CLASSES = tuple(QuestionClass(*one) for one in product((False, True), DENSITIES))


class Classifier:
    """Says of questions to a graph of which class they are.

    Args:
        store: the graph.
        direction: in which edges are followed.
    """

    def __init__(self, store: PathStore, direction: Direction = "auto") -> None:
        self._store = store
        self._degrees = store.degrees(store.followed(direction))
        self._quartiles = quartiles(self._degrees)

    def of(self, query: PathQuery) -> QuestionClass:
        """Return the class of a question."""
        labels = [self._store.label(node) for node in query.seeds]
        return QuestionClass(
            is_complex(query.question, labels),
            density(self._degrees[list(query.seeds)], self._quartiles),
        )


def is_complex(question: str, seeds: Sequence[str]) -> bool:
    """Whether an English question asks for more than one thing, for a comparison, or by way of another.

    Args:
        question: its text.
        seeds: labels of what it names: their words do not count, and two or more make it complex.
    """
    if len(seeds) > 1:
        return True
    text = question.casefold()
    for label in seeds:
        text = text.replace(label.casefold(), "it")
    bare = " ".join(re.sub(r"[^\w\s]", " ", text).split())
    return any(rule.search(bare) for rule in (_CONJUNCTION, _SUPERLATIVE, _RELATIVE))


def quartiles(degrees: NDArray[np.integer]) -> tuple[float, float]:
    """Return the first and the third quartile of numbers of edges; of none: 0."""
    if not len(degrees):
        return 0.0, 0.0
    low, high = np.quantile(degrees, (0.25, 0.75))
    return float(low), float(high)


def density(degrees: NDArray[np.integer], borders: tuple[float, float]) -> Density:
    """Return how well linked seeds are: their mean number of edges beside the quartiles of the graph.

    Args:
        degrees: of the seeds [n]; without any: medium.
        borders: the quartiles.
    """
    if not len(degrees):
        return "medium"
    mean = float(degrees.mean())
    return "dense" if mean > borders[1] else "sparse" if mean < borders[0] else "medium"
