"""Chance, to compare with."""

from hashlib import blake2b

import numpy as np

from graphrag_dagster.kernel.common.stable_scores import Scores
from graphrag_dagster.kernel.graph.verbalised import Verbalised


class ShuffledScorer:
    """A number from 0 to 1 for question and text, the same in whatever order and company they come.

    Args:
        seed: other seeds give other numbers.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    @property
    def name(self) -> str:
        """``random/<seed>``."""
        return f"random/{self._seed}"

    def scores(self, question: str, candidates: Verbalised) -> Scores:
        """Return a number for each candidate [n]."""
        begun = blake2b(f"{self._seed}\n{question}\n".encode("utf-8", "surrogatepass"), digest_size=6)
        found = np.zeros(len(candidates))
        for place, text in enumerate(candidates.texts):
            drawn = begun.copy()
            drawn.update(text.encode("utf-8", "surrogatepass"))
            found[place] = int.from_bytes(drawn.digest(), "big") / 2**48
        return found

    def tokens(self, candidates: Verbalised) -> int:  # noqa: ARG002 - no model reads them.
        """Return 0."""
        return 0
