"""Vectors of a known cosine to the question, which is the first axis."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

EMBEDDER = "chosen"


def at_cosine(cosine: float, spin: int = 1) -> list[float]:
    """A unit vector with a cosine to the question, which is the first axis."""
    vector = [0.0] * 8
    vector[0] = cosine
    vector[spin] = sqrt(max(1 - cosine * cosine, 0.0))
    return vector


class FirstAxis:
    """Embeds every text as the first axis, a blank one as zeros."""

    at_once = 100

    def __init__(self, name: str = EMBEDDER) -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array(
            [at_cosine(1.0 if one.strip() else 0.0) if one.strip() else [0.0] * 8 for one in texts],
            np.float32,
        )
