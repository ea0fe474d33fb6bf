"""Corpora that are nothing but triples, published."""

from collections.abc import Iterable

import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.storage.published import Published, publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables


def publish_triples(
    warehouse: Warehouse, corpus: str, triples: Iterable[tuple[str, str, str]], described: str = ""
) -> Published:
    """Fill the tables of the graph with triples of names and labels, and publish them.

    Args:
        warehouse: where the tables are put.
        corpus: the corpus.
        triples: head, relation and tail; one that leads to its own head is left out.
        described: description of every entity.
    """
    stated = pl.DataFrame(list(dict.fromkeys(triples)), ["head", "relation", "tail"], orient="row")
    stated = stated.filter(pl.col("head") != pl.col("tail"))
    ends = pl.concat(
        [
            stated.select(name="head", other="tail"),
            stated.select(name="tail", other="head"),
        ]
    )
    degrees = ends.group_by("name").agg(degree=pl.col("other").n_unique(), instances=pl.len())
    names = degrees["name"].to_list()
    ids = pl.DataFrame({"name": names, "entity_id": [stable_id(name) for name in names]})
    title = pl.col("name")
    entities = degrees.join(ids, on="name").select(
        "entity_id",
        pl.int_range(pl.len(), dtype=pl.Int32).alias("human_readable_id"),
        "name",
        title.alias("title"),
        pl.concat_list(title).alias("names"),
        pl.lit("FILM").alias("type"),
        pl.lit(described).alias("description"),
        pl.lit("extractive").alias("description_engine"),
        pl.lit(None, pl.String).alias("description_problem"),
        pl.lit(False).alias("description_repaired"),
        pl.lit([], pl.List(pl.String)).alias("text_unit_ids"),
        pl.lit(0, pl.Int32).alias("frequency"),
        pl.col("instances").cast(pl.Int32),
        pl.col("degree").cast(pl.Int32),
    )
    rows = (
        stated.join(ids.rename({"name": "head", "entity_id": "head_id"}), on="head")
        .join(ids.rename({"name": "tail", "entity_id": "tail_id"}), on="tail")
        .select(
            pl.concat_str("head", "relation", "tail", separator="\x1f").alias("triple_id"),
            pl.int_range(pl.len(), dtype=pl.Int32).alias("human_readable_id"),
            *("head", "relation", "tail", "head_id", "tail_id"),
            pl.lit([], pl.List(pl.String)).alias("text_unit_ids"),
            pl.lit(1, pl.Int32).alias("instances"),
            pl.lit(1.0).alias("strength"),
            pl.lit("").alias("evidence_unit_id"),
            pl.lit(None, pl.Int32).alias("start_char"),
            pl.lit(None, pl.Int32).alias("end_char"),
        )
    )
    for table in (tables.DOCUMENTS, tables.TEXT_CHUNKS, tables.RELATIONSHIPS):
        warehouse.write(table, corpus, table.empty())
    warehouse.write(tables.ENTITIES, corpus, entities.select(tables.ENTITIES.column_names))
    warehouse.write(tables.TRIPLES, corpus, rows)
    return publish(warehouse, corpus)[0]
