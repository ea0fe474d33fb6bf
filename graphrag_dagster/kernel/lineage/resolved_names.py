"""Rows under the entities that their names resolve to, and the decisions that joined those names."""

from collections.abc import Iterable
from typing import Final

import polars as pl

#: The end of a name that tells namesakes apart, in brackets.
DISAMBIGUATION_SUFFIX: Final = r"\s\([^()]*\)$"


def named_by_entities(
    instances: pl.DataFrame, columns: Iterable[str], aliases: pl.DataFrame, units: pl.DataFrame
) -> pl.DataFrame:
    """Return instances with the entities' names in place of theirs; a name of no entity stays as it is.

    Args:
        instances: with ``text_unit_id``.
        columns: that hold normalised names.
        aliases: ``document_id``, ``name`` and ``entity`` of ``resolution.aliases``.
        units: ``text_unit_id`` and ``document_id`` of ``corpus.text_chunks``.
    """
    entities = aliases.select("document_id", _name="name", _entity="entity")
    documents = units.select("text_unit_id", "document_id")
    found = instances.join(documents, on="text_unit_id", how="left", maintain_order="left")
    for column in columns:
        keys = ["document_id", column], ["document_id", "_name"]
        found = (
            found.join(entities, left_on=keys[0], right_on=keys[1], how="left", maintain_order="left")
            .with_columns(pl.coalesce("_entity", column).alias(column))
            .drop("_entity")
        )
    return found.select(instances.columns)


def with_entities(decisions: pl.DataFrame, aliases: pl.DataFrame) -> pl.DataFrame:
    """Return decisions with ``one_entities`` and ``other_entities``: whose the two names are, and ``moved``.

    ``moved`` is the number of mentions that the rarer of the two has where they were compared.

    Args:
        decisions: rows of ``resolution.decisions``.
        aliases: rows of ``resolution.aliases``.
    """
    inside = aliases.group_by("document_id", pl.col("surface").alias("_name")).agg(
        pl.col("entity").unique().sort().alias("_entities"), pl.col("mentions").sum().alias("_mentions")
    )
    titles = _entities_by_name(aliases, pl.col("title"))
    full = pl.concat(
        [titles, _entities_by_name(aliases, pl.col("full_name")).join(titles, on="_name", how="anti")]
    )
    matched = decisions.with_row_index("_at")
    for side in ("one", "other"):
        of_documents = matched.filter(pl.col("document_id").is_not_null()).join(
            inside, left_on=["document_id", side], right_on=["document_id", "_name"], how="left"
        )
        between = matched.filter(pl.col("document_id").is_null())
        known = pl.col(side).is_in(full["_name"].to_list())
        named = pl.when(known).then(side).otherwise(pl.col(side).str.replace(DISAMBIGUATION_SUFFIX, ""))
        of_corpus = between.join(full, left_on=named, right_on="_name", how="left").select(
            of_documents.columns
        )
        matched = pl.concat([of_documents, of_corpus]).rename(
            {"_entities": f"{side}_entities", "_mentions": f"_{side}_mentions"}
        )
    moved = pl.min_horizontal("_one_mentions", "_other_mentions").fill_null(0)
    return matched.sort("_at").with_columns(moved=moved).drop("_at", "_one_mentions", "_other_mentions")


def decisions_on(decisions: pl.DataFrame, aliases: pl.DataFrame, entity: str) -> pl.DataFrame:
    """Return the decisions on names of an entity, those first that joined them, which ``joins`` says.

    Args:
        decisions: rows of ``resolution.decisions``.
        aliases: rows of ``resolution.aliases``.
        entity: its normalised name.
    """
    one, other = (
        pl.col(f"{side}_entities").list.contains(entity).fill_null(value=False) for side in ("one", "other")
    )
    return (
        with_entities(decisions, aliases)
        .filter(one | other)
        .with_columns(joins=one & other & (pl.col("verdict") == "merge"))
        .sort(~pl.col("joins"), pl.col("document_id").is_not_null(), "pair_id")
    )


def _entities_by_name(aliases: pl.DataFrame, name: pl.Expr) -> pl.DataFrame:
    """Return for each name the entities that it is a name of, and how often it is mentioned."""
    return aliases.group_by(name.alias("_name")).agg(
        pl.col("entity").unique().sort().alias("_entities"), pl.col("mentions").sum().alias("_mentions")
    )
