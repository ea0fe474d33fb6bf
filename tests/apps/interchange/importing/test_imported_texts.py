"""Texts, communities and sentences of graphs from elsewhere, as the tables and searches have them."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.documents.imported_texts import imported_texts
from graphrag_dagster.kernel.documents.text_units import check_texts
from graphrag_dagster.kernel.graph.hierarchical_leiden import check_partition, levels
from graphrag_dagster.kernel.tables.import_tables import (
    IMPORTED_COMMUNITIES,
    IMPORTED_DOCUMENTS,
    IMPORTED_ENTITIES,
    IMPORTED_TEXT_UNITS,
)
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.kernel.tasks.task_ports import MergedDescription
from graphrag_dagster.systems.graphrag.index.graph_communities import adopt_hierarchy
from graphrag_dagster.systems.graphrag.index.merged_graph import merge_entities, merge_relationships
from graphrag_dagster.systems.graphrag.tables import ENTITY_GROUPS, RELATIONSHIP_GROUPS

WORDS = st.lists(st.sampled_from(["quay", "vessel", "rent", "ärger", "潮"]), min_size=1, max_size=6).map(
    " ".join
)


def frame(table: Table, *rows: dict[str, object]) -> pl.DataFrame:
    same = {"graph": "g", "path": "g.parquet", "attributes": "{}"}
    return table.rows({"row": place, **same, **row} for place, row in enumerate(rows, 1))


def document(key: str, text: str) -> dict[str, object]:
    return {"key": key, "title": key, "text": text}


def unit(key: str, text: str, *documents: str) -> dict[str, object]:
    made = {"key": key, "text": text, "document_keys": list(documents)}
    return {**made, "text_unit_id": stable_id("text unit", "g", key, text)}


@given(
    texts=st.lists(WORDS, min_size=1, max_size=4),
    cuts=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(1, 20)), max_size=8),
    strays=st.lists(WORDS, max_size=3),
)
def test_every_unit_is_there_and_stands_where_it_says(
    texts: list[str], cuts: list[tuple[int, int, int]], strays: list[str]
) -> None:
    documents = [document(f"d{place}", text) for place, text in enumerate(texts)]
    units = [
        unit(f"u{number}", texts[of % len(texts)][start : start + length], f"d{of % len(texts)}", "d0")
        for number, (of, start, length) in enumerate(cuts)
        if texts[of % len(texts)][start : start + length]
    ]
    units += [unit(f"s{place}", f"{text}!", "nowhere") for place, text in enumerate(strays)]
    made = imported_texts(
        frame(IMPORTED_DOCUMENTS, *documents), frame(IMPORTED_TEXT_UNITS, *units), "cl100k_base"
    )
    assert check_texts(made.documents, made.text_units) == []
    assert set(made.text_units["text_unit_id"]) == {one["text_unit_id"] for one in units}
    assert made.documents.height == len(texts) + bool(strays)
    in_place = made.documents.filter(pl.col("source_id").is_not_null()).sort("source_id")
    assert in_place["text"].to_list() == texts


def test_a_document_in_which_its_units_do_not_stand_is_made_of_them() -> None:
    made = imported_texts(
        frame(IMPORTED_DOCUMENTS, document("d", "The quay was leased.")),
        frame(IMPORTED_TEXT_UNITS, unit("u", "The quay was", "d"), unit("v", "leased, they said", "d")),
        "cl100k_base",
    )
    assert made.documents["text"].to_list() == ["The quay was\n\nleased, they said"]
    assert check_texts(made.documents, made.text_units) == []


def graph(*pairs: tuple[str, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    names = sorted({name for pair in pairs for name in pair} | {"Isolated"})
    nothing = {"descriptions": [], "text_unit_ids": [], "instances": 1}
    groups = ENTITY_GROUPS.rows(
        {"name": name, "title": name, "names": [name], "type": "T", "frequency": 0, **nothing}
        for name in names
    )
    edges = RELATIONSHIP_GROUPS.rows(
        {"source": min(pair), "target": max(pair), "strength": 1.0, **nothing} for pair in pairs
    )
    said = MergedDescription("", "extractive")
    entities = merge_entities(groups, edges, [said] * groups.height)
    return entities, merge_relationships(edges, entities, [said] * edges.height, "count")


def test_damaged_communities_are_a_hierarchy_all_the_same() -> None:
    entities, relationships = graph(("A", "B"), ("B", "C"), ("C", "D"))
    declared = frame(
        IMPORTED_ENTITIES,
        *(
            {
                "key": f"k{name}",
                "name": name,
                "title": name,
                "type": "T",
                "description": "",
                "text_unit_keys": [],
            }
            for name in "ABCD"
        ),
        {"key": "kI", "name": "Isolated", "title": "I", "type": "T", "description": "", "text_unit_keys": []},
    )

    def community(key: str, level: int, parent: str | None, members: str) -> dict[str, object]:
        named = {"key": key, "level": level, "parent_key": parent, "title": key}
        return {**named, "entity_keys": [f"k{one}" for one in members]}

    communities = frame(
        IMPORTED_COMMUNITIES,
        community("0", 0, None, "ABI"),
        community("1", 0, "9", "CD"),
        community("2", 1, "0", "A"),
        community("3", 1, "3", "CA"),
        community("4", 1, "2", "D"),
        community("5", 0, None, "XYZ"),
        community("1", 0, None, "A"),
    )
    made, ids = adopt_hierarchy(communities, declared, entities, relationships)
    assert set(ids) == {("g", key) for key in "01234"}
    rows = {row["community_id"]: row for row in made.communities.iter_rows(named=True)}
    assert rows[ids["g", "2"]]["parent_id"] == ids["g", "0"]
    assert [rows[ids["g", key]]["parent_id"] for key in "134"] == [None, None, None]
    # A is in the first community of its level that has it.
    assert rows[ids["g", "3"]]["size"] == 1
    assert check_partition(levels(made.communities, made.members), made.members) == []
