"""What may be chosen of CoTeRAG-S: thresholds, limits, and readings of what the paper leaves open."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
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

    ``entity`` is for the entities that a traversal starts from, ``traversal`` for those it goes on from.
    """

    community: float
    coverage: float
    entity: float
    traversal: float
    chunk: float
    fallback: float

    def __iter__(self) -> Iterator[tuple[str, float]]:
        """Yield names and values."""
        return ((one.name, getattr(self, one.name)) for one in fields(self))


#: What may not be above what follows it; what fallback follows has to be below it.
_CHAINS = (("community", "chunk", "entity", "fallback"), ("traversal", "entity", "fallback"))


def disorder(values: Mapping[str, float], *, calibrated: bool = True) -> str | None:
    """Return which two thresholds, or quantiles, are out of order and what to do; None where none are.

    Args:
        values: by name, some or all.
        calibrated: text units are not to be easier to reach than communities. In the paper they are.
    """
    for chain in _CHAINS:
        named = [name for name in chain if name in values and (calibrated or name != "community")]
        for low, high in pairwise(named):
            if values[low] > values[high] or (high == "fallback" and values[low] == values[high]):
                least = "above" if high == "fallback" else "at least"
                return (
                    f"{high} ({values[high]:g}) must be {least} {low} ({values[low]:g}): raise the one or "
                    "lower the other, or leave both out; the order is fallback > entity ≥ chunk"
                    f"{' ≥ community' if calibrated else ''}, and entity ≥ traversal"
                )
    return None


#: As the paper prints them.
PAPER = Thresholds(community=0.75, coverage=0.51, entity=0.75, traversal=0.75, chunk=0.70, fallback=0.80)
#: Measured for a small sentence transformer; they stand in where there is too little to calibrate with.
MEASURED = Thresholds(community=0.37, coverage=0.51, entity=0.48, traversal=0.48, chunk=0.44, fallback=0.55)
#: Which of the paper's numbers are scores of a vector index, should it mean these: (1 + cosine) / 2.
INDEX_SCORES = ("community", "entity", "traversal")


def paper_thresholds(profile: Profile, given: Mapping[str, float]) -> Thresholds:
    """Return thresholds as raw cosines, where they are not calibrated.

    Args:
        profile: ``paper_neo4j`` takes the numbers of :data:`INDEX_SCORES`, given ones too, for scores of a
            vector index, so that 0.75 is a cosine of 0.5.
        given: values in place of the paper's.
    """
    values = {name: given.get(name, value) for name, value in PAPER}
    if profile == "paper_neo4j":
        values |= {name: 2 * values[name] - 1 for name in INDEX_SCORES}
    return Thresholds(**values)


@dataclass(frozen=True, slots=True)
class FallbackOptions:
    """When the preserved store is searched, and how far.

    Attributes:
        search_more: where the answer asks for more.
        validator: where the validator finds the answer insufficient.
        no_community: where no community matched; before the first round only.
        coverage: where some term of the question stands nowhere in the context.
        support: where too little of the answer is supported by what it cites.
        support_below: share of the answer's statements that is too little.
        rounds: most rounds.
        entities: nearest entities of the store whose chunks are compared in the first round.
        most_entities: those of the last round; they grow evenly.
        chunks: most new chunks of a round.
    """

    search_more: bool = True
    validator: bool = True
    no_community: bool = True
    coverage: bool = False
    support: bool = False
    support_below: float = 0.5
    rounds: int = 2
    entities: int = 10
    most_entities: int = 20
    chunks: int = 5

    def entities_of(self, round_: int) -> int:
        """Return how many entities are taken in a round, 1…``rounds``."""
        if self.rounds < 2:
            return self.entities
        return self.entities + (self.most_entities - self.entities) * (round_ - 1) // (self.rounds - 1)


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How questions are answered.

    Attributes:
        profile: where the thresholds come from; noted with every answer.
        coverage: ``class`` ranks communities of low term coverage behind the others, ``strict`` drops them,
            ``all`` ranks by similarity alone.
        unit: what is covered: single words, or phrases, each only as a whole.
        weights: whether terms that few communities speak of count more.
        order: ``similarity`` ranks communities of a class and text units by cosine alone; ``terms`` adds the
            share of the question's terms that they hold, rarer ones counting more, and to communities the
            cosine of their nearest member.
        everywhere: entities and paths are those of the whole graph, whatever communities match.
        communities: most that are selected.
        entities: most that a traversal starts from.
        hops: most steps of a traversal.
        triples: most of the context.
        chunks: most of the context, distinct by text.
        relations: those that a traversal follows; empty: all.
        summaries: which of the selected communities' summaries are in the context.
        fallback: when and how far the preserved store is searched.
    """

    profile: Profile = "calibrated"
    coverage: CoverageRule = "class"
    unit: TermUnit = "words"
    weights: TermWeights = "none"
    order: Order = "terms"
    everywhere: bool = False
    communities: int = 3
    entities: int = 10
    hops: int = 5
    triples: int = 30
    chunks: int = 5
    relations: tuple[str, ...] = ()
    summaries: SummariesShown = "all"
    fallback: FallbackOptions = field(default_factory=FallbackOptions)


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
