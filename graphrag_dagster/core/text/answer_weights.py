"""How much what speaks for a sentence counts: by ``benchmarks/fit_sentences.py``."""

from collections.abc import Mapping
from types import MappingProxyType

#: Of a sentence of a context, words by stem or meaning.
ANSWER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "around": 1.0,
        "cover": 1.0,
        "row": 1.0,
        "several": 1.0,
        "pairs": 0.0,
        "length": 0.0,
        "reply": 0.0,
        "self": 0.0,
        "cosine": 0.0,
        "row_cosine": 0.0,
        "fits": 0.0,
        "reads": 0.0,
    }
)
#: Of a sentence of a text unit that is ranked, words by stem.
UNIT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "around": 1.0,
        "cover": 1.0,
        "row": 1.0,
        "several": 1.0,
        "pairs": 0.0,
        "length": 0.0,
        "reply": 0.0,
        "self": 0.0,
    }
)
