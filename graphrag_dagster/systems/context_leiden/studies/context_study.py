"""Studies of context nodes under other settings and on sparser graphs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.graph.hierarchical_leiden import hierarchical_communities, levels
from graphrag_dagster.kernel.graph.native_leiden import LeidenOptions
from graphrag_dagster.kernel.graph.undirected_graph import network_of
from graphrag_dagster.systems.context_leiden.index.context_node_selection import build_context
from graphrag_dagster.systems.context_leiden.index.node_embeddings import STRUCTURES, node_vectors
from graphrag_dagster.systems.context_leiden.studies.context_metrics import measure_context
from graphrag_dagster.systems.context_leiden.studies.metric_tables import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphrag_dagster.kernel.settings.study_settings import ContextStudySettings
    from graphrag_dagster.systems.context_leiden.settings import ContextSettings

#: A community that is never split: flat Leiden.
FLAT = 1_000_000_000
#: The variant that is the index as it is.
AS_SET = "as set"


@dataclass(frozen=True, slots=True)
class Variant:
    """A partition at one or more levels, and how context nodes of it are chosen.

    Attributes:
        name: what differs from the index.
        relationships: rows of ``graph.relationships``.
        community_levels: rows of ``graph.community_levels``.
        options: how context nodes are chosen.
    """

    name: str
    relationships: pl.DataFrame
    community_levels: pl.DataFrame
    options: ContextSettings

    def where(self, name: str, **options: object) -> Variant:
        """Return the variant with other options."""
        return replace(self, name=name, options=self.options.model_copy(update=options))


@dataclass(frozen=True, slots=True)
class Indexed:
    """A graph with its communities, and how it got them.

    Attributes:
        relationships: rows of ``graph.relationships``.
        community_levels: rows of ``graph.community_levels``.
        options: how context nodes are chosen.
        leiden: how the graph was clustered.
    """

    relationships: pl.DataFrame
    community_levels: pl.DataFrame
    options: ContextSettings
    leiden: LeidenOptions = field(default_factory=LeidenOptions)


def variants(index: Indexed, studied: ContextStudySettings) -> Iterator[Variant]:
    """Yield the index as it is, then each of what is compared with it.

    Edges are thinned by the hash of their id, so that fewer edges are always some of those that are more; the
    thinned graph is clustered anew, from nothing.

    Args:
        index: the graph as it is.
        studied: the values to be compared.
    """
    base, own = Variant(AS_SET, index.relationships, index.community_levels, index.options), index.options
    yield base
    yield base.where(f"include_self={not own.include_self}", include_self=not own.include_self)
    for value in studied.resolutions:
        flat = replace(index.leiden, max_cluster_size=FLAT, resolution=value)
        yield replace(
            base,
            name=f"flat, {value:g}",
            community_levels=_cluster_graph(index.relationships, flat).filter(level=0),
        )
    for value in studied.alphas:
        yield base.where(f"alpha={value:g}", alpha=value)
    for most in studied.lambda_max:
        yield base.where(f"lambda_max={most}", lambda_max=most)
    for share in studied.densities:
        edges = drop_edges(index.relationships, share)
        thin = replace(base, relationships=edges, community_levels=_cluster_graph(edges, index.leiden))
        for unreachable in ("drop", "far"):
            yield thin.where(f"{share:.0%} edges, {unreachable}", unreachable=unreachable)
    for embedding in studied.embeddings:
        yield base.where(f"embedding={embedding}", embedding=embedding)


def drop_edges(relationships: pl.DataFrame, share: float) -> pl.DataFrame:
    """Return the edges whose hash is among the given share of all hashes; the same edges in every run."""
    kept = [_place(one) < share for one in relationships["relationship_id"]]
    return relationships.filter(pl.Series(kept, dtype=pl.Boolean))


def _place(relationship_id: str) -> float:
    return int.from_bytes(hashlib.sha256(relationship_id.encode()).digest()[:8]) / 2**64


def _cluster_graph(relationships: pl.DataFrame, options: LeidenOptions) -> pl.DataFrame:
    found = hierarchical_communities(
        relationships.select("weight", source="source_id", target="target_id"), options
    )
    return levels(found.communities, found.members)


def study(
    index: Indexed,
    studied: ContextStudySettings,
    entity_ids: pl.Series,
    entity_vectors: pl.DataFrame | None,
) -> pl.DataFrame:
    """Measure every variant; to the columns of :func:`.metrics.measuring.measure_context` comes ``variant``.

    What needs vectors of texts is left out where there are none.

    Args:
        index: the graph as it is.
        studied: the values to be compared, and the random choices of each control.
        entity_ids: of all entities.
        entity_vectors: rows of ``embeddings.entities``; none or no rows: there are none.
    """
    texts = None if entity_vectors is None or entity_vectors.is_empty() else entity_vectors
    every = variants(index, studied)
    compared = [one for one in every if texts is not None or one.options.embedding in STRUCTURES]
    found = [pl.DataFrame(schema={"variant": pl.String(), **COLUMNS})]
    # Thinner graphs are parts of denser ones: as many edges are the same edges.
    made_of = {}
    with stage("Measuring context nodes", len(compared)) as running:
        for variant in compared:
            edges, levels_of, options = variant.relationships, variant.community_levels, variant.options
            place = options.embedding, edges.height
            if place not in made_of:
                graph = network_of(edges)
                made_of[place] = node_vectors(
                    *(options.embedding, entity_ids, texts, graph, options.seed, options.structure),
                    options.node2vec.walking,
                )
            made = build_context(edges, levels_of, made_of[place], options)
            measured = measure_context(
                made.candidates, levels_of, made_of[place], draws=studied.draws, seed=options.seed
            )
            found.append(measured.select(pl.lit(variant.name).alias("variant"), pl.all()))
            running.advance()
    return pl.concat(found)
