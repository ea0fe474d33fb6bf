"""What speaks for a unit, and how much it counts: fitted by ``benchmarks/fit_retrieval.py``."""

from collections.abc import Mapping
from types import MappingProxyType

DIRECT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "words": 1.08,
        "meaning": 1.17,
        "home": 0.93,
        "mention": 0.38,
        "part": 0.06,
        "sentence": 1.37,
        "new_home": 0.81,
        "new_mention": 1.88,
        "new_words": 2.86,
        "other_words": 0.55,
        "sure_home": 0.58,
        "later_words": -0.55,
        "later_meaning": 0.29,
        "later_home": 1.21,
        "alike": 1.27,
        "best_home": 0.89,
    }
)
PATH_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "rare": 0.12,
        "few": 0.90,
        "fewer": 1.18,
        "about": 0.95,
        "stands": 0.90,
        "beside": 0.69,
        "related": 0.63,
        "rest": 0.16,
        "rest_words": 1.10,
        "fewer_about": 2.10,
        "fewer_beside": 1.12,
        "about_beside": 0.72,
        "about_rest": 0.36,
        "about_rest_words": 1.02,
        "rare_about": 1.51,
        "rare_stands": 1.40,
        "rare_rest_words": 0.74,
        "source": -1.32,
    }
)
