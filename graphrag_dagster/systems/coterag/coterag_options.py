"""Options of CoTeRAG-S, and the thresholds given by the paper and by measurements."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, TypeAlias

Profile: TypeAlias = Literal["calibrated", "paper_raw", "paper_neo4j"]
CoverageRule: TypeAlias = Literal["class", "strict", "all"]
TermUnit: TypeAlias = Literal["words", "phrases"]
TermWeights: TypeAlias = Literal["none", "idf"]
Order: TypeAlias = Literal["similarity", "terms"]
TailTemplate: TypeAlias = Literal["no_outgoing", "isolated"]
SummariesShown: TypeAlias = Literal["all", "best", "none"]
Matched: TypeAlias = Literal["own", "C0", "C1", "C2", "C3"]
Trigger: TypeAlias = Literal["no_community", "search_more", "validator", "coverage", "support"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What must be exceeded: cosines, and for ``coverage`` a share of the question's terms.

    ``community`` is for communities by their similarity alone, ``covered`` for those that also cover enough
    of the question's terms. ``entity`` is for the entities that a traversal starts from, ``traversal`` for
    those it goes on from.
    """

    community: float
    covered: float
    coverage: float
    entity: float
    traversal: float
    chunk: float
    fallback: float

    def __iter__(self) -> Iterator[tuple[str, float]]:
        """Yield names and values."""
        return ((one.name, getattr(self, one.name)) for one in fields(self))


#: What may not be above what follows it; what fallback follows has to be below it.
_CHAINS = (
    ("covered", "community", "chunk", "entity", "fallback"),
    ("traversal", "entity", "fallback"),
)


def order_problem(values: Mapping[str, float], *, calibrated: bool = True) -> str | None:
    """Return which two thresholds, or quantiles, are out of order and what to do; None where none are.

    Args:
        values: by name, some or all.
        calibrated: text units are not to be easier to reach than communities. In the paper they are.
    """
    for chain in _CHAINS:
        named = [name for name in chain if name in values]
        for low, high in pairwise(named):
            if (low, high) == ("community", "chunk") and not calibrated:
                continue
            if values[low] > values[high] or (high == "fallback" and values[low] == values[high]):
                least = "above" if high == "fallback" else "at least"
                return (
                    f"{high} ({values[high]:g}) must be {least} {low} ({values[low]:g}): raise the one or "
                    "lower the other, or leave both out; the order is fallback > entity ≥ chunk"
                    f"{' ≥ community' if calibrated else ''}, and entity ≥ traversal"
                )
    return None


#: As the paper prints them, for vectors of its embedder.
PAPER = Thresholds(
    community=0.75, covered=0.75, coverage=0.51, entity=0.75, traversal=0.75, chunk=0.70, fallback=0.80
)
#: How names of embedders tell the paper's, Nomic-Embed-Text v1.5.
PAPER_EMBEDDER = re.compile(r"nomic-embed-text(?!-v(?!1\.5))", re.IGNORECASE)
#: Measured for a small sentence transformer; they stand in where there is too little to calibrate with.
MEASURED = Thresholds(
    community=0.37, covered=0.0, coverage=0.51, entity=0.48, traversal=0.48, chunk=0.44, fallback=0.55
)
#: Which of the paper's numbers are scores of a vector index, should it mean these: (1 + cosine) / 2.
INDEX_SCORES = ("community", "covered", "entity", "traversal")


def paper_thresholds(profile: Profile, given: Mapping[str, float]) -> Thresholds:
    """Return thresholds as raw cosines, where they are not calibrated.

    Args:
        profile: ``paper_neo4j`` takes the numbers of :data:`INDEX_SCORES`, given ones too, for scores of a
            vector index, so that 0.75 is a cosine of 0.5.
        given: values in place of the paper's, which knows one for communities.
    """
    values = {name: given.get(name, value) for name, value in PAPER}
    values["covered"] = given.get("covered", values["community"])
    if profile == "paper_neo4j":
        values |= {name: 2 * values[name] - 1 for name in INDEX_SCORES}
    return Thresholds(**values)


#: By name, the set of rows whose cosines each threshold cuts.
SETS: Mapping[str, str] = MappingProxyType(
    {
        "community": "summaries",
        "entity": "descriptions",
        "traversal": "descriptions",
        "chunk": "chunks",
        "fallback": "chunks",
        "route": "descriptions",
    }
)
