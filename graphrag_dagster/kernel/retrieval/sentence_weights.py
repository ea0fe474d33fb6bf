"""Weights of answer features, fitted by ``benchmarks/fit_sentences.py``."""

from collections.abc import Mapping
from types import MappingProxyType

#: For a sentence of a context, with words matched by stem or meaning.
ANSWER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "around": 7.183,
        "cover": 4.747,
        "row": 3.057,
        "several": 0.295,
        "pairs": 1.417,
        "length": -0.076,
        "reply": 4.137,
        "self": 1.514,
        "cosine": 2.400,
        "row_cosine": 4.518,
        "fits": 2.155,
        "reads": 0.212,
    }
)
#: For a sentence of a ranked text unit, with words matched by stem.
UNIT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "around": 5.744,
        "cover": 4.185,
        "row": 5.718,
        "several": 1.359,
        "pairs": 1.576,
        "length": -0.105,
        "reply": 4.347,
        "self": 1.965,
    }
)
