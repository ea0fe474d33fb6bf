"""Paths of triples around the entities that a question is about."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphrag_dagster.systems.coterag.search.vectors import UNLIKE


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


def traversed(
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
