"""What nodes are compared by."""

from dataclasses import dataclass
from typing import Literal

Embedding = Literal["text", "node2vec", "spectral", "concat", "mean"]
Structure = Literal["node2vec", "spectral"]


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    """What nodes are compared by."""

    embedding: Embedding = "text"
    structure: Structure = "spectral"
    text_weight: float = 0.7
