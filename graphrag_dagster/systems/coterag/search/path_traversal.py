"""Paths of triples around the entities of a question, and the trace of all that was retrieved."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graphrag_dagster.systems.coterag.coterag_options import Thresholds, Trigger
from graphrag_dagster.systems.coterag.search.vector_matching import UNLIKE, CommunityMatch
from graphrag_dagster.systems.coterag.tasks import RoutedQuestion, Validation


@dataclass(frozen=True, slots=True)
class Edge:
    """A triple between entities by id, and the community that holds both; None: none does."""

    head: str
    relation: str
    tail: str
    community_id: str | None


@dataclass(frozen=True, slots=True)
class PathTriple:
    """A triple that was gone along; ``hop`` counts from 1, ``similarity`` is that of its nearer end."""

    head: str
    relation: str
    tail: str
    community_id: str | None
    hop: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Traversal:
    """``reached``: entities beyond the starts by hop; ``triples``: best first; ``cut``: over the cap."""

    reached: Mapping[str, int]
    triples: tuple[PathTriple, ...]
    cut: int = 0


def traverse(
    starts: Sequence[str],
    edges: Iterable[Edge],
    similarity: Mapping[str, float],
    threshold: float,
    *,
    hops: int = 5,
    most: int = 30,
    relations: Sequence[str] = (),
) -> Traversal:
    """Return what is reached from the starts, breadth first, along triples in both directions.

    An entity is reached, and gone on from, where its similarity exceeds the threshold; a triple that leads to
    one below it is left out. Where every edge lies inside of one community, no path leaves that of its start.
    Triples come by similarity descending, then hop, then name.

    Args:
        starts: entities.
        edges: of the communities that were selected, or of the whole graph.
        similarity: cosine of the question with each entity.
        threshold: to be exceeded.
        hops: most steps from a start.
        most: triples.
        relations: those that are followed, in any case; empty: all.
    """
    followed = {one.casefold() for one in relations}
    around: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        if not followed or edge.relation.casefold() in followed:
            around[edge.head].append(edge)
            around[edge.tail].append(edge)
    hop_of = dict.fromkeys(starts, 0)
    taken: dict[Edge, int] = {}
    frontier = list(hop_of)
    for hop in range(1, hops + 1):
        following: list[str] = []
        for here in frontier:
            for edge in around[here]:
                there = edge.tail if edge.head == here else edge.head
                if there not in hop_of:
                    if similarity.get(there, UNLIKE) <= threshold:
                        continue
                    hop_of[there] = hop
                    following.append(there)
                taken.setdefault(edge, hop)
        frontier = following
    triples = [
        PathTriple(
            edge.head,
            edge.relation,
            edge.tail,
            edge.community_id,
            hop,
            max(similarity.get(edge.head, UNLIKE), similarity.get(edge.tail, UNLIKE)),
        )
        for edge, hop in taken.items()
    ]
    triples.sort(key=lambda one: (-one.similarity, one.hop, one.head, one.relation, one.tail))
    reached = {entity: hop for entity, hop in hop_of.items() if hop}
    return Traversal(reached, tuple(triples[:most]), max(len(triples) - most, 0))


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """An entity near the question."""

    entity_id: str
    similarity: float


@dataclass(frozen=True, slots=True)
class ChunkMatch:
    """A text unit near the question, and whose it is: the first such entity by similarity."""

    text_unit_id: str
    similarity: float
    entity_id: str | None = None


@dataclass(frozen=True, slots=True)
class FallbackRound:
    """A round over the preserved store.

    Attributes:
        number: from 1.
        trigger: why it was made.
        most_entities: how many entities were looked at at most.
        entities: those that were.
        chunks: what they added to the context.
    """

    number: int
    trigger: Trigger
    most_entities: int
    entities: tuple[EntityMatch, ...]
    chunks: tuple[ChunkMatch, ...]


@dataclass(frozen=True, slots=True)
class RetrievedEvidence:
    """What the main graph gave.

    Attributes:
        terms: units of the question.
        communities: all whose similarity exceeded its threshold, selected ones first.
        nearest: highest similarity of any community, None where there is none.
        entities: that the traversal started from.
        triples: of the paths, best first.
        triples_cut: paths had so many more.
        chunks: best first.
        chunks_below: how many text units of these entities did not exceed the threshold.
    """

    terms: tuple[str, ...] = ()
    communities: tuple[CommunityMatch, ...] = ()
    nearest: float | None = None
    entities: tuple[EntityMatch, ...] = ()
    triples: tuple[PathTriple, ...] = ()
    triples_cut: int = 0
    chunks: tuple[ChunkMatch, ...] = ()
    chunks_below: int = 0

    @property
    def selected(self) -> list[str]:
        """Ids of the communities that were selected."""
        return [one.community_id for one in self.communities if one.selected]


@dataclass(frozen=True, slots=True)
class Trace:
    """How an answer came about.

    Attributes:
        profile: where the thresholds come from.
        thresholds: in force.
        route: general or specific, and why.
        blank_question: its vector is all zeros, so that nothing was near it.
        retrieved: what the main graph gave, None for a general question.
        rounds: of the fallback.
        generations: how often an answer was asked for.
        validations: of the answers, in order.
        problems: replies that could not be used, with reasons.
        titles: of the communities and entities that it names, by id.
        coverage: share of the question's terms in the last context; None for a general question.
        support: of the last answer that was judged, None where none was.
    """

    profile: str
    thresholds: Thresholds
    route: RoutedQuestion
    blank_question: bool = False
    retrieved: RetrievedEvidence | None = None
    rounds: tuple[FallbackRound, ...] = ()
    generations: int = 0
    validations: tuple[Validation, ...] = ()
    problems: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    coverage: float | None = None
    support: float | None = None

    @property
    def named(self) -> list[str]:
        """Ids of the communities and entities in it, each once."""
        found = self.retrieved or RetrievedEvidence()
        matches = [*found.entities, *(entity for one in self.rounds for entity in one.entities)]
        owners = [*found.chunks, *(chunk for one in self.rounds for chunk in one.chunks)]
        ids = [one.community_id for one in found.communities]
        ids += [one.entity_id for one in matches]
        ids += [end for one in found.triples for end in (one.head, one.tail)]
        ids += [one.entity_id for one in owners if one.entity_id]
        return list(dict.fromkeys(ids))

    @property
    def only_by_fallback(self) -> tuple[str, ...]:
        """Ids of the text units that the preserved store alone gave."""
        return tuple(chunk.text_unit_id for one in self.rounds for chunk in one.chunks)
