"""From groups of instances to the nodes and edges of the graph (paper §3.1.3, spec_graphrag §4)."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.tasks.ports import DescriptionGroup, MergedDescription

Weight = Literal["count", "strength_sum"]

_KEYS = (("name",), ("source", "target"), ("subject", "object"))
_DESCRIPTION = ("description", "description_engine", "description_problem", "description_repaired")


def description_groups(groups: pl.DataFrame) -> list[DescriptionGroup]:
    """Return what the description merger gets, in the order of the rows.

    Args:
        groups: rows of ``staging.entity_groups``, ``staging.relationship_groups`` or
            ``staging.claim_groups``; their descriptions are distinct and in order of first appearance.
    """
    keys = next(keys for keys in _KEYS if keys[0] in groups.columns)
    return [
        DescriptionGroup(names=tuple(filter(None, names)), descriptions=tuple(descriptions))
        for *names, descriptions in groups.select(*keys, "descriptions").iter_rows()
    ]


def merge_entities(
    groups: pl.DataFrame, relationship_groups: pl.DataFrame, merged: Sequence[MergedDescription]
) -> pl.DataFrame:
    """Return the rows of ``graph.entities``, in name order.

    Args:
        groups: rows of ``staging.entity_groups``.
        relationship_groups: rows of ``staging.relationship_groups``; an entity's degree is its number of
            distinct neighbours there.
        merged: a description per row of ``groups``, in the same order.

    Raises:
        GraphragError: not one description per group.
    """
    ends = pl.concat([relationship_groups["source"], relationship_groups["target"]])
    degrees = ends.alias("name").value_counts(name="degree")
    ids = [stable_id("entity", name) for name in groups["name"].sort()]
    return (
        _described(groups, merged)
        .join(degrees, on="name", how="left")
        .sort("name")
        .with_row_index("human_readable_id")
        .select(
            pl.Series("entity_id", ids, pl.String),
            pl.col("human_readable_id").cast(pl.Int32),
            *("name", "title", "names", "type", *_DESCRIPTION),
            *("text_unit_ids", "frequency", "instances"),
            pl.col("degree").fill_null(0).cast(pl.Int32),
        )
    )


def merge_relationships(
    groups: pl.DataFrame, entities: pl.DataFrame, merged: Sequence[MergedDescription], weight: Weight
) -> pl.DataFrame:
    """Return the rows of ``graph.relationships``, in the order of source and target.

    Args:
        groups: rows of ``staging.relationship_groups``.
        entities: rows of ``graph.entities``.
        merged: a description per row of ``groups``, in the same order.
        weight: ``count`` is the number of relation records in both directions, ``strength_sum`` the sum of
            their strengths.

    Raises:
        GraphragError: not one description per group, or an end that is no entity; names the pair.
    """
    ends = entities.select("name", "entity_id", "degree")
    edges = (
        _described(groups, merged)
        .join(ends.select(source="name", source_id="entity_id", one="degree"), on="source", how="left")
        .join(ends.select(target="name", target_id="entity_id", other="degree"), on="target", how="left")
        .sort("source", "target")
        .with_row_index("human_readable_id")
    )
    _check_ends(edges)
    value = pl.col("instances") if weight == "count" else pl.col("strength")
    pairs = edges.select("source", "target").rows()
    return edges.select(
        pl.Series("relationship_id", [stable_id("relationship", *pair) for pair in pairs], pl.String),
        pl.col("human_readable_id").cast(pl.Int32),
        *("source", "target", "source_id", "target_id"),
        *_DESCRIPTION,
        value.cast(pl.Float64).alias("weight"),
        "instances",
        (pl.col("one") + pl.col("other")).cast(pl.Int32).alias("combined_degree"),
        "text_unit_ids",
    )


def merge_claims(groups: pl.DataFrame, merged: Sequence[MergedDescription]) -> pl.DataFrame:
    """Return the rows of ``graph.claims``, in the order of subject, object and type.

    Args:
        groups: rows of ``staging.claim_groups``.
        merged: a description per row of ``groups``, in the same order.

    Raises:
        GraphragError: not one description per group.
    """
    keys = ("subject", "object", "type")
    claims = _described(groups, merged).sort(keys).with_row_index("human_readable_id")
    ids = [stable_id("claim", *key) for key in claims.select(keys).iter_rows()]
    return claims.select(
        pl.Series("claim_id", ids, pl.String),
        pl.col("human_readable_id").cast(pl.Int32),
        "subject",
        pl.col("object").replace("", None),
        *("type", "status", "start_date", "end_date"),
        *_DESCRIPTION,
        *("text_unit_ids", "instances"),
    )


def _described(groups: pl.DataFrame, merged: Sequence[MergedDescription]) -> pl.DataFrame:
    if len(merged) != len(groups):
        raise GraphragError(
            f"the description merger returned {len(merged)} descriptions for {len(groups)} groups: it must "
            "return one per group, in order"
        )
    texts = [item.text for item in merged]
    kept = [list(given) in ([], [text]) for given, text in zip(groups["descriptions"], texts, strict=True)]
    engines = ["as_is" if same else item.engine for same, item in zip(kept, merged, strict=True)]
    return groups.with_columns(
        pl.Series("description", texts, pl.String),
        pl.Series("description_engine", engines, pl.String),
        pl.Series("description_problem", [item.problem for item in merged], pl.String),
        pl.Series("description_repaired", [item.usage.repaired for item in merged], pl.Int32),
    )


def _check_ends(edges: pl.DataFrame) -> None:
    dangling = edges.filter(pl.col("source_id").is_null() | pl.col("target_id").is_null())
    if len(dangling):
        source, target = dangling.select("source", "target").row(0)
        raise GraphragError(
            f"{len(dangling)} relationships have an end that is not an entity, for example "
            f"{source!r}–{target!r}: entities and relationships come from different runs; materialise "
            "the entities again"
        )
