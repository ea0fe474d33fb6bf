"""Weights of the features of two names, fitted by ``benchmarks/fit_resolution.py``."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: Log-odds of a pair of candidates of which nothing is known.
START: Final = -1.92
#: Log-odds that each feature adds.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "same_key": 6.00,
        "same_letters": 4.50,
        "other_order": 3.50,
        "without_title": 2.50,
        "introduced": 1.30,
        "country_letters": 1.50,
        "same_words": 2.29,
        "spelling": 1.32,
        "sounds": 1.22,
        "country": 0.76,
        "people": 0.39,
        "inflected": 1.26,
        "given": 1.44,
        "acronym": 2.81,
        "loose_acronym": -1.32,
        "begins": -0.51,
        "ends": -0.13,
        "inside": -0.84,
        "family_alone": 0.40,
        "given_alone": 0.01,
        "without_middle": -0.39,
        "middle_initial": 2.60,
        "only": 0.06,
        "only_person": 1.50,
        "only_letters": -0.45,
        "part_of_place": -0.50,
        "part_of_organisation": 0.33,
        "kept": 0.39,
        "after": 1.65,
        "defined": 2.22,
        "bracketed": 3.14,
        "bracketed_place": 2.07,
        "called": 2.72,
        "types_differ": -2.84,
        "together": -0.04,
    }
)
#: From what probability on two names of a document are one, and two names of a corpus.
MERGE_WITHIN: Final = 0.8
MERGE_ACROSS: Final = 0.9
#: From what probability on it is asked whether they are.
ASK: Final = 0.4
