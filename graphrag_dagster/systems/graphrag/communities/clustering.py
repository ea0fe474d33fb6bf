"""Communities of a changing graph: kept, warm-started from the previous clustering, or detected from scratch.

A cold start is a function of the graph alone; a warm one also of the previous communities, of which it keeps
what it can. The drift of warm starts is bounded twice: by the share of edges that have changed since the last
cold start, and by the modularity, which must be within one percent of a cold start's.
"""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal

import numpy as np
import polars as pl

from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.graph.hierarchy import Hierarchy, as_hierarchy, empty_hierarchy
from graphrag_dagster.kernel.graph.leiden import LeidenOptions, clustered
from graphrag_dagster.kernel.graph.network import Network, Profile, clustered_part, modularity, network_of
from graphrag_dagster.kernel.tables import CLUSTERING_STATE
from graphrag_dagster.systems.graphrag.communities.warm import clustered_from

Start = Literal["warm", "cold"]

#: Smallest share of the modularity of a cold start that a warm one must reach.
QUALITY = 0.99
#: Up to so many edges a cold start is cheap enough to be made for comparison every time.
_COMPARED_EDGES = 200_000


@dataclass(frozen=True, slots=True)
class Clustering:
    """A clustering and what the next one needs to know of it.

    Attributes:
        hierarchy: rows of ``graph.communities`` and ``graph.community_members``.
        state: the row of ``graph.clustering_state``.
        cold_start_edges: rows of ``graph.cold_start_edges``.
    """

    hierarchy: Hierarchy
    state: pl.DataFrame
    cold_start_edges: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Begun:
    """How a clustering began: cold, warm, or not at all because nothing changed; and why."""

    how: Literal["cold", "warm", "kept"]
    why: str


@dataclass(frozen=True, slots=True)
class _Graph:
    whole: Network
    part: Network
    ids: pl.Series
    hash: str
    rules: str


def cluster(
    relationships: pl.DataFrame,
    previous: Clustering | None,
    *,
    profile: Profile = "default",
    options: LeidenOptions | None = None,
    start: Start = "warm",
    drift: float = 0.2,
    code: str = "",
) -> tuple[Clustering, Begun]:
    """Cluster a graph, at need from nothing, otherwise from the communities before.

    Nothing is computed where edges, weights, settings and code are those of the clustering before. From
    nothing begins: the first clustering; one with other settings or code; one after at least ``drift`` of
    the edges have changed since the last cold start; and one whose modularity from a warm start is below
    0.99 of that from a cold start. Up to 200,000 edges both are computed and compared; beyond, the warm one
    is compared to what the last cold start had, and only where it is below 0.99 of that to a new one.

    The share of changed edges is that of edges that are new or gone, of all that were or are. Edges that
    went and came back count as both, since nothing is kept of what is gone.

    Args:
        relationships: rows of ``graph.relationships``.
        previous: the clustering before, None for the first.
        profile: which edges are clustered, see :func:`.leiden.hierarchical_communities`.
        options: how Leiden runs; default: as :class:`.leiden.LeidenOptions` has it.
        start: ``cold`` always begins from nothing.
        drift: share of changed edges from which the clustering begins from nothing; 0: always.
        code: version of the code that clusters.

    Raises:
        GraphragError: see :func:`.leiden.hierarchical_communities`.
    """
    options = options or LeidenOptions()
    graph = _graph(relationships, profile, stable_id(profile, options, code, version("graspologic-native")))
    if previous is None:
        return _cold(graph, options), Begun("cold", "first clustering")
    # A run may have been killed while it wrote the tables of one clustering.
    if previous.state.item(0, "communities_hash") != _hash(previous.hierarchy):
        return _cold(graph, options), Begun("cold", "torn tables")
    cold_edges = previous.cold_start_edges.filter(pl.col("relationship_id").is_in(graph.ids.implode()))
    ever = int(previous.state.item(0, "cold_edges")) + len(graph.ids) - len(cold_edges)
    changed = (ever - len(cold_edges)) / ever if ever else 0.0
    why = _why_cold(graph, previous, start, drift, changed)
    if why is not None:
        return _cold(graph, options), Begun("cold", why)
    if previous.state.item(0, "edges_hash") == graph.hash:
        return previous, Begun("kept", "nothing changed")
    return _warm(graph, options, previous, cold_edges, changed)


