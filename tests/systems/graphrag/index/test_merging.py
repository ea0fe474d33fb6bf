import polars as pl
import pytest

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tasks.task_ports import DescriptionGroup, MergedDescription
from graphrag_dagster.systems.graphrag.index.merged_graph import (
    description_groups,
    merge_claims,
    merge_entities,
    merge_relationships,
)
from graphrag_dagster.systems.graphrag.tables import CLAIM_GROUPS, RELATIONSHIP_GROUPS
from graphrag_dagster.systems.graphrag.tables import ENTITY_GROUPS as ENTITY_GROUPS_TABLE


def entity(name: str, descriptions: list[str]) -> dict[str, object]:
    return {
        "name": name,
        "title": name.title(),
        "names": [name.title()],
        "type": "GEO",
        "descriptions": descriptions,
        "text_unit_ids": ["t1", "t2"],
        "frequency": 2,
        "instances": 3,
    }


def relation(source: str, target: str, descriptions: list[str]) -> dict[str, object]:
    return {
        "source": source,
        "target": target,
        "descriptions": descriptions,
        "text_unit_ids": ["t2"],
        "instances": 3,
        "strength": 7.5,
    }


ENTITY_GROUPS = ENTITY_GROUPS_TABLE.frame(
    [entity("MILL", ["A mill.", "Burnt down."]), entity("HARBOUR", ["A harbour."]), entity("ISLE", [])]
)
RELATION_GROUPS = RELATIONSHIP_GROUPS.frame(
    [relation("HARBOUR", "MILL", ["Ships flour."]), relation("HARBOUR", "ISLE", ["Ferry.", "Cable."])]
)
MERGED = [
    MergedDescription("A harbour.", "llm"),
    MergedDescription("", "llm"),
    MergedDescription("A mill that burnt down.", "extractive", problem="no reply"),
]


@pytest.fixture
def entities() -> pl.DataFrame:
    return merge_entities(ENTITY_GROUPS, RELATION_GROUPS, MERGED)


def test_groups_go_to_the_merger_in_the_order_of_the_rows() -> None:
    assert description_groups(ENTITY_GROUPS)[2] == DescriptionGroup(("MILL",), ("A mill.", "Burnt down."))
    assert description_groups(RELATION_GROUPS)[0] == DescriptionGroup(
        ("HARBOUR", "ISLE"), ("Ferry.", "Cable.")
    )


def test_claims_are_one_by_subject_object_and_type() -> None:
    about = [("MILL", "", "FIRE", ["It burnt.", "Burnt down."]), ("ISLE", "MILL", "SALE", ["Sold."])]
    groups = CLAIM_GROUPS.frame(
        [
            {
                "subject": subject, "object": other, "type": kind, "status": "TRUE", "start_date": "1990",
                "end_date": None, "descriptions": said, "text_unit_ids": ["t1"], "instances": len(said),
            }
            for subject, other, kind, said in about
        ]
    )  # fmt: skip
    assert [one.names for one in description_groups(groups)] == [("ISLE", "MILL"), ("MILL",)]
    merged = [MergedDescription("Sold.", "llm"), MergedDescription("It burnt down.", "llm")]
    claims = merge_claims(groups, merged)
    tables.MERGED_CLAIMS.validated(claims)
    assert claims.select(
        "human_readable_id", "subject", "object", "description", "description_engine"
    ).rows() == [
        (0, "ISLE", "MILL", "Sold.", "as_is"),
        (1, "MILL", None, "It burnt down.", "llm"),
    ]
    assert claims["claim_id"].to_list() == [
        stable_id("claim", "ISLE", "MILL", "SALE"),
        stable_id("claim", "MILL", "", "FIRE"),
    ]
    assert merge_claims(groups.clear(), []).schema == tables.MERGED_CLAIMS.empty().schema


def test_entities(entities: pl.DataFrame) -> None:
    assert entities.schema == tables.ENTITIES.empty().schema
    tables.ENTITIES.validated(entities)
    assert entities.select(
        "human_readable_id", "name", "degree", "description_engine", "description_problem"
    ).rows() == [
        (0, "HARBOUR", 2, "as_is", None),
        (1, "ISLE", 1, "as_is", None),
        (2, "MILL", 1, "extractive", "no reply"),
    ]
    assert entities["entity_id"].to_list() == [stable_id("entity", name) for name in entities["name"]]


def test_rows_in_any_order_with_their_descriptions_give_the_same(entities: pl.DataFrame) -> None:
    order = [2, 0, 1]
    again = merge_entities(ENTITY_GROUPS[order], RELATION_GROUPS.reverse(), [MERGED[i] for i in order])
    assert again.equals(entities)


@pytest.mark.parametrize(("weight", "value"), [("count", 3.0), ("strength_sum", 7.5)])
def test_relationships(entities: pl.DataFrame, weight, value: float) -> None:
    merged = [MergedDescription("Ferry. Cable.", "extractive"), MergedDescription("Ships flour.", "llm")]
    found = merge_relationships(RELATION_GROUPS, entities, merged, weight)
    assert found.schema == tables.RELATIONSHIPS.empty().schema
    tables.RELATIONSHIPS.validated(found)
    assert found.select(
        "human_readable_id", "source", "target", "description_engine", "weight", "combined_degree"
    ).rows() == [
        (0, "HARBOUR", "ISLE", "extractive", value, 3),
        (1, "HARBOUR", "MILL", "as_is", value, 3),
    ]
    assert found["relationship_id"][0] == stable_id("relationship", "HARBOUR", "ISLE")
    assert found["target_id"][1] == stable_id("entity", "MILL")


def test_nothing_gives_empty_tables() -> None:
    entities = merge_entities(ENTITY_GROUPS.clear(), RELATION_GROUPS.clear(), [])
    tables.ENTITIES.validated(entities)
    tables.RELATIONSHIPS.validated(merge_relationships(RELATION_GROUPS.clear(), entities, [], "count"))


def test_a_missing_description_or_end_is_refused(entities: pl.DataFrame) -> None:
    with pytest.raises(GraphragError, match="returned 2 descriptions for 3 groups"):
        merge_entities(ENTITY_GROUPS, RELATION_GROUPS, MERGED[:2])
    with pytest.raises(GraphragError, match="'HARBOUR'–'MILL'"):
        merge_relationships(RELATION_GROUPS, entities.filter(pl.col("name") != "MILL"), MERGED[:2], "count")
