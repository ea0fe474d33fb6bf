"""How much each thing that speaks for a text unit counts: fitted by ``benchmarks/fit_retrieval.py``."""

from collections.abc import Mapping
from types import MappingProxyType

DIRECT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "words": 0.87,
        "meaning": 1.23,
        "home": 0.71,
        "mention": 0.46,
        "part": 0.41,
        "sentence": 2.01,
        "new_home": 1.15,
        "new_mention": 1.36,
        "new_words": 2.12,
        "other_words": 1.23,
        "sure_home": 1.02,
        "later_words": -0.19,
        "later_meaning": 0.47,
        "later_home": 1.42,
        "alike": 0.60,
        "best_home": 0.88,
    }
)
PATH_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "rare": 0.08,
        "few": 1.06,
        "fewer": 1.10,
        "about": 0.96,
        "stands": 0.90,
        "beside": 1.08,
        "related": 1.43,
        "rest": 0.44,
        "rest_words": 1.36,
        "fewer_about": 1.85,
        "fewer_beside": 1.41,
        "about_beside": 0.63,
        "about_rest": 0.25,
        "about_rest_words": 0.05,
        "rare_about": 1.48,
        "rare_stands": 1.10,
        "rare_rest_words": 0.98,
        "source": -1.29,
    }
)
