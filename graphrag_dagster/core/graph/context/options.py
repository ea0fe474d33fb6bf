"""How context nodes are chosen (spec_context_leiden §1)."""

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from graphrag_dagster.errors import GraphragError

Penalty = Literal["factor", "subtract"]
Centrality = Literal["max", "textbook"]
Unreachable = Literal["drop", "far"]


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """How context nodes are chosen.

    Attributes:
        include_self: whether a node counts in the mean similarity to its own community, as the paper's
            formula has it; without, a community of one node has similarity 0 to it.
        lambda_max: most context nodes of a community.
        alpha: factor of the logarithm in the budget.
        penalty: ``factor`` divides a score by 1 + the normalised betweenness, ``subtract`` takes ``gamma``
            times it off, down to 0.
        gamma: of the penalty ``subtract``.
        centrality: betweenness is divided by the largest there is (``max``), or by the pairs of other nodes,
            (n−1)(n−2)/2 (``textbook``), which in large graphs leaves next to nothing of it.
        exact_up_to: nodes up to which betweenness is exact.
        pivots: beyond, the nodes from which it is estimated.
        max_hops: a community that is more edges away is unreachable.
        min_sim: similarity above which a node may be taken.
        unreachable: ``drop`` leaves such nodes without a score, ``far`` scores them as if they were one edge
            farther than ``max_hops``.
        seed: of the pivots.

    Raises:
        GraphragError: a value is out of range; names it.
    """

    include_self: bool = True
    lambda_max: int = 10
    alpha: float = 1.0
    penalty: Penalty = "factor"
    gamma: float = 0.1
    centrality: Centrality = "max"
    exact_up_to: int = 5000
    pivots: int = 512
    max_hops: int = 6
    min_sim: float = 0.0
    unreachable: Unreachable = "drop"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not isfinite(value) or value < least:
                raise GraphragError(f"context.{name} is {value}; it must be a number of at least {least}")
        for name, allowed in _ALLOWED.items():
            if getattr(self, name) not in allowed:
                raise GraphragError(
                    f"context.{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}"
                )


_LEAST = {
    "lambda_max": 0,
    "alpha": 0,
    "gamma": 0,
    "exact_up_to": 0,
    "pivots": 1,
    "max_hops": 1,
    "min_sim": -1,
    "seed": 0,
}
_ALLOWED = {
    "penalty": ("factor", "subtract"),
    "centrality": ("max", "textbook"),
    "unreachable": ("drop", "far"),
}
