"""Lineage from community summaries to the words of the documents, and back."""

import polars as pl

from graphrag_dagster.kernel.lineage.instance_lineage import triple_steps
from graphrag_dagster.kernel.lineage.lineage_steps import (
    LineageRows,
    LineageStep,
    RowKind,
    SystemLineage,
    quotation_step,
    units_of,
)

_TRIPLES = "graph.triples"
_MEMBERS = "coterag.members"
_SUMMARIES = "coterag.summaries"
_QUOTES = "coterag.summary_quotes"


def summary_step(rows: LineageRows, community_id: str, most: int | None) -> LineageStep:
    """Return the summary of a community with the words it was made of, and the community's triples.

    Args:
        rows: the tables.
        community_id: of CoTeRAG-S.
        most: most quotations, and most triples; None for all.
    """
    (row,) = rows.of(_SUMMARIES, "community_id", [community_id]).iter_rows(named=True)
    quotes = rows.of(_QUOTES, "community_id", [community_id]).sort("position")
    units = units_of(rows, quotes["text_unit_id"].unique())
    said = [
        quotation_step(units, unit, start, end)
        for unit, start, end in quotes.select("text_unit_id", "start_char", "end_char").iter_rows()
    ]
    words = [one for one in said if one is not None]
    members = rows.of(_MEMBERS, "community_id", [community_id], ("entity_id",))["entity_id"]
    inside = (
        rows.of(_TRIPLES, "head_id", members, ("triple_id", "tail_id", "strength"))
        .filter(pl.col("tail_id").is_in(members.implode()))
        .sort(-pl.col("strength"), "triple_id")["triple_id"]
    )
    shown, kept = inside[:most], words[:most]
    return LineageStep(
        "summary",
        community_id,
        row["title"],
        row["text"],
        {"engine": row["engine"], "members": len(members), "triples": len(inside)},
        steps=(*kept, *triple_steps(rows, shown)),
        left_out=len(words) - len(kept) + len(inside) - len(shown),
    )


def affected_summaries(rows: LineageRows, triples: pl.DataFrame, gone: pl.Series) -> pl.DataFrame:
    """Return the communities of CoTeRAG-S that would be told anew, the most concerned first.

    Args:
        rows: the tables.
        triples: that go or lose a text unit.
        gone: ids of entities that go.
    """
    members = rows.all(_MEMBERS, ("entity_id", "community_id"))
    of = dict(members.iter_rows())
    ends = triples.select(
        pl.col("head_id").replace_strict(of, default=None, return_dtype=pl.String).alias("community_id"),
        pl.col("tail_id").replace_strict(of, default=None, return_dtype=pl.String).alias("other"),
    ).filter(pl.col("community_id") == pl.col("other"))
    stated = ends.group_by("community_id").agg(triples=pl.len().cast(pl.Int64))
    lost = (
        members.filter(pl.col("entity_id").is_in(gone.implode()))
        .group_by("community_id")
        .agg(lost=pl.len().cast(pl.Int64))
    )
    found = stated.join(lost, on="community_id", how="full", coalesce=True)
    titles = rows.of(_SUMMARIES, "community_id", found["community_id"], ("community_id", "title", "engine"))
    return (
        titles.join(found, on="community_id")
        .with_columns(pl.col("triples", "lost").fill_null(0))
        .sort(-pl.col("triples"), -pl.col("lost"), "community_id")
    )


LINEAGE = SystemLineage(
    kind="summary",
    rows=RowKind(_SUMMARIES, "community_id", pl.col("title"), numbered=False),
    step=summary_step,
    affected=affected_summaries,
)
