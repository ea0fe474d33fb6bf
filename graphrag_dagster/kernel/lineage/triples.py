"""From triples to the words of the documents, and back."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.imported import ImportedRows
from graphrag_dagster.kernel.lineage.instances import quoted
from graphrag_dagster.kernel.lineage.rows import Rows
from graphrag_dagster.kernel.lineage.steps import Step, units_of
from graphrag_dagster.kernel.text.passages import Passage

_TRIPLES = "graph.triples"
_SAID = pl.format("{} {} {}", "head", "relation", "tail")


def triple_steps(rows: Rows, ids: Iterable[str], most: int | None = 5) -> list[Step]:
    """Return triples with what states them, words or rows of a graph, in the order of their ids.

    Args:
        rows: the tables.
        ids: of the triples.
        most: most rows of a graph for each; None for all.
    """
    found = rows.of(_TRIPLES, "triple_id", ids).with_columns(title=_SAID)
    units = units_of(rows, found["evidence_unit_id"].drop_nulls().unique())
    imported = ImportedRows(rows, most).triples(found)
    return [
        _triple_step(row, units, *imported.get(row["triple_id"], ((), 0)))
        for row in found.iter_rows(named=True)
    ]


def stated_in(rows: Rows, units: pl.Series) -> pl.DataFrame:
    """Return the triples that some text units state: ``triple_id``, ``head_id``, ``tail_id``."""
    known = rows.all(_TRIPLES, ("triple_id", "head_id", "tail_id", "text_unit_ids"))
    told = (
        known.select("triple_id", "text_unit_ids")
        .explode("text_unit_ids")
        .filter(pl.col("text_unit_ids").is_in(units.implode()))
    )
    return known.drop("text_unit_ids").join(told.select("triple_id").unique(), on="triple_id", how="semi")


def _triple_step(
    row: Mapping[str, Any], units: Mapping[str, Passage], imported: tuple[Step, ...], left_out: int
) -> Step:
    facts = {
        "instances": row["instances"],
        "strength": row["strength"],
        "text_units": len(row["text_unit_ids"]),
    }
    if imported:
        return Step("triple", row["triple_id"], row["title"], facts=facts, steps=imported, left_out=left_out)
    unit = units[row["evidence_unit_id"]]
    start, end = row["start_char"], row["end_char"]
    below = quoted(units, unit.text_unit_id, *((0, len(unit.text)) if start is None else (start, end)))
    return Step("triple", row["triple_id"], row["title"], facts=facts, steps=(below,) if below else ())
