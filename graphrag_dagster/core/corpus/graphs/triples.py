"""N-Triples line by line, and Turtle, of any size."""

import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

import polars as pl

from graphrag_dagster.core.corpus.graphs.batches import ROWS, Account, Batch
from graphrag_dagster.core.corpus.graphs.lines import REPLACED, Lines, blocks, lines_of
from graphrag_dagster.core.corpus.graphs.rdf import STATEMENT, statement_batches
from graphrag_dagster.core.files.records import REPLACEMENT, UnreadableError, error_line, holdable

if TYPE_CHECKING:
    from pyoxigraph import Triple

_ESCAPE = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_IRI = r'<((?:[^\x00-\x20<>"{}|^`\\]|' + _ESCAPE + r")+)>"
_BLANK_NODE = r'(_:[^\s<>"]*[^\s<>".])'
_LITERAL = r'"((?:[^"\\\r\n]|\\[tbnrf"\'\\]|' + _ESCAPE + r')*)"'
_STATEMENT = (
    rf"^\s*(?:{_IRI}|{_BLANK_NODE})\s*{_IRI}\s*"
    rf"(?:{_IRI}|{_BLANK_NODE}|{_LITERAL}(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^{_IRI})?)\s*\.\s*(?:#.*)?$"
)
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
#: What a literal without a datatype is of; it is told of none.
_STRING = "http://www.w3.org/2001/XMLSchema#string"
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def n_triples_batches(stream: BinaryIO, graph: str, account: Account) -> Iterator[Batch]:
    """Yield what N-Triples say; a line that is no statement is malformed.

    Raises:
        RefusedError: not text.
        UnreadableError: a line is too long.
    """
    for block in lines_of(stream):
        statements, repaired = _statements(block, account)
        yield from statement_batches(statements, repaired, graph, account)
        yield from account.pending()


def _statements(block: Lines, account: Account) -> tuple[pl.DataFrame, dict[int, str]]:
    lines = pl.DataFrame(
        {"row": range(block.first, block.first + len(block.lines)), "line": block.lines},
        schema={"row": pl.Int64, "line": pl.String},
    ).filter(~pl.col("line").str.contains(r"^\s*(?:#.*)?$"))
    # In the order of the groups of the pattern.
    parts = ("iri", "node", "predicate", "to_iri", "to_node", "value", "language", "datatype")
    groups = pl.col("line").str.extract_groups(_STATEMENT).struct.rename_fields(list(parts))
    taken = lines.with_columns(groups.alias("parts")).unnest("parts")
    for row, line in taken.filter(pl.col("predicate").is_null()).select("row", "line").iter_rows():
        account.malformed("relations", row, "no statement of N-Triples", line)
    found = taken.filter(pl.col("predicate").is_not_null()).select(
        "row",
        "line",
        pl.coalesce("iri", "node").alias("subject"),
        "predicate",
        pl.coalesce("to_iri", "to_node").alias("object"),
        "value",
        "language",
        "datatype",
    )
    repaired = {}
    if block.damaged:
        damaged = found.filter(pl.col("line").str.contains(REPLACEMENT, literal=True))
        repaired = dict.fromkeys(damaged["row"], REPLACED)
    names = ("subject", "predicate", "object", "value", "datatype")
    return found.drop("line").with_columns(_unescaped(found[name]) for name in names), repaired


def _unescaped(parts: pl.Series) -> pl.Series:
    escaped = parts.str.contains("\\", literal=True).fill_null(False).arg_true()
    if not len(escaped):
        return parts
    return parts.scatter(escaped, [holdable(_ESCAPED.sub(_char, parts[place])) for place in escaped])


def _char(match: re.Match[str]) -> str:
    if match[3]:
        return _SHORT.get(match[3], match[3])
    code = int(match[1] or match[2], 16)
    return chr(code) if code <= 0x10FFFF else REPLACEMENT


class _Text(io.RawIOBase):
    """The text of a file as UTF-8, whatever it is written in."""

    def __init__(self, stream: BinaryIO) -> None:
        self._blocks = blocks(stream)
        self._rest = b""

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; 0 at the end."""
        if not self._rest:
            self._rest = next((text.encode() for text, _ in self._blocks), b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def turtle_batches(stream: BinaryIO, graph: str, account: Account) -> Iterator[Batch]:
    """Yield what Turtle says; rows are its statements, counted from 1.

    Blank nodes are numbered as they appear, and relative IRIs resolved against ``graph:/`` and the path.

    Raises:
        RefusedError: not text.
        UnreadableError: a mistake of the syntax, after which nothing can be read.
    """
    import pyoxigraph as ox

    nodes: dict[str, str] = {}
    base = f"graph:/{quote(account.path)}"
    # Python's own buffer asks for small pieces.
    text = io.BufferedReader(_Text(stream), 1 << 16)
    number = 1
    try:
        statements = ox.parse(text, format=ox.RdfFormat.TURTLE, base_iri=base)
        while some := list(islice(statements, ROWS)):
            rows = [_row(row, one.triple, nodes) for row, one in enumerate(some, start=number)]
            number += len(some)
            yield from statement_batches(
                pl.DataFrame(rows, schema=STATEMENT, orient="row"), {}, graph, account
            )
    except SyntaxError as error:
        raise UnreadableError(
            f"not valid Turtle: {error_line(error)}; mend it there, or save it as N-Triples"
        ) from error


def _row(row: int, triple: "Triple", nodes: dict[str, str]) -> tuple[object, ...]:
    import pyoxigraph as ox

    def named(term: Any) -> str:
        if isinstance(term, ox.BlankNode):
            return nodes.setdefault(term.value, f"_:b{len(nodes) + 1}")
        return str(term.value)

    subject, predicate, end = named(triple.subject), triple.predicate.value, triple.object
    if not isinstance(end, ox.Literal):
        return row, subject, predicate, named(end), None, None, None
    datatype = None if end.language or end.datatype.value == _STRING else end.datatype.value
    return row, subject, predicate, None, holdable(end.value), end.language, datatype
