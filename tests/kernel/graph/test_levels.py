import polars as pl
import pytest

from graphrag_dagster.kernel.graph.hierarchical_leiden import check_partition, coverage, levels
from graphrag_dagster.kernel.tables import core_tables as tables

# From Local to Global, §4.1.2, by hand: L0 A={1..6}, B={7,8}; A→A1={1..4}, A2={5,6}; A1→{1,2},{3,4}.
TREE = {
    "A": (0, None, "123456"),
    "B": (0, None, "78"),
    "A1": (1, "A", "1234"),
    "A2": (1, "A", "56"),
    "12": (2, "A1", "12"),
    "34": (2, "A1", "34"),
}


@pytest.fixture
def communities() -> pl.DataFrame:
    parents = {parent for _, parent, _ in TREE.values()}
    rows = [
        {
            "community_id": name,
            "human_readable_id": number,
            "level": level,
            "parent_id": parent,
            "is_leaf": name not in parents,
            "size": len(inside),
            "internal_edges": 1,
            "summed_degree": 1,
        }
        for number, (name, (level, parent, inside)) in enumerate(TREE.items())
    ]
    return tables.COMMUNITIES.frame(rows)


@pytest.fixture
def members() -> pl.DataFrame:
    rows = [
        {"community_id": name, "entity_id": entity, "level": level}
        for name, (level, _, inside) in TREE.items()
        for entity in inside
    ]
    return tables.COMMUNITY_MEMBERS.frame(rows)


def test_leaves_are_projected_downwards(communities: pl.DataFrame, members: pl.DataFrame) -> None:
    found = levels(communities, members)
    assert tables.COMMUNITY_LEVELS.validated(found).equals(found)
    sets = {k: set(rows["community_id"]) for (k,), rows in found.group_by("level")}
    assert sets == {
        0: {"A", "B"},
        1: {"A1", "A2", "B"},
        2: {"12", "34", "A2", "B"},
        3: {"12", "34", "A2", "B"},
    }
    assert check_partition(found, members) == []
    at_two = found.filter(pl.col("level") == 2)
    assert dict(at_two.select("community_id", "projected").rows()) == {
        "12": False,
        "34": False,
        "A2": True,
        "B": True,
    }


def test_levels_go_as_deep_as_the_communities(communities: pl.DataFrame, members: pl.DataFrame) -> None:
    deeper = communities.vstack(
        communities.filter(pl.col("community_id") == "12").with_columns(
            community_id=pl.lit("deep"), level=pl.lit(5, pl.Int32)
        )
    )
    assert levels(deeper, members)["level"].unique().sort().to_list() == [0, 1, 2, 3, 4, 5]


def test_no_communities_no_rows(communities: pl.DataFrame, members: pl.DataFrame) -> None:
    none = levels(communities.clear(), members.clear())
    assert tables.COMMUNITY_LEVELS.validated(none).is_empty()
    assert check_partition(none, members.clear()) == []


def test_all_levels_up_to_k_are_no_partition(members: pl.DataFrame) -> None:
    cumulative = pl.concat(
        members.filter(pl.col("level") <= k).select(
            pl.lit(k, pl.Int32).alias("level"), "entity_id", "community_id", projected=pl.lit(value=False)
        )
        for k in range(4)
    )
    problems = check_partition(cumulative, members)
    assert problems[0] == "C1: 14 rows place 8 of 8 clustered entities; each should be there once"
    assert [problem[:3] for problem in problems] == ["C1:", "C2:", "C3:"]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda rows: rows.filter(pl.col("entity_id") != "7"), "C0: 7 rows place 7 of 8"),
        (
            lambda rows: rows.with_columns(
                community_id=pl.when(pl.col("entity_id") == "1")
                .then(pl.lit("B"))
                .otherwise(pl.col("community_id"))
            ),
            "C0: 8 rows place 7 of 8",
        ),
        (
            lambda rows: rows.with_columns(level=pl.lit(0, pl.Int32)).unique(["entity_id"], keep="last"),
            "C0: 8 rows place 2 of 8",
        ),
        (lambda rows: rows.clear(), "no levels"),
    ],
)
def test_what_is_no_partition_is_named(communities, members, wrong, problem) -> None:
    rows = levels(communities, members).sort("level", "entity_id")
    assert any(problem in found for found in check_partition(wrong(rows), members))


def test_coverage_counts_what_no_community_holds(members: pl.DataFrame) -> None:
    entities = pl.DataFrame({"entity_id": list("1234567890")})
    assert coverage(entities, members) == {"nodes": 10, "clustered": 8, "isolated": 2, "coverage": 0.8}
    assert coverage(entities.clear(), members.clear())["coverage"] == 1.0
