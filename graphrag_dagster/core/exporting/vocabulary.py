"""The IRIs of an export as RDF: our vocabulary, what we use of others', and those of things."""

from dataclasses import dataclass
from urllib.parse import quote

import polars as pl

#: Classes and properties of our own; docs/exporting.md says what they mean.
VOCABULARY = "urn:graphrag-dagster:vocabulary:"
_THINGS = "urn:graphrag-dagster:corpus:"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#"

TYPE, LABEL = f"<{RDF}type>", f"<{RDFS}label>"
DERIVED, GENERATED = f"<{PROV}wasDerivedFrom>", f"<{PROV}wasGeneratedBy>"
_RESERVED = r"[^A-Za-z0-9._~-]"


def term(name: str) -> str:
    """Return the IRI of a class or property of ours; properties are called as the columns are.

    >>> term("Entity"), term("human_readable_id")
    ('<urn:graphrag-dagster:vocabulary:Entity>', '<urn:graphrag-dagster:vocabulary:human_readable_id>')
    """
    return f"<{VOCABULARY}{encoded(name)}>"


def edge_term(kind: str) -> str:
    """Return the IRI of a kind of edges.

    >>> edge_term("PART_OF")
    '<urn:graphrag-dagster:vocabulary:partOf>'
    """
    first, *others = kind.lower().split("_")
    return term(first + "".join(one.capitalize() for one in others))


def encoded(text: str) -> str:
    """Return a text as a part of an IRI, percent-encoded."""
    return quote(text, safe="")


@dataclass(frozen=True, slots=True)
class Things:
    """The IRIs of what a corpus has.

    Attributes:
        corpus: name of the corpus.
    """

    corpus: str

    def one(self, kind: str, key: str) -> str:
        """Return the IRI of a thing."""
        return f"<{self._beginning(kind)}{encoded(key)}>"

    def of(self, kind: str, frame: pl.DataFrame, column: str) -> pl.Series:
        """Return the IRIs of the things of a kind that a column names; null for null."""
        beginning, keys = self._beginning(kind), frame[column]
        if keys.str.contains(_RESERVED).any():
            keys = keys.replace_strict(
                (distinct := keys.drop_nulls().unique()),
                distinct.map_elements(encoded, pl.String),
                return_dtype=pl.String,
                default=None,
            )
        return pl.select(pl.concat_str(pl.lit(f"<{beginning}"), keys, pl.lit(">"))).to_series()

    def listed(self, kind: str, frame: pl.DataFrame, column: str) -> pl.Series:
        """Return the same of a column of lists."""
        rows = frame.select(pl.int_range(pl.len()).alias("row"), column).explode(column)
        named = rows.with_columns(self.of(kind, rows, column).alias(column))
        return named.group_by("row", maintain_order=True).agg(pl.col(column).drop_nulls())[column]

    def _beginning(self, kind: str) -> str:
        return f"{_THINGS}{encoded(self.corpus)}:{kind[0].lower()}{kind[1:]}:"
