"""The step of communities and layout: detected, or adopted from an imported graph."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from operator import attrgetter

import polars as pl
from pydantic import Field

from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.hierarchical_leiden import (
    Hierarchy,
    as_hierarchy,
    coverage,
    empty_hierarchy,
)
from graphrag_dagster.kernel.graph.native_leiden import MEMBERSHIPS
from graphrag_dagster.kernel.graph.undirected_graph import Network, network_of
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.step_declaration import Made, StepRun, embedded
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.tables.core_tables import (
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    LAYOUT,
    RELATIONSHIPS,
)
from graphrag_dagster.kernel.tables.import_tables import (
    IMPORTED_CLAIMS,
    IMPORTED_COMMUNITIES,
    IMPORTED_ENTITIES,
    IMPORTED_RELATIONS,
    IMPORTED_REPORTS,
)
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.tasks.task_ports import RecordKind
from graphrag_dagster.systems.graphrag.index.community_detection import (
    Start,
    cluster,
    previous_clustering,
)
from graphrag_dagster.systems.graphrag.index.levels_above import with_levels_above, without_levels_above
from graphrag_dagster.systems.graphrag.reports.report_reuse import AdoptedReport
from graphrag_dagster.systems.graphrag.settings import CommunitySettings
from graphrag_dagster.systems.graphrag.tables import CLUSTERING_STATE, COLD_START_EDGES, LAYOUT_STATE


def adopt_hierarchy(
    communities: pl.DataFrame, declared: pl.DataFrame, entities: pl.DataFrame, relationships: pl.DataFrame
) -> tuple[Hierarchy, dict[tuple[str, str], str]]:
    """Return the communities of graphs as they came, and the id here of each by its graph and key.

    A level is a partition: of several communities of a level an entity is in the first. A parent that there
    is not, or is not of the level above, is none. Communities without any entity of the graph are left out.

    Args:
        communities: rows of ``imports.communities``.
        declared: rows of ``imports.entities``.
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
    """
    graph = network_of(relationships, entities)
    ordered = (
        communities.sort("level", "path", "row")
        .unique(["graph", "key"], keep="first", maintain_order=True)
        .with_row_index("cluster")
    )
    of_key = declared.select("graph", "key", "name").unique()
    of_name = dict(entities.select("name", "entity_id").iter_rows())
    places = {name: place for place, name in enumerate(graph.names)}
    members = (
        ordered.select("cluster", "level", "graph", key="entity_keys")
        .explode("key")
        .drop_nulls("key")
        .join(of_key, on=["graph", "key"], how="left", maintain_order="left")
        .with_columns(name=pl.coalesce("name", "key"))
        .with_columns(node=pl.col("name").replace_strict(of_name, default=None, return_dtype=pl.String))
        .with_columns(node=pl.col("node").replace_strict(places, default=None, return_dtype=pl.Int64))
        .drop_nulls("node")
        .unique(["level", "node"], keep="first", maintain_order=True)
    )
    if members.is_empty():
        return empty_hierarchy(), {}
    parents = _parents(ordered, set(members["cluster"]))
    memberships = members.select(
        "node", "cluster", "level", parent=pl.col("cluster").replace_strict(parents, return_dtype=pl.Int64)
    ).select(pl.col(name).cast(type_) for name, type_ in MEMBERSHIPS.items())
    hierarchy = as_hierarchy(graph, memberships)
    return hierarchy, _ids(hierarchy, memberships, graph, ordered)


def _parents(ordered: pl.DataFrame, there: set[int]) -> dict[int, int | None]:
    levels = dict(ordered.select("cluster", "level").iter_rows())
    by_key = {
        (of, key): cluster_id for of, key, cluster_id in ordered.select("graph", "key", "cluster").iter_rows()
    }
    found: dict[int, int | None] = {}
    for cluster_id, of, parent in ordered.select("cluster", "graph", "parent_key").iter_rows():
        above = by_key.get((of, parent)) if parent is not None else None
        fits = above in there and above is not None and levels[above] == levels[cluster_id] - 1
        found[cluster_id] = above if fits else None
    return found


def _ids(
    hierarchy: Hierarchy, memberships: pl.DataFrame, graph: Network, ordered: pl.DataFrame
) -> dict[tuple[str, str], str]:
    """The id of each community: that of the one of its level that holds the same first entity."""
    at = {
        (level, entity): community
        for level, entity, community in hierarchy.members.select(
            "level", "entity_id", "community_id"
        ).iter_rows()
    }
    keys = {
        cluster_id: (of, key) for cluster_id, of, key in ordered.select("cluster", "graph", "key").iter_rows()
    }
    first = memberships.group_by("cluster").agg(pl.first("level", "node"))
    return {keys[cluster_id]: at[level, graph.names[node]] for cluster_id, level, node in first.iter_rows()}


Numbers = Mapping[RecordKind, Mapping[int, str]]
#: By what Microsoft GraphRAG's reports cite entities, relationships and claims.
_NUMBER = "human_readable_id"


def adopt_reports(
    reports: pl.DataFrame,
    communities: Mapping[tuple[str, str], str],
    *,
    entities: pl.DataFrame,
    relations: pl.DataFrame,
    claims: pl.DataFrame,
) -> dict[str, AdoptedReport]:
    """Return the reports of graphs as they came, by the id here of their community; of several the first.

    Args:
        reports: rows of ``imports.reports``.
        communities: id of each community by its graph and key.
        entities: rows of ``imports.entities``.
        relations: rows of ``imports.relations``.
        claims: rows of ``imports.claims``.
    """
    numbers = _numbers(communities, entities, relations, claims)
    kept: dict[str, AdoptedReport] = {}
    for row in reports.sort("path", "row").iter_rows(named=True):
        community = communities.get((row["graph"], row["community_key"]))
        if community is not None and community not in kept:
            kept[community] = AdoptedReport(
                title=row["title"],
                summary=row["summary"],
                content=row["content"],
                rating=row["rating"],
                rating_explanation=row["rating_explanation"],
                findings=tuple((one["summary"], one["explanation"]) for one in json.loads(row["findings"])),
                cited=numbers[row["graph"]],
            )
    return kept


def _numbers(
    communities: Mapping[tuple[str, str], str],
    entities: pl.DataFrame,
    relations: pl.DataFrame,
    claims: pl.DataFrame,
) -> Mapping[str, Numbers]:
    found: dict[str, dict[RecordKind, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    named: tuple[tuple[RecordKind, pl.DataFrame, tuple[str, ...]], ...] = (
        ("entity", entities, ("name",)),
        ("relationship", relations, ("head", "tail")),
        ("claim", claims, ("subject", "object", "type")),
    )
    for kind, frame, columns in named:
        for graph, number, *parts in _number_communities(frame, *columns).iter_rows():
            ordered = sorted(parts) if kind == "relationship" else [part or "" for part in parts]
            found[graph][kind][number] = stable_id(kind, *ordered)
    for (graph, key), community in communities.items():
        if key.isdecimal():
            found[graph]["report"][int(key)] = community
    return found


def _number_communities(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    number = pl.col("attributes").str.json_path_match(f"$.{_NUMBER}").cast(pl.Int64, strict=False)
    rows = frame.select("graph", number.alias("number"), *columns).drop_nulls("number").unique()
    return rows.sort("graph", "number", *columns)


#: What is read here.
IMPORTED = (IMPORTED_ENTITIES, IMPORTED_RELATIONS, IMPORTED_CLAIMS, IMPORTED_COMMUNITIES, IMPORTED_REPORTS)


def adopt_communities(
    run: StepRun, entities: pl.DataFrame, relationships: pl.DataFrame
) -> tuple[Hierarchy, Mapping[tuple[str, str], str]] | None:
    """Return the communities that came with the graphs of a corpus, and the id of each by graph and key.

    Args:
        run: of a step.
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.

    Returns:
        None where none came, or communities are found anew.
    """
    if not _are_kept("communities", run.settings):
        return None
    with run.warehouse.reading(run.corpus) as reader:
        communities = reader.read(IMPORTED_COMMUNITIES)
        if communities.is_empty():
            return None
        declared = reader.read(IMPORTED_ENTITIES)
    return adopt_hierarchy(communities, declared, entities, relationships)


def _are_kept(what: str, settings: CorpusSettings) -> bool:
    """Whether what came with a graph stays: by the section ``imports``, which the importer declares."""
    return settings.makes("imports") and attrgetter(f"imports.{what}")(settings) == "kept"


def adopted_reports_of(
    run: StepRun, entities: pl.DataFrame, relationships: pl.DataFrame
) -> Mapping[str, AdoptedReport]:
    """Return the reports that came with kept communities and are kept too, by community.

    See :func:`adopt_communities` for what is given.
    """
    if not _are_kept("reports", run.settings):
        return {}
    if (kept := adopt_communities(run, entities, relationships)) is None:
        return {}
    with run.warehouse.reading(run.corpus) as reader:
        return adopt_reports(
            reader.read(IMPORTED_REPORTS),
            kept[1],
            entities=reader.read(IMPORTED_ENTITIES),
            relations=reader.read(IMPORTED_RELATIONS),
            claims=reader.read(IMPORTED_CLAIMS),
        )


class ClusteringStart(Resource):
    """Has the communities of one run found from nothing, whatever the corpus's settings say."""

    cold: bool = Field(default=False, description="start from scratch")

    def of(self, settings: CommunitySettings) -> Start:
        """Return how this run begins: cold when asked for, otherwise as the settings say."""
        return "cold" if self.cold else settings.start


