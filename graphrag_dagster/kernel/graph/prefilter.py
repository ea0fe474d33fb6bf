"""Which triples tell nothing of the world, such as types and keys of Freebase (spec_lego §1)."""

from dataclasses import dataclass

import polars as pl

#: What the paper leaves out of Freebase (appendix B.2, and the lists of its code).
FREEBASE_RELATIONS = ("type.object.type", "type.object.name")
FREEBASE_PREFIXES = ("type.type.", "common.", "freebase.")
FREEBASE_PARTS = (
    *("sameAs", "sameas", "music.release", "authority.musicbrainz", "22-rdf-syntax-ns#type", "book.isbn"),
    *("common.licensed_object", "tv.tv_series_episode", "type.namespace", "type.content", "type.permission"),
    *("type.object.key", "type.object.permission", "type.type.instance", "topic_equivalent_webpage"),
    "dataworld.freeq",
)


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Relations that are left out.

    Attributes:
        relations: by their whole name.
        prefixes: by what they begin with.
        parts: by what they contain.
    """

    relations: tuple[str, ...] = FREEBASE_RELATIONS
    prefixes: tuple[str, ...] = FREEBASE_PREFIXES
    parts: tuple[str, ...] = FREEBASE_PARTS

    def left_out(self, relation: pl.Expr) -> pl.Expr:
        """Whether a relation is left out."""
        found = relation.is_in(list(self.relations))
        for prefix in self.prefixes:
            found |= relation.str.starts_with(prefix)
        for part in self.parts:
            found |= relation.str.contains(part, literal=True)
        return found
