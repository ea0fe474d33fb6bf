"""Triples and relationships of a corpus are two views of the same records; windows of characters go the whole way."""

from pathlib import Path

import polars as pl

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.tables import GLEANED_RELATIONSHIPS
from support.corpora import write_corpus


def test_triples_and_edges_say_the_same_of_the_same_entities(coast: Path) -> None:
    warehouse = Warehouse()
    triples, edges = (warehouse.read(table, "coast") for table in (tables.TRIPLES, tables.RELATIONSHIPS))
    undirected = triples.select(
        pl.min_horizontal("head", "tail").alias("source"),
        pl.max_horizontal("head", "tail").alias("target"),
        "instances",
    )
    counted = undirected.group_by("source", "target").agg(pl.col("instances").sum())
    assert set(counted.rows()) == set(edges.select("source", "target", "instances").rows())
    assert {"co_occurs"} < set(triples["relation"])
    entities = dict(warehouse.read(tables.ENTITIES, "coast").select("name", "entity_id").rows())
    assert all(entities[name] == found for name, found in triples.select("tail", "tail_id").rows())


def test_a_triple_leads_to_the_words_that_it_rests_on(coast: Path) -> None:
    warehouse = Warehouse()
    texts = dict(warehouse.read(tables.TEXT_CHUNKS, "coast").select("text_unit_id", "text").rows())
    records = warehouse.read(GLEANED_RELATIONSHIPS, "coast")
    said = set(records.select("text_unit_id", "description").rows())
    for row in warehouse.read(tables.TRIPLES, "coast").iter_rows(named=True):
        words = texts[row["evidence_unit_id"]][row["start_char"] : row["end_char"]]
        assert (row["evidence_unit_id"], " ".join(words.split())) in said
        assert row["evidence_unit_id"] in row["text_unit_ids"]


def test_a_corpus_of_windows_of_characters_is_indexed_with_every_check(home: Path) -> None:
    write_corpus(home / "corpora", "short", "text_units: {strategy: characters}")
    run_job("short")
    units = Warehouse().read(tables.TEXT_CHUNKS, "short")
    assert set(units["strategy"]) == {"characters"}
    assert units["text"].str.len_chars().max() <= 200
    assert Warehouse().read(tables.TRIPLES, "short").height > 0
