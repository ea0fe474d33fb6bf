"""Weights of the features of the next hop, fitted by ``benchmarks/fit_retrieval.py``."""

from collections.abc import Mapping
from types import MappingProxyType

DIRECT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "words": -0.72,
        "meaning": 1.29,
        "home": 1.05,
        "mention": 0.03,
        "part": 0.52,
        "sentence": 1.49,
        "new_home": 1.46,
        "new_mention": 1.38,
        "new_words": 4.15,
        "other_words": -0.47,
        "sure_home": 0.22,
        "later_words": -0.06,
        "later_meaning": -0.00,
        "later_home": 1.67,
        "alike": 2.71,
        "best_home": 0.71,
        "new_sentence": 5.09,
        "clause": 2.39,
    }
)
PATH_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "rare": 0.79,
        "few": -0.51,
        "fewer": 2.58,
        "about": -0.59,
        "stands": 0.76,
        "context": 1.27,
        "related": 0.93,
        "rest": -1.48,
        "rest_words": 1.93,
        "fewer_about": 4.42,
        "fewer_context": 1.67,
        "about_context": 0.90,
        "about_rest": 1.67,
        "about_rest_words": 2.39,
        "rare_about": 1.80,
        "rare_stands": 2.45,
        "rare_rest_words": -0.16,
        "source": -3.07,
    }
)
