"""The IRIs of an export as RDF: our vocabulary, what we use of others', and those of things."""

import re
from dataclasses import dataclass
from urllib.parse import quote

import polars as pl

#: Classes and properties of our own; docs/exporting.md says what they mean.
VOCABULARY = "urn:graphrag-dagster:vocabulary:"
THINGS = "urn:graphrag-dagster:corpus:"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
PROV = "http://www.w3.org/ns/prov#"
SAME_AS = "<http://www.w3.org/2002/07/owl#sameAs>"

TYPE, LABEL = f"<{RDF}type>", f"<{RDFS}label>"
DERIVED, GENERATED = f"<{PROV}wasDerivedFrom>", f"<{PROV}wasGeneratedBy>"
_NO_IRI = r'[\x00-\x20<>"{}|^`\\]'
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


def iris(names: pl.Series) -> pl.Expr:
    """Return IRIs as N-Triples have them: in brackets, with escapes for what may not stand there."""
    odd = names.filter(names.str.contains(_NO_IRI)).unique().to_list()
    shown = [re.sub(_NO_IRI, lambda found: f"\\u{ord(found[0]):04X}", one) for one in odd]
    return pl.concat_str(pl.lit("<"), pl.lit(names.replace(odd, shown) if odd else names), pl.lit(">"))


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
        return frame.select(_iri(self._beginning(kind), pl.col(column), frame[column])).to_series()

    def listed(self, kind: str, frame: pl.DataFrame, column: str) -> pl.Series:
        """Return the same of a column of lists."""
        named = _iri(self._beginning(kind), pl.element().drop_nulls(), frame[column].explode())
        return frame.select(pl.col(column).list.eval(named)).to_series()

    def _beginning(self, kind: str) -> str:
        return f"{THINGS}{encoded(self.corpus)}:{kind[0].lower()}{kind[1:]}:"


def _iri(beginning: str, key: pl.Expr, keys: pl.Series) -> pl.Expr:
    """Return an expression of IRIs, in which keys are encoded where any needs it."""
    odd = keys.filter(keys.str.contains(_RESERVED)).unique().to_list()
    named = key.replace(odd, [encoded(one) for one in odd]) if odd else key
    return pl.concat_str(pl.lit(f"<{beginning}"), named, pl.lit(">"))
