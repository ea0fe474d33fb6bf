"""The port to what turns texts into vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def name(self) -> str:
        """Identifies everything that determines a vector: kind, model and version."""

    @property
    def at_once(self) -> int:
        """How many texts to give at a time to keep it busy."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array [len(texts), dimension] of L2-normalised float32 rows; a blank text gives zeros."""
