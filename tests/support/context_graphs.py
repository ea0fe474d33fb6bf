"""Small graphs with communities and vectors, and their context nodes by the definition, pair by pair."""

from collections import defaultdict
from dataclasses import dataclass
from math import floor, log2

import networkx as nx
import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.graph.undirected_graph import network
from graphrag_dagster.systems.context_leiden.index.graph_neighbours import NeighbourLists, adjacency
from graphrag_dagster.systems.context_leiden.index.node_embeddings import NodeVectors
from graphrag_dagster.systems.context_leiden.settings import ContextSettings


@dataclass(frozen=True)
class Case:
    """A graph, the community of every node, and a vector for each."""

    edges: list[tuple[str, str]]
    communities: dict[str, str]
    vectors: dict[str, list[float]]

    @property
    def relationships(self) -> pl.DataFrame:
        """Its edges as rows of ``graph.relationships`` as far as they matter."""
        return relationships(self.edges)

    @property
    def levels(self) -> pl.DataFrame:
        """Its partition as level 0 of ``graph.community_levels``."""
        return community_levels([self.communities])

    @property
    def node_vectors(self) -> NodeVectors:
        """Its vectors, sorted by node."""
        return node_vectors(self.vectors)

    @property
    def rounded(self) -> dict[str, NDArray[np.float64]]:
        """Its vectors, as exact as they are handed on."""
        given = self.node_vectors
        return {node: given.matrix[place].astype(np.float64) for place, node in enumerate(given.ids)}

    @property
    def graph(self) -> "nx.Graph[str]":
        """Its edges without loops; all nodes that are anywhere."""
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.communities)
        graph.add_nodes_from(node for edge in self.edges for node in edge)
        graph.add_edges_from(edge for edge in self.edges if edge[0] != edge[1])
        return graph

    def renamed(self, names: dict[str, str]) -> "Case":
        """The same with other ids of nodes."""
        return Case(
            [(names[one], names[other]) for one, other in self.edges],
            {names[node]: community for node, community in self.communities.items()},
            {names[node]: vector for node, vector in self.vectors.items()},
        )


FIVE = Case(
    list(zip("abcd", "bcde", strict=True)),
    dict(zip("abcde", "11222", strict=True)),
    {"a": [1, 0], "b": [1, 0], "c": [0, 1], "d": [0, 1], "e": [1, 0]},
)


def relationships(edges: list[tuple[str, str]]) -> pl.DataFrame:
    """Rows of ``graph.relationships`` as far as they matter."""
    schema = {"source_id": pl.String, "target_id": pl.String}
    return pl.DataFrame(edges, schema=schema, orient="row").with_columns(weight=pl.lit(1.0))


