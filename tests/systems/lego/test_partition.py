"""Communities that are found beforehand, and PageRank inside of them."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import GraphragError, WarehouseError
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Subgraph
from graphrag_dagster.systems.lego.subgraphs.community_partition import (
    CommunityTexts,
    GraphPartition,
    ReportedCommunities,
    partition_of,
)
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from support.letters import Letters
from support.path_graphs import Triple, graph_of, node
from support.random_walks import random_store

#: Two groups of four, each whole, with an edge between them, and a node alone.
GROUPS = graph_of(
    [(one, "p", other) for group in ("abcd", "efgh") for one in group for other in group if one < other]
    + [("d", "q", "e"), ("z", "p", "z")]
)
EMBEDDER = CorpusEmbedder(Letters())


def labels(found: Subgraph) -> str:
    return "".join(found.store.label(one) for one in found.nodes)


def extracted(question: str, *seeds: str, store: PathStore = GROUPS, **options: Any) -> Subgraph:
    partition = partition_of(store)
    texts = CommunityTexts.of({1: "efgh", 0: "abcd"}, EMBEDDER)
    extractor = extractor_of(
        PathOptions(extraction="partition", **options),
        store,
        partition=partition,
        reports=texts,
        embedder=EMBEDDER,
    )
    return extractor.extract(PathQuery(question, tuple(node(store, one) for one in seeds))).subgraph


def test_groups_are_communities() -> None:
    found = partition_of(GROUPS)
    assert found.community_of.tolist() == [0] * 4 + [1] * 4 + [2]
    assert found.communities == 3
    assert found.members(np.array([0, 2])).tolist() == [0, 1, 2, 3, 8]


@given(st.integers(0, 10_000).map(random_store), st.randoms(use_true_random=False))
def test_a_partition_has_each_node_once_whatever_the_order(store: PathStore, drawn: random.Random) -> None:
    found = partition_of(store)
    each = [found.members(np.array([one])).tolist() for one in range(found.communities)]
    assert sorted(one for part in each for one in part) == list(range(store.nodes))
    assert [one[0] for one in each] == sorted(one[0] for one in each)
    rows: list[Triple] = [
        (store.label(head), store.relations[relation], store.label(tail))
        for head, relation, tail in zip(store.heads, store.edge_relations, store.tails, strict=True)
    ]
    drawn.shuffle(rows)
    mixed = graph_of(rows, alone=list(store.labels))
    assert partition_of(mixed).community_of.tolist() == found.community_of.tolist()


def test_a_question_stays_in_the_communities_of_its_seeds() -> None:
    assert labels(extracted("?", "a")) == "abcd"
    assert labels(extracted("?", "z")) == "z"
    both = extracted("?", "a", "h")
    assert labels(both) == "abcdefgh"
    assert len(both.edges) == 12
    assert labels(extracted("?", "a", max_ent=2)) == "ab"
    assert labels(extracted("?")) == ""


def test_a_question_goes_to_the_nearest_report() -> None:
    assert labels(extracted("efg", "e", partitions="report")) == "efgh"
    assert labels(extracted("efg", partitions="report")) == "efgh"
    elsewhere = extracted("efg", "a", partitions="report", max_ent=2)
    assert (labels(elsewhere), len(elsewhere.edges)) == ("aef", 1)


def test_the_deepest_communities_with_a_report_are_looked_through() -> None:
    ids = dict(zip("abcdefghz", GROUPS.entity_ids, strict=True))
    rows = [("C0-all", 0, "abcdefgh"), ("C1-left", 1, "abcd"), ("C1-right", 1, "efgh"), ("C2-deep", 2, "cd")]
    members = pl.DataFrame(
        [(community, level, ids[one]) for community, level, names in rows for one in names],
        schema=["community_id", "level", "entity_id"],
        orient="row",
    )
    reports = {"C0-all": "ab", "C1-right": "ef", "C2-deep": "c"}
    vectors = pl.DataFrame(
        {"report_id": list(reports), "vector": EMBEDDER.embed(list(reports.values())).tolist()}
    )
    found = ReportedCommunities.of(GROUPS, members, vectors)
    assert found.partition.community_of.tolist() == [0, 0, 1, 1, 2, 2, 2, 2, 3]
    extractor = extractor_of(
        PathOptions(extraction="partition", partitions="report"),
        GROUPS,
        partition=found.partition,
        reports=found.texts,
        embedder=EMBEDDER,
    )
    for question, nodes in (("c", "cd"), ("ab", "ab"), ("fe", "efgh")):
        assert labels(extractor.extract(PathQuery(question, ())).subgraph) == nodes


def test_where_no_report_is_nothing_is_looked_through() -> None:
    members = pl.DataFrame(schema={"community_id": pl.String, "level": pl.Int32, "entity_id": pl.String})
    vectors = pl.DataFrame(schema={"report_id": pl.String, "vector": pl.List(pl.Float32)})
    found = ReportedCommunities.of(GROUPS, members, vectors)
    assert found.partition.communities == GROUPS.nodes
    assert found.texts.nearest(EMBEDDER.embed(["a"])[0]) is None


def test_a_partition_is_read_as_it_was_written(tmp_path: Path) -> None:
    partition_of(GROUPS).write(tmp_path)
    opened = GraphPartition.open(tmp_path, GROUPS)
    assert isinstance(opened.community_of, np.memmap)
    assert opened.community_of.tolist() == partition_of(GROUPS).community_of.tolist()
    with pytest.raises(WarehouseError, match="communities of 9 nodes for a graph of 2"):
        GraphPartition.open(tmp_path, graph_of([("a", "p", "b")]))
    (tmp_path / "communities.npy").write_bytes(b"no array")
    with pytest.raises(WarehouseError, match="make them again"):
        GraphPartition.open(tmp_path, GROUPS)


def test_a_graph_without_edges_or_nodes() -> None:
    assert partition_of(graph_of([], alone="ab")).community_of.tolist() == [0, 1]
    assert partition_of(graph_of([])).communities == 0


def test_what_is_missing_is_told() -> None:
    with pytest.raises(GraphragError, match="needs the communities"):
        extractor_of(PathOptions(extraction="partition"), GROUPS)
    by_report = PathOptions(extraction="partition", partitions="report")
    with pytest.raises(GraphragError, match="needs reports"):
        extractor_of(by_report, GROUPS, partition=partition_of(GROUPS))
    other = partition_of(graph_of([("a", "p", "b")]))
    with pytest.raises(GraphragError, match="a partition of 2 nodes for a graph of 9"):
        extractor_of(PathOptions(extraction="partition"), GROUPS, partition=other)
