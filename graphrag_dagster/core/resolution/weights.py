"""How much each feature of two names counts: by ``benchmarks/fit_resolution.py``."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: Log-odds of a pair of candidates of which nothing is known.
START: Final = -1.94
#: Log-odds that each feature adds.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "same_key": 6.00,
        "same_letters": 4.50,
        "other_order": 3.50,
        "without_title": 2.50,
        "same_words": 2.32,
        "spelling": 1.21,
        "sounds": 1.26,
        "country": 0.94,
        "people": 0.48,
        "inflected": 1.36,
        "given": 1.52,
        "acronym": 2.70,
        "loose_acronym": -1.34,
        "begins": -0.54,
        "ends": -0.17,
        "inside": -0.86,
        "family_alone": 0.51,
        "given_alone": -0.41,
        "without_middle": -0.29,
        "only": 0.05,
        "only_person": 1.32,
        "only_letters": -0.57,
        "part_of_place": -0.51,
        "part_of_organisation": 0.32,
        "kept": 0.48,
        "after": 1.68,
        "defined": 2.33,
        "bracketed": 3.16,
        "bracketed_place": 2.08,
        "called": 2.75,
        "types_differ": -2.86,
        "together": -0.06,
    }
)
#: From what probability on two names of a document are one, and two names of a corpus.
MERGE_WITHIN: Final = 0.8
MERGE_ACROSS: Final = 0.9
#: From what probability on it is asked whether they are.
ASK: Final = 0.4