def previous_clustering(
    communities: pl.DataFrame | None,
    members: pl.DataFrame | None,
    state: pl.DataFrame | None,
    cold_start_edges: pl.DataFrame | None,
) -> Clustering | None:
    """Return the clustering that its four tables hold, None where there is none."""
    if communities is None or members is None or state is None or cold_start_edges is None or not len(state):
        return None
    return Clustering(Hierarchy(communities, members), state, cold_start_edges)


def _graph(relationships: pl.DataFrame, profile: Profile, rules: str) -> _Graph:
    rows = relationships.select("relationship_id", "source_id", "target_id", "weight").sort("relationship_id")
    whole = network_of(rows)
    ids = rows["relationship_id"]
    return _Graph(whole, clustered_part(whole, profile), ids, stable_id(rows.write_csv()), rules)


def _why_cold(graph: _Graph, previous: Clustering, start: Start, drift: float, changed: float) -> str | None:
    if start == "cold":
        return "asked for"
    if previous.state.item(0, "rules") != graph.rules:
        return "other settings or code"
    if changed >= drift:
        return f"{changed:.1%} of the edges changed since the last cold start, at most {drift:.1%} may"
    return None


def _cold(graph: _Graph, options: LeidenOptions) -> Clustering:
    ids = graph.ids.to_frame("relationship_id")
    if not len(graph.part.low):
        return _made(graph, empty_hierarchy(), ids, "cold", (len(ids), 0.0, 0.0, 0.0))
    memberships = clustered(graph.part, options)
    quality = _modularity(graph, memberships, options)
    hierarchy = as_hierarchy(graph.whole, memberships)
    return _made(graph, hierarchy, ids, "cold", (len(ids), 0.0, quality, quality))


def _warm(
    graph: _Graph, options: LeidenOptions, previous: Clustering, cold_edges: pl.DataFrame, changed: float
) -> tuple[Clustering, Begun]:
    if not len(graph.part.low):
        return _cold(graph, options), Begun("cold", "no edges")
    base = float(previous.state.item(0, "cold_modularity"))
    cold = _cold(graph, options) if len(graph.part.low) <= _COMPARED_EDGES else None
    best = float(cold.state.item(0, "modularity")) if cold else base
    memberships = clustered_from(graph.part, previous.hierarchy.members, options, QUALITY * best)
    quality = _modularity(graph, memberships, options)
    if quality < QUALITY * best:
        cold = cold or _cold(graph, options)
        best = float(cold.state.item(0, "modularity"))
        if quality < QUALITY * best:
            return cold, Begun("cold", f"a warm start has modularity {quality:.4f}, a cold one {best:.4f}")
    hierarchy = as_hierarchy(graph.whole, memberships, previous.hierarchy)
    before = int(previous.state.item(0, "cold_edges"))
    made = _made(graph, hierarchy, cold_edges, "warm", (before, changed, quality, base))
    return made, Begun("warm", f"{changed:.1%} of the edges changed since the last cold start")


def _made(
    graph: _Graph,
    hierarchy: Hierarchy,
    cold_edges: pl.DataFrame,
    start: Start,
    measured: tuple[int, float, float, float],
) -> Clustering:
    cold, changed, quality, cold_quality = measured
    row = {
        "clustering": "communities",
        "start": start,
        "edges": len(graph.ids),
        "cold_edges": cold,
        "changed": changed,
        "modularity": quality,
        "cold_modularity": cold_quality,
        "rules": graph.rules,
        "edges_hash": graph.hash,
        "communities_hash": _hash(hierarchy),
    }
    return Clustering(hierarchy, CLUSTERING_STATE.rows([row]), cold_edges)


def _modularity(graph: _Graph, memberships: pl.DataFrame, options: LeidenOptions) -> float:
    roots = memberships.filter(pl.col("level") == 0)
    cluster = np.zeros(len(graph.part.names), dtype=np.int64)
    cluster[roots["node"].to_numpy()] = roots["cluster"].rank("dense").to_numpy().astype(np.int64)
    return modularity(graph.part, cluster, options.resolution)


def _hash(hierarchy: Hierarchy) -> str:
    communities = hierarchy.communities.sort("community_id")
    members = hierarchy.members.sort("community_id", "entity_id")
    return stable_id(communities.write_csv(), members.write_csv())
