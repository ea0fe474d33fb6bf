"""RDF of any size: N-Triples line by line, and the other forms by a parser."""

import codecs
import io
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.import_batches import ROWS, ImportBatch, ReadAccount
from graphrag_dagster.apps.interchange.readers.graph_formats import (
    JSON_LD,
    N3,
    N_QUADS,
    RDF_XML,
    TRIG,
    TURTLE,
)
from graphrag_dagster.apps.interchange.readers.rdf_entities import (
    INSTANCE_OF,
    OWN,
    STATEMENT,
    TITLES,
    TYPE,
    own_export_batches,
    property_of,
    statement_batches,
)
from graphrag_dagster.apps.interchange.readers.text_lines import (
    REPLACED,
    Lines,
    blocks,
    lines_of,
    parse_json,
    sample_of,
)
from graphrag_dagster.kernel.documents.file_records import (
    REPLACEMENT,
    RefusedError,
    UnreadableError,
    error_line,
    storable_text,
)

if TYPE_CHECKING:
    from pyoxigraph import Triple


_DECLARATION = re.compile(r"\A\s*<\?xml(?:[^>]*?\sencoding\s*=\s*[\"']([\w.:-]+)[\"'])?[^>]*\?>")
_DOCTYPE = re.compile(r"<!DOCTYPE\s+[\w:]+\s*(?:\[(?P<inside>[^\]]*)\]\s*)?>")
_ENTITY = re.compile(r"""<!ENTITY\s+([\w.-]+)\s+(?:"([^"]*)"|'([^']*)')\s*>""")
_USED = re.compile(r"&([A-Za-z_][\w.-]*);")
_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_LONGEST_ENTITY, _MOST_ENTITIES, _LONGEST_HEAD = 1_000, 1_000, 1_000_000
#: How many times as long the text may become, and how long that is in any case.
_MOST_TIMES, _ALLOWED = 20, 10_000_000
_SCHEMA = re.compile(r"https?://(?:www\.)?schema\.org/?(?:docs/jsonldcontext\.jsonld?)?")
_KNOWN = {"@vocab": "http://schema.org/"}


