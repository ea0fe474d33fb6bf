"""How much each measure counts, and from which score on a statement is supported.

Fitted once and shipped, so that the same answer has the same verdict everywhere. They are what
``benchmarks/support.py fit`` prints: a logistic regression with ridge and no weight below 0, since more of a
measure never takes away, on passages that people judged to support a claim wholly or not at all. Both kinds
count alike, so that a score is the probability of support where half of all statements are supported.
"""

from collections.abc import Mapping
from types import MappingProxyType

#: By name of :class:`~graphrag_dagster.core.search.support.comparing.Measures`, in their order.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"found": 1.19, "rarest": 2.06, "lacking": 2.07, "near": 3.16, "numbers": 1.44, "names": 1.16}
)
CONSTANT = -7.58
#: Best balanced accuracy; and what nine of ten statements reach that people call wholly supported.
SUPPORTED, PARTLY = 0.47, 0.33
