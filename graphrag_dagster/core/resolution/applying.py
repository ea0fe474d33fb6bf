"""Instances under the entities that their names are resolved to."""

import polars as pl


class Resolved:
    """Tells for names in text units whose they are.

    Args:
        aliases: ``document_id``, ``name`` and ``entity`` of ``resolution.aliases``.
        units: ``text_unit_id`` and ``document_id`` of ``corpus.text_chunks``.
    """

    def __init__(self, aliases: pl.DataFrame, units: pl.DataFrame) -> None:
        self._aliases = aliases.select("document_id", _name="name", _entity="entity")
        self._units = units.select("text_unit_id", "document_id")

    def named(self, instances: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """Return instances with the entities' names in place of theirs; a name of no entity stays as it is.

        Args:
            instances: with ``text_unit_id``.
            columns: that hold normalised names.
        """
        found = instances.join(self._units, on="text_unit_id", how="left", maintain_order="left")
        for column in columns:
            found = (
                found.join(
                    self._aliases,
                    left_on=["document_id", column],
                    right_on=["document_id", "_name"],
                    how="left",
                    maintain_order="left",
                )
                .with_columns(pl.coalesce("_entity", column).alias(column))
                .drop("_entity")
            )
        return found.select(instances.columns)