def communities(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Communities by hierarchical Leiden (From Local to Global, §3.1.4), and places by forces.

    Both begin from those of the last run: ids and places stay where they can. Entities are
    embedded meanwhile.
    """
    # Not needed by the steps before, the first of which may call a model.
    from graphrag_dagster.systems.graphrag.index.graph_layout import arrange, previous_layout

    entities, relationships, own = (
        tables[ENTITIES],
        tables[RELATIONSHIPS],
        run.settings.section(CommunitySettings),
    )
    vectors = run.begin(partial(embedded, run, ENTITY_EMBEDDINGS, entities), quiet=True)
    kept = adopt_communities(run, entities, relationships)
    before = previous_clustering(
        *map(run.before, (COMMUNITIES, COMMUNITY_MEMBERS, CLUSTERING_STATE, COLD_START_EDGES))
    )
    gone_on_from = before.hierarchy if before else None
    if kept:
        hierarchy, begun = kept[0], {"begun": "imported"}
        edges, state = COLD_START_EDGES.empty(), CLUSTERING_STATE.empty()
    else:
        made, how = cluster(
            relationships,
            before and replace(before, hierarchy=without_levels_above(before.hierarchy)),
            profile=own.profile,
            options=own.leiden,
            start=run.resource(ClusteringStart).of(own),
            drift=own.drift,
            code=code_version("communities"),
        )
        hierarchy, begun = made.hierarchy, {"profile": own.profile, "begun": how.how, "why": how.why}
        edges, state = made.cold_start_edges, made.state
        if how.how == "cold":
            gone_on_from = None
    hierarchy = with_levels_above(
        hierarchy,
        entities,
        relationships,
        roots=own.roots,
        options=own.leiden,
        previous=gone_on_from,
    )
    found, members = hierarchy.communities, hierarchy.members
    levels = {f"level_{k}": n for k, n in counts(found, "level").items()}
    yield Made(COMMUNITIES, found, {**begun, **levels})
    yield Made(COMMUNITY_MEMBERS, members, coverage(entities, members))
    yield Made(COLD_START_EDGES, edges)
    yield Made(CLUSTERING_STATE, state)
    placed, how = arrange(
        entities,
        relationships,
        members,
        previous_layout(*map(run.before, (LAYOUT, LAYOUT_STATE))),
        start=run.resource(ClusteringStart).of(own),
        code=code_version("layout"),
    )
    yield Made(LAYOUT, placed.places, {"begun": how.how, "why": how.why})
    yield Made(LAYOUT_STATE, placed.state)
    yield vectors.result()
