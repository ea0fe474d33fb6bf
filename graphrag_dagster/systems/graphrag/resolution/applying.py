"""Instances under the entities that their names resolve to."""

from collections.abc import Iterator
from itertools import combinations

import polars as pl

from graphrag_dagster.systems.graphrag.resolution.people import Decisions, Word


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


_KEY = ["document_id", "name"]


def check_names(
    gleaned_entities: pl.DataFrame, text_chunks: pl.DataFrame, aliases: pl.DataFrame
) -> list[str]:
    """Return where names of instances and rows of ``resolution.aliases`` are not one to one.

    Args:
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        text_chunks: rows of ``corpus.text_chunks``.
        aliases: rows of ``resolution.aliases``.
    """
    units = text_chunks.select("text_unit_id", "document_id")
    named = (
        gleaned_entities.select("text_unit_id", "name").join(units, on="text_unit_id").select(_KEY).unique()
    )
    rows = aliases.group_by(_KEY).len("rows")
    found = named.with_columns(named=True).join(rows, on=_KEY, how="full", coalesce=True)
    wrong = found.filter((pl.col("rows").fill_null(0) != 1) | pl.col("named").is_null()).sort(_KEY)
    return [
        f"{name!r} of document {document} has {rows or 0} rows"
        + ("" if is_named else ", and does not occur there")
        for document, name, is_named, rows in wrong.select(*_KEY, "named", "rows").iter_rows()
    ]


def check_entities(aliases: pl.DataFrame, entities: pl.DataFrame) -> list[str]:
    """Return which entities have no name, and which names have no entity.

    Args:
        aliases: rows of ``resolution.aliases``.
        entities: rows of ``graph.entities``.
    """
    known, named = set(entities["name"]), set(aliases["entity"])
    return [
        *(f"{name!r} has names in resolution, but is not an entity" for name in sorted(named - known)),
        *(f"the entity {name!r} has no name in resolution" for name in sorted(known - named)),
    ]


def check_people(aliases: pl.DataFrame, documents: pl.DataFrame, people: Decisions) -> list[str]:
    """Return names that a person said to be different and that are names of one entity all the same.

    Args:
        aliases: rows of ``resolution.aliases``.
        documents: ``document_id`` and ``path`` of ``corpus.documents``.
        people: what people decided, documents by path or id.
    """
    spoken = [word for word in people.words if word.verdict == "different"]
    keys = {key for word in spoken for key in word.keys}
    known = (
        aliases.filter(pl.col("name").is_in(keys) | pl.col("entity").is_in(keys))
        .select(*_KEY, "entity")
        .join(documents.select("document_id", "path"), on="document_id", how="left")
    )
    return [problem for word in spoken for problem in _joined(known, word)]


def _joined(known: pl.DataFrame, word: Word) -> Iterator[str]:
    inside, own = known, pl.col("entity")
    if word.document is not None:
        inside = known.filter((pl.col("path") == word.document) | (pl.col("document_id") == word.document))
        own = pl.col("name")
    entities = {
        key: set(inside.filter((pl.col("name") == key) | (own == key))["entity"]) for key in word.keys
    }
    for one, other in combinations(word.keys, 2):
        for entity in sorted(entities[one] & entities[other]):
            yield f"{one!r} and {other!r} are names of {entity!r}, but a person declared them different"
