"""How an answer of the way ``paths`` came about: seeds, the part of the graph, and paths in it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WalkedPath:
    """A path that was found.

    Attributes:
        text: its nodes and relations, joined by arrows; ``~`` stands before a relation against its direction.
        score: how well it fits the question; 0 where nothing scored it.
        entity_ids: its nodes, from the seed on.
    """

    text: str
    score: float
    entity_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PathTrace:
    """All of it.

    Attributes:
        modules: which found the part of the graph, and paths in it.
        seeds: titles of the entities that the question names, the surest first.
        nodes: of the part of the graph.
        edges: of it.
        paths: best first.
        stated: text units in which edges of the paths are stated.
        shown: relationships of the paths that stand in the context.
        problems: why replies of a model were of no use.
    """

    modules: str
    seeds: tuple[str, ...]
    nodes: int = 0
    edges: int = 0
    paths: tuple[WalkedPath, ...] = ()
    stated: int = 0
    shown: int = 0
    problems: tuple[str, ...] = ()