def without_entities(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the text of RDF/XML without its declarations, the entities that it declares in their places.

    Protégé writes namespaces as entities: ``<!ENTITY owl "http://www.w3.org/2002/07/owl#">``.

    Raises:
        RefusedError: an entity stands for another, for a file or for very much.
    """
    rest = iter(pieces)
    head = ""
    for piece in rest:
        head += piece
        if re.search(r"<[A-Za-z]", head) or len(head) > _LONGEST_HEAD:
            break
    # The parser knows no encoding but UTF-8, as which it is given the text.
    head = _DECLARATION.sub("", head, count=1)
    doctype = _DOCTYPE.search(head)
    if doctype is None and "<!DOCTYPE" in head:
        raise RefusedError(
            "its DOCTYPE declares more than entities that stand for texts, which may be made to fill the "
            "memory or to read other files; remove it"
        )
    entities = _entities(doctype["inside"] or "") if doctype else {}
    if doctype:
        head = head[: doctype.start()] + head[doctype.end() :]
    yield from _replace_entities(head, rest, entities) if entities else chain([head], rest)


def _entities(inside: str) -> dict[str, str]:
    found = {name: one or other for name, one, other in _ENTITY.findall(inside)}
    left = re.sub(r"<!--.*?-->", "", _ENTITY.sub("", inside), flags=re.DOTALL).strip()
    odd = any("&" in held or "<" in held or len(held) > _LONGEST_ENTITY for held in found.values())
    if left or odd or len(found) > _MOST_ENTITIES:
        raise RefusedError(
            "it declares entities of XML that stand for others, for files or for very much, which may be "
            "made to fill the memory or to read other files; remove them from its DOCTYPE"
        )
    return found


def _replace_entities(head: str, rest: Iterator[str], entities: dict[str, str]) -> Iterator[str]:
    given = made = 0
    for piece in _split_at_entities(head, rest):
        given += len(piece)
        text = _USED.sub(lambda used: entities.get(used[1], used[0]), piece)
        made += len(text)
        if made > _MOST_TIMES * given + _ALLOWED:
            raise RefusedError("its entities of XML make it many times as long as it is; write them out")
        yield text


def _split_at_entities(first: str, rest: Iterator[str]) -> Iterator[str]:
    """Pieces that do not end within the name of an entity."""
    held = first
    for piece in rest:
        place = held.rfind("&")
        cut = place if place >= 0 and ";" not in held[place:] else len(held)
        yield held[:cut]
        held = held[cut:] + piece
    yield held


def with_known_contexts(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the text of JSON-LD with what schema.org's context says of names, which is fetched from nowhere.

    Raises:
        UnreadableError: not JSON.
    """
    text = "".join(pieces)
    if not re.search(r'"@context"\s*:\s*(?:\[[^\]]*)?"https?://(?:www\.)?schema\.org', text):
        yield text
        return
    try:
        yield json.dumps(_known_context(parse_json(text)), ensure_ascii=False)
    except RecursionError as error:
        raise UnreadableError("JSON that is nested too deeply") from error


def _known_context(value: object) -> object:
    if isinstance(value, list):
        return [_known_context(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _context(held) if key == "@context" else _known_context(held) for key, held in value.items()}


def _context(told: object) -> object:
    if isinstance(told, list):
        return [_context(one) for one in told]
    return _KNOWN if isinstance(told, str) and _SCHEMA.fullmatch(told) else told


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
#: Characters at the beginning of a file that show what it is; those before its first part.
_LOOKED_AT, _HEAD = 100_000, 4_000
_MOST_LABELS = 200_000
_CALLED = {
    RDF_XML: "RDF/XML",
    TURTLE: "Turtle",
    N_QUADS: "N-Quads",
    TRIG: "TriG",
    N3: "N3",
    JSON_LD: "JSON-LD",
}
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def n_triples_batches(stream: BinaryIO, graph: str, account: ReadAccount) -> Iterator[ImportBatch]:
    """Yield what N-Triples say; a line that is no statement is malformed.

    Raises:
        RefusedError: not text.
        UnreadableError: a line is too long.
    """
    if sample_of(stream)[0].startswith(OWN):
        yield from own_export_batches(
            (_statements(block, account)[0] for block in lines_of(stream)), graph, account
        )
        return
    names = _names(_statements(block, ReadAccount(account.path))[0] for block in lines_of(stream))
    stream.seek(0)
    for block in lines_of(stream):
        statements, repaired = _statements(block, account)
        yield from statement_batches(statements, repaired, graph, account, names)
        yield from account.pending()


def _statements(block: Lines, account: ReadAccount) -> tuple[pl.DataFrame, dict[int, str]]:
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
    return found.drop("line").with_columns(_unescape(found[name]) for name in names), repaired


def _unescape(parts: pl.Series) -> pl.Series:
    escaped = parts.str.contains("\\", literal=True).fill_null(False).arg_true()
    if not len(escaped):
        return parts
    return parts.scatter(escaped, [storable_text(_ESCAPED.sub(_char, parts[place])) for place in escaped])


def _char(match: re.Match[str]) -> str:
    if match[3]:
        return _SHORT.get(match[3], match[3])
    code = int(match[1] or match[2], 16)
    return chr(code) if code <= 0x10FFFF else REPLACEMENT


class _Text(io.RawIOBase):
    """Pieces of text as UTF-8."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; 0 at the end."""
        if not self._rest:
            self._rest = next((text.encode() for text in self._pieces if text), b"")
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def rdf_batches(stream: BinaryIO, kind: str, graph: str, account: ReadAccount) -> Iterator[ImportBatch]:
    """Yield what RDF says that is not lines of N-Triples; rows are its statements, counted from 1.

    Blank nodes are numbered as they appear, and relative IRIs resolved against ``graph:/`` and the path.
    Names of graphs are left out. OWL is read where it is RDF.

    Args:
        stream: the file.
        kind: its format, one of ``formats.RDF_FORMATS``.
        graph: name of the graph it is of.
        account: counts its statements.

    Raises:
        RefusedError: not text, or entities of its XML are made to fill the memory.
        UnreadableError: a mistake of the syntax, after which nothing can be read.
    """
    kind = _kind_of(stream, kind)
    names = _names(frame for frame, _ in _parse(stream, kind, account.path))
    stream.seek(0)
    for frame, named in _parse(stream, kind, account.path):
        if named:
            account.note("the names of graphs were left out")
        yield from statement_batches(frame, {}, graph, account, names)


def _kind_of(stream: BinaryIO, kind: str) -> str:
    """What is saved under a name that several forms of OWL share."""
    start = sample_of(stream)[0][:_LOOKED_AT].lstrip()
    if kind != RDF_XML:
        return kind
    if start.startswith(("{", "[")) and '"@' in start:
        return JSON_LD
    if start.startswith(("@prefix", "@base", "PREFIX", "BASE")):
        return TURTLE
    if start.startswith(("Prefix", "Ontology")) or re.search(r"<(?:\w+:)?Ontology[\s>]", start[:_HEAD]):
        raise UnreadableError(
            "OWL that is no RDF: OWL/XML, functional or Manchester syntax; open it in Protégé, and save it "
            "as RDF/XML or Turtle"
        )
    return kind


def _declared_encoding(stream: BinaryIO) -> str | None:
    """The encoding that XML declares; None where it is of another, or of none that is known."""
    text, guessed = sample_of(stream)
    declared = _DECLARATION.match(text)
    is_utf = guessed.lower().startswith("utf") and REPLACEMENT not in text
    if not declared or not declared[1] or (is_utf and not text.isascii()):
        return None
    start = stream.read(_HEAD)
    stream.seek(0)
    try:
        fits = _DECLARATION.match(start.decode(declared[1], "ignore")) is not None
    except (LookupError, UnicodeError):
        return None
    # What is said to be ASCII may go on as UTF-8.
    return declared[1] if fits and codecs.lookup(declared[1]).name != "ascii" else None


def _parse(stream: BinaryIO, kind: str, path: str) -> Iterator[tuple[pl.DataFrame, bool]]:
    """Frames of statements, and whether some are of a graph that has a name."""
    import pyoxigraph as ox

    formats = {
        TURTLE: ox.RdfFormat.TURTLE,
        RDF_XML: ox.RdfFormat.RDF_XML,
        N_QUADS: ox.RdfFormat.N_QUADS,
        TRIG: ox.RdfFormat.TRIG,
        N3: ox.RdfFormat.N3,
        JSON_LD: ox.RdfFormat.JSON_LD,
    }
    nodes: dict[str, str] = {}
    encoding = _declared_encoding(stream) if kind == RDF_XML else None
    pieces: Iterable[str] = (text for text, _ in blocks(stream, encoding))
    if kind == RDF_XML:
        pieces = without_entities(pieces)
    elif kind == JSON_LD:
        pieces = with_known_contexts(pieces)
    # Python's own buffer asks for small pieces.
    text = io.BufferedReader(_Text(pieces), 1 << 16)
    number = 1
    try:
        statements = ox.parse(text, format=formats[kind], base_iri=f"graph:/{quote(path)}")
        while some := list(islice(statements, ROWS)):
            rows = [_row(row, one.triple, nodes) for row, one in enumerate(some, start=number)]
            number += len(some)
            named = any(not isinstance(one.graph_name, ox.DefaultGraph) for one in some)
            yield pl.DataFrame(rows, schema=STATEMENT, orient="row"), named
    except SyntaxError as error:
        if "LoadDocumentCallback" in str(error):
            raise UnreadableError(
                "its @context stands at another address, from which nothing is fetched; write the context "
                "itself into the file, or convert it to Turtle"
            ) from error
        called = _CALLED.get(kind, kind)
        raise UnreadableError(
            f"not valid {called}: {error_line(error)}; mend it there, or save it as N-Triples"
        ) from error


def _names(frames: Iterable[pl.DataFrame]) -> dict[str, str]:
    """The labels that a file gives the predicates and types that it uses.

    Labels of more than 200,000 things are not kept: then those count that come after their use.
    """
    wanted: set[str] = set()
    labels: dict[str, tuple[int, str]] = {}
    for frame in frames:
        predicates = frame["predicate"].unique()
        kinds = frame.filter(pl.col("predicate").is_in([TYPE, INSTANCE_OF]))["object"].drop_nulls().unique()
        wanted.update(named for iri in [*predicates, *kinds] for named in (iri, property_of(iri)))
        told = frame.filter(pl.col("predicate").is_in(TITLES) & pl.col("value").is_not_null())
        for subject, predicate, value, language in told.select(
            "subject", "predicate", "value", "language"
        ).iter_rows():
            if len(labels) >= _MOST_LABELS and subject not in wanted:
                continue
            rank = TITLES.index(predicate) + (
                0 if (language or "en").lower().startswith("en") else len(TITLES)
            )
            if value.strip() and rank < labels.get(subject, (len(TITLES) * 2, ""))[0]:
                labels[subject] = rank, value
    return {iri: labels[iri][1] for iri in wanted if iri in labels}


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
    return row, subject, predicate, None, storable_text(end.value), end.language, datatype
