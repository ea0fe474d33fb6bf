"""N-Triples with provenance: the IRIs of an export, and every node and edge with its properties."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, TypeAlias
from urllib.parse import quote

import polars as pl
import pyarrow as pa
from polars.datatypes import DataType, DataTypeClass

from graphrag_dagster.apps.interchange.exporting.export_rows import (
    ID,
    RELATION,
    SAME,
    SOURCE,
    TARGET,
    Edges,
    ExportGraph,
    Nodes,
    RowBatches,
)
from graphrag_dagster.kernel.common.progress import stage

#: Classes and properties of our own; docs/reference/export-forms.md says what they mean.
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
    return f"<{VOCABULARY}{percent_encode(name)}>"


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


def percent_encode(text: str) -> str:
    """Return a text as a part of an IRI, percent-encoded."""
    return quote(text, safe="")


@dataclass(frozen=True, slots=True)
class ResourceIris:
    """The IRIs of what a corpus has.

    Attributes:
        corpus: name of the corpus.
    """

    corpus: str

    def one(self, kind: str, key: str) -> str:
        """Return the IRI of a thing."""
        return f"<{self._iri_prefix(kind)}{percent_encode(key)}>"

    def of(self, kind: str, frame: pl.DataFrame, column: str) -> pl.Series:
        """Return the IRIs of the things of a kind that a column names; null for null."""
        return frame.select(_iri(self._iri_prefix(kind), pl.col(column), frame[column])).to_series()

    def of_lists(self, kind: str, frame: pl.DataFrame, column: str) -> pl.Series:
        """Return the same of a column of lists."""
        named = _iri(self._iri_prefix(kind), pl.element().drop_nulls(), frame[column].explode())
        return frame.select(pl.col(column).list.eval(named)).to_series()

    def _iri_prefix(self, kind: str) -> str:
        return f"{THINGS}{percent_encode(self.corpus)}:{kind[0].lower()}{kind[1:]}:"


def _iri(prefix: str, key: pl.Expr, keys: pl.Series) -> pl.Expr:
    """Return an expression of IRIs, in which keys are encoded where any needs it."""
    odd = keys.filter(keys.str.contains(_RESERVED)).unique().to_list()
    named = key.replace(odd, [percent_encode(one) for one in odd]) if odd else key
    return pl.concat_str(pl.lit(f"<{prefix}"), named, pl.lit(">"))


#: Edges that also say what one was made from.
_DERIVING = frozenset({"PART_OF", "MENTIONED_IN", "STATED_IN", "DESCRIBES"})
_NAME, _UNITS = "title", "text_unit_ids"
_SUBJECT = pl.col("_subject")
#: After each triple.
END = " .\n"
_ESCAPES: Mapping[str, str] = MappingProxyType(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
)
#: A predicate, and its objects: one a row, or a list.
_Said: TypeAlias = tuple[str, pl.Expr]


class NTriples:
    """Writes a graph as N-Triples, in the order of its rows.

    A statement is the triple that it states, and a resource of its own that has its properties.

    Args:
        things: names what is written.
        run: what made it all.
        told: what is told of that, property → value.
    """

    def __init__(self, things: ResourceIris, run: str, told: Mapping[str, str]) -> None:
        self._things = things
        self._run = things.one("Run", run)
        self._told = told

    def write(self, place: Path, graph: ExportGraph) -> int:
        """Write a graph; returns the number of triples."""
        with place.open("wb") as file:
            lines = _write_batch(file, self._write_run())
            for nodes in graph.nodes:
                with stage(f"Writing {nodes.kind}") as running:
                    for frame in nodes.rows.frames():
                        lines += _write_batch(file, self._write_nodes(nodes, frame))
                        running.advance(frame.height)
            for edges in graph.edges:
                of = self._write_statements if edges.are_statements else self._write_edges
                with stage(f"Writing {edges.kind}") as running:
                    for frame in edges.rows.frames():
                        lines += _write_batch(file, of(edges, frame))
                        running.advance(frame.height)
        return lines

    def _write_run(self) -> str:
        values = {
            name: "".join(_ESCAPES.get(one, one) for one in value) for name, value in self._told.items()
        }
        said = (f'{term(name)} "{value}"' for name, value in sorted(values.items()))
        return "".join(f"{self._run} {one}{END}" for one in (f"{TYPE} <{PROV}Activity>", *said))

    def _write_nodes(self, nodes: Nodes, frame: pl.DataFrame) -> str:
        return _text(
            frame.with_columns(_subject=self._things.of(nodes.kind, frame, ID)),
            *self._triples(term(nodes.kind)),
            *([(SAME_AS, iris(frame[SAME]))] if SAME in frame.columns else []),
            *([(LABEL, _literal(frame, _NAME))] if _NAME in frame.columns else []),
            *_properties(frame, nodes.properties),
        )

    def _write_edges(self, edges: Edges, frame: pl.DataFrame) -> str:
        ends = frame.with_columns(
            _subject=self._things.of(edges.source, frame, SOURCE),
            _object=self._things.of(edges.target, frame, TARGET),
        )
        predicates = [edge_term(edges.kind), *([DERIVED] if edges.kind in _DERIVING else [])]
        return _text(ends, *((one, pl.col("_object")) for one in predicates))

    def _write_statements(self, edges: Edges, frame: pl.DataFrame) -> str:
        things = self._things
        stated = frame.with_columns(
            _subject=things.of("Statement", frame, ID),
            _source=things.of(edges.source, frame, SOURCE),
            _relation=things.of("Relation", frame, RELATION),
            _target=things.of(edges.target, frame, TARGET),
            **({_UNITS: things.of_lists("TextUnit", frame, _UNITS)} if _UNITS in frame.columns else {}),
        )
        direct = pl.concat_str("_source", pl.lit(" "), "_relation", pl.lit(" "), "_target", pl.lit(END))
        return _text(
            stated,
            *self._triples(f"<{RDF}Statement>"),
            (f"<{RDF}subject>", pl.col("_source")),
            (f"<{RDF}predicate>", pl.col("_relation")),
            (f"<{RDF}object>", pl.col("_target")),
            (LABEL, _literal(frame, RELATION)),
            *_properties(frame, [one for one in edges.properties if one.name != _UNITS]),
            *([(DERIVED, pl.col(_UNITS))] if _UNITS in frame.columns else []),
            before=direct,
        )

    def _triples(self, of: str) -> Iterator[_Said]:
        for predicate, value in ((TYPE, of), (TYPE, f"<{PROV}Entity>"), (GENERATED, self._run)):
            yield predicate, pl.lit(value)


def _write_batch(file: BinaryIO, text: str) -> int:
    file.write(text.encode())
    return text.count("\n")


def _properties(frame: pl.DataFrame, fields: Sequence[pa.Field]) -> Iterator[_Said]:
    return ((term(one.name), _literal(frame, one.name)) for one in fields)


def _literal(frame: pl.DataFrame, name: str) -> pl.Expr:
    type_, value = frame.schema[name], pl.col(name)
    if isinstance(type_, pl.List):
        return value.list.drop_nulls().list.eval(_lexical_form(type_.inner, pl.element()))
    return _lexical_form(type_, value)


def _lexical_form(type_: DataType | DataTypeClass, value: pl.Expr) -> pl.Expr:
    if type_ == pl.String:
        return _quoted_literal(value)
    if type_ == pl.Boolean:
        text = pl.when(value).then(pl.lit("true")).when(value.not_()).then(pl.lit("false"))
        return _quoted_literal(text, "boolean")
    return _quoted_literal(value.cast(pl.String), "integer" if type_.is_integer() else "double")


def _quoted_literal(text: pl.Expr, type_: str = "") -> pl.Expr:
    if type_:
        return pl.concat_str(pl.lit('"'), text, pl.lit(f'"^^<{XSD}{type_}>'))
    return pl.concat_str(pl.lit('"'), escape(text), pl.lit('"'))


def escape(text: pl.Expr) -> pl.Expr:
    """Return texts as they stand between quotes."""
    return text.str.replace_many(list(_ESCAPES), list(_ESCAPES.values()))


def _text(frame: pl.DataFrame, *said: _Said, before: pl.Expr | None = None) -> str:
    """Return the triples of every row, one a line: all of the first, then all of the second.

    Args:
        frame: rows; the column ``_subject`` is what is spoken of.
        said: an object that is null is not said; of a list, each is.
        before: a line that goes before those of the row.
    """
    parts = [*([] if before is None else [before]), *(_line(frame, *one) for one in said)]
    text: str = frame.select(line=pl.concat_str(*parts))["line"].str.join("").item()
    return text


def _line(frame: pl.DataFrame, predicate: str, value: pl.Expr) -> pl.Expr:
    prefix = pl.concat_str(_SUBJECT, pl.lit(f" {predicate} "))
    if isinstance(frame.lazy().select(value).collect_schema().dtypes()[0], pl.List):
        joined = value.list.join(pl.concat_str(pl.lit(END), prefix))
        value = pl.when(value.list.len() > 0).then(joined)
    return pl.concat_str(prefix, value, pl.lit(END)).fill_null("")


def write_lines(place: Path, rows: RowBatches) -> int:
    """Write statements, one a line; returns their number.

    Args:
        place: the file.
        rows: ``subject``, ``predicate`` and ``object``, IRIs or, but for predicates, blank nodes as ``_:a``;
            of a literal instead of an object ``value``, ``language`` and ``datatype``.
    """
    count = 0
    with place.open("wb") as file, stage(f"Writing {place.name}") as running:
        for frame in rows.frames():
            language = pl.concat_str(pl.lit("@"), pl.col("language"))
            datatype = pl.concat_str(pl.lit("^^"), iris(frame["datatype"]))
            literal = pl.concat_str(
                *(pl.lit('"'), escape(pl.col("value")), pl.lit('"')),
                pl.coalesce(language, datatype, pl.lit("")),
            )
            parts = [_iri_or_null(frame["subject"]), iris(frame["predicate"])]
            parts.append(pl.coalesce(_iri_or_null(frame["object"]), literal))
            lines = frame.select(line=pl.concat_str(*parts, separator=" "))["line"]
            file.write("".join(f"{line}{END}" for line in lines).encode())
            count += frame.height
            running.advance(frame.height)
    return count


def _iri_or_null(names: pl.Series) -> pl.Expr:
    bare = pl.lit(names)
    return pl.when(bare.str.starts_with("_:")).then(bare).otherwise(iris(names))
