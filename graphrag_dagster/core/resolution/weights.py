"""How much each feature of two names counts: by ``benchmarks/fit_resolution.py``, fixed in a release."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: Log-odds of a pair of candidates of which nothing is known.
START: Final = -1.93
#: Log-odds that each feature adds.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "same_key": 6.00,
        "same_words": 2.06,
        "same_letters": 0.69,
        "other_order": 0.00,
        "spelling": 1.16,
        "sounds": 1.27,
        "country": 0.93,
        "people": 0.51,
        "inflected": 1.39,
        "given": 2.27,
        "acronym": 2.69,
        "loose_acronym": -1.31,
        "begins": -0.55,
        "ends": -0.18,
        "inside": -0.87,
        "family_alone": 0.53,
        "given_alone": -0.40,
        "without_middle": -0.60,
        "only": 0.05,
        "only_person": 1.29,
        "only_letters": -0.57,
        "part_of_place": -0.51,
        "part_of_organisation": 0.33,
        "kept": 0.52,
        "after": 1.67,
        "defined": 2.31,
        "bracketed": 3.19,
        "bracketed_place": 2.08,
        "called": 2.72,
        "types_differ": -2.81,
        "together": -0.06,
    }
)
#: From what probability on two names of a document are one, and two names of a corpus.
MERGE_WITHIN: Final = 0.8
MERGE_ACROSS: Final = 0.9
#: From what probability on it is asked whether they are.
ASK: Final = 0.3