def community_levels(partitions: list[dict[str, str]]) -> pl.DataFrame:
    """Rows of ``graph.community_levels``."""
    rows = [
        (level, node, community, False)
        for level, partition in enumerate(partitions)
        for node, community in partition.items()
    ]
    schema = {
        "level": pl.Int32,
        "entity_id": pl.String,
        "community_id": pl.String,
        "projected": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def node_vectors(vectors: dict[str, list[float]], name: str = "given") -> NodeVectors:
    """Vectors of nodes, sorted by node."""
    ids = sorted(vectors)
    width = len(next(iter(vectors.values()), []))
    matrix = np.array([vectors[node] for node in ids], dtype=np.float32).reshape(len(ids), width)
    return NodeVectors(pl.Series(ids, dtype=pl.String), matrix, name)


def adjacency_of(graph: "nx.Graph[int]") -> NeighbourLists:
    """A graph of the numbers 0…n-1, as searches need it."""
    names = [f"{node:06d}" for node in range(graph.number_of_nodes())]
    rows = relationships([(names[one], names[other]) for one, other in graph.edges()])
    return adjacency(
        network(rows.rename({"source_id": "source", "target_id": "target"})),
        pl.Series(names, dtype=pl.String),
    )


def random_case(seed: int, nodes: int = 40, width: int = 6) -> Case:
    """A sparse graph, often of several components, with communities that edges and vectors follow in part."""
    rng = np.random.default_rng(seed)
    names = [f"n{place:03d}" for place in range(nodes)]
    community = rng.integers(0, rng.integers(1, 8), nodes)
    centres = rng.standard_normal((8, width))
    edges = []
    for _ in range(int(nodes * rng.uniform(0.5, 2))):
        one, other = rng.integers(0, nodes, 2)
        if community[one] == community[other] or rng.random() < 0.3:
            edges.append((names[one], names[other]))
    vectors = centres[community] * rng.uniform(0, 1) + rng.standard_normal((nodes, width))
    vectors[rng.random(nodes) < 0.05] = 0
    return Case(
        edges,
        {name: f"c{number}" for name, number in zip(names, community, strict=True)},
        {name: vector.tolist() for name, vector in zip(names, vectors, strict=True)},
    )


@dataclass
class Found:
    """What became of a misaligned node, by the definition."""

    target: str
    similarity: float
    home_similarity: float
    distance: int | None
    betweenness: float
    score: float
    penalised: float
    rank: int | None = None
    outcome: str = "over_budget"


def by_definition(case: Case, options: ContextSettings) -> dict[str, Found]:
    """Return the misaligned nodes of a case as its definition has them, a pair of nodes at a time."""
    units = {node: _unit(vector) for node, vector in case.rounded.items()}
    members: dict[str, list[str]] = defaultdict(list)
    for node, community in case.communities.items():
        members[community].append(node)
    between = nx.betweenness_centrality(case.graph, normalized=False)
    scale = max(between.values(), default=0.0)
    if options.centrality == "textbook":
        scale = (len(between) - 1) * (len(between) - 2) / 2
    found: dict[str, Found] = {}
    for node, home in case.communities.items():
        if not units[node].any():
            continue
        own = _mean_cosine(units, node, members[home], with_itself=options.include_self)
        best, target = own, home
        for community in sorted(members):
            if community != home:
                value = _mean_cosine(units, node, members[community], with_itself=True)
                if value > best + 1e-9:
                    best, target = value, community
        if target != home:
            distance = _hops(case.graph, node, members[target], options.max_hops)
            central = between[node] / scale if scale else 0.0
            found[node] = _scored(Found(target, best, own, distance, central, 0, 0), options)
    _ranked(found, options)
    return found


def _scored(one: Found, options: ContextSettings) -> Found:
    if one.similarity <= options.min_sim:
        one.outcome = "dissimilar"
        return one
    if one.distance is None and options.unreachable == "drop":
        one.outcome = "unreachable"
        return one
    hops = options.max_hops + 1 if one.distance is None else one.distance
    one.score = one.similarity**2 / (1 + hops)
    one.penalised = (
        one.score / (1 + one.betweenness)
        if options.penalty == "factor"
        else max(one.score - options.gamma * one.betweenness, 0)
    )
    if one.penalised <= 0:
        one.outcome = "penalised"
    return one


def _ranked(found: dict[str, Found], options: ContextSettings) -> None:
    for community in {one.target for one in found.values()}:
        scored = [(n, one) for n, one in found.items() if one.target == community and one.penalised > 0]
        scored.sort(key=lambda pair: (-round(pair[1].penalised, 9), -round(pair[1].similarity, 9), pair[0]))
        budget = floor(min(options.lambda_max, options.alpha * log2(len(scored) + 1)))
        for rank, (_, one) in enumerate(scored, 1):
            one.rank = rank
            one.outcome = "taken" if rank <= budget else "over_budget"


def _mean_cosine(
    units: dict[str, NDArray[np.float64]], node: str, members: list[str], *, with_itself: bool
) -> float:
    others = [other for other in members if with_itself or other != node]
    return float(np.mean([units[node] @ units[other] for other in others])) if others else 0.0


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(vector)
    return vector / length if length else vector


def _hops(graph: "nx.Graph[str]", node: str, members: list[str], most: int) -> int | None:
    reached = nx.single_source_shortest_path_length(graph, node, cutoff=most)
    return min((reached[member] for member in members if member in reached), default=None)
