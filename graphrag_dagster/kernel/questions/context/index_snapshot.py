"""The tables of an index as they were when it was opened, and queries over them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar, overload

import polars as pl

from graphrag_dagster.kernel.text.evidence import Passage, Row, Triple, Words, imported_row, triple_of

if TYPE_CHECKING:
    from graphrag_dagster.kernel.storage.index_cache import Shelf
    from graphrag_dagster.kernel.storage.queries import Query, QueryRows
    from graphrag_dagster.kernel.tables import Table
    from graphrag_dagster.kernel.tasks.task_ports import Quote


#: Most rows shown of a query result.
MOST_ROWS = 100
#: Longest path of variable length, in relationships.
LONGEST_PATH = 4


class Queries(Protocol):
    """Runs read-only queries over the tables of one snapshot."""

    def columns(self, tables: Collection[str]) -> str:
        """Return the meanings of tables and of their columns, one per line.

        Args:
            tables: as ``schema.table``.
        """

    def run(self, query: Query, most: int, tables: Collection[str] | None = None) -> QueryRows:
        """Return the first rows of a query.

        Args:
            query: one select statement with the values of its parameters.
            most: maximum number of rows.
            tables: the only tables, as ``schema.table``, that it may read; None for all of the snapshot.

        Raises:
            QueryError: it was refused, failed or reached a limit.
        """


T = TypeVar("T")
P = ParamSpec("P")


class LazySequence(Sequence[T]):
    """A sequence whose items are made once, when first read.

    Args:
        length: number of items.
        make: makes the item at a position, 0…
    """

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length = length
        self._make = make
        self._made: dict[int, T] = {}

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return [self[position] for position in range(*place.indices(len(self)))]
        index = place + self._length if place < 0 else place
        if not 0 <= index < self._length:
            raise IndexError(place)
        if index not in self._made:
            self._made[index] = self._make(index)
        return self._made[index]


class PassagesById(Mapping[str, Passage]):
    """Text units by id.

    Args:
        chunks: rows of ``corpus.text_chunks``.
        documents: rows of ``corpus.documents``, including those of the text units.
    """

    def __init__(self, chunks: pl.DataFrame, documents: pl.DataFrame) -> None:
        self._ids = chunks["text_unit_id"]
        columns = ("text_unit_id", "human_readable_id", "document_id", "start_char", "text")
        self._chunks = RowsById(chunks, "text_unit_id", columns)
        self._documents = RowsById(documents, "document_id", ("title", "path", "row"))
        self._made: dict[str, Passage] = {}

    def __getitem__(self, unit_id: str) -> Passage:
        if unit_id not in self._made:
            unit, document = self._chunks.get(unit_id), None
            if unit is not None:
                document = self._documents.get(unit[2])
            if unit is None or document is None:
                raise KeyError(unit_id)
            self._made[unit_id] = Passage(*unit[:3], *document, *unit[3:])
        return self._made[unit_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


class RowsById:
    """Rows of a frame by id, found by bisection; a frame sorted by id is not copied.

    Args:
        frame: the rows.
        key: the column with the ids.
        columns: the columns to return.
    """

    def __init__(self, frame: pl.DataFrame, key: str, columns: Sequence[str]) -> None:
        if not frame[key].is_sorted():
            frame = frame.select(list(dict.fromkeys((key, *columns)))).sort(key, maintain_order=True)
        self._keys = frame[key]
        self._rows = frame.select(columns)

    def get(self, one: str) -> tuple[Any, ...] | None:
        """Return the last row with an id; None for an unknown id."""
        position = bisect_right(self._keys, one) - 1
        return self._rows.row(position) if position >= 0 and self._keys[position] == one else None

    def all(self, one: str) -> list[tuple[Any, ...]]:
        """Return all rows with an id in order."""
        first = bisect_left(self._keys, one)
        return self._rows[first : bisect_right(self._keys, one, lo=first)].rows()


class SnapshotPart(Protocol):
    """The frames that one system's search methods read besides the graph, as a dataclass."""

    #: The table of each frame by field name.
    TABLES: ClassVar[Mapping[str, Table]]

    def restricted(self, unit_ids: pl.Series, entity_ids: pl.Series) -> SnapshotPart:
        """Return a copy restricted to what comes from the given text units and entities."""
        ...

    def texts(self, entities: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
        """Return the texts of its records by kind: the id and text of each.

        Args:
            entities: rows of ``graph.entities``.
        """
        ...


@dataclass(frozen=True)
class IndexSnapshot:
    """Frames with the columns that ``tables`` declares for the tables of the same names.

    ``members`` is ``graph.community_members``, ``claims`` is ``graph.claims`` and ``claim_records`` is
    ``extraction.claims``, from which they were merged. The vectors are those of text units, entities and
    reports. ``metadata`` is ``corpus.document_metadata``, ``periods`` is ``corpus.document_periods``. Frames
    that are None were never materialised: what needs them says so, the rest works. ``queries`` runs SQL over
    the same tables; None without a file of them. ``parts`` are the tables of single systems by their names in
    the catalogue. ``statements`` is ``imports.relations`` and ``declared`` is ``imports.entities``, the rows
    of an imported graph; ``sentences`` are these rows in words if there are no text units. ``triples`` is
    ``graph.triples``; ``context_nodes`` and ``context_vectors`` are the tables of ``graph`` of these names.
    ``graph`` runs Cypher over the graph of the index; None without one. ``restricted``: whether it covers
    only some documents of the corpus. ``shelf``: stores files derived from the whole index.
    """

    documents: pl.DataFrame
    text_chunks: pl.DataFrame
    entities: pl.DataFrame
    relationships: pl.DataFrame
    communities: pl.DataFrame
    community_levels: pl.DataFrame
    reports: pl.DataFrame
    findings: pl.DataFrame
    references: pl.DataFrame
    metadata: pl.DataFrame
    periods: pl.DataFrame
    members: pl.DataFrame | None = None
    claims: pl.DataFrame | None = None
    claim_records: pl.DataFrame | None = None
    unit_vectors: pl.DataFrame | None = None
    entity_vectors: pl.DataFrame | None = None
    report_vectors: pl.DataFrame | None = None
    queries: Queries | None = field(default=None, compare=False)
    parts: Mapping[str, SnapshotPart] = field(default_factory=dict)
    statements: pl.DataFrame | None = None
    declared: pl.DataFrame | None = None
    sentences: pl.DataFrame | None = None
    triples: pl.DataFrame | None = None
    context_nodes: pl.DataFrame | None = None
    context_vectors: pl.DataFrame | None = None
    graph: Any = field(default=None, compare=False)
    restricted: bool = False
    shelf: Shelf | None = field(default=None, compare=False)
    _made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def passages(self) -> Mapping[str, Passage]:
        """All text units by id, created when read."""
        return PassagesById(self.text_chunks, self.documents)

    def triple(self, relationship_id: str) -> Triple | None:
        """Return a relationship as a triple; None if it or its text units are missing."""
        rows = self.relationships.filter(pl.col("relationship_id") == relationship_id)
        ends = [*rows["source_id"], *rows["target_id"]]
        entities = self.entities.filter(pl.col("entity_id").is_in(ends)).select("entity_id", "title")
        titles = dict(entities.iter_rows())
        triples = (triple_of(row, titles, self.passages) for row in rows.iter_rows(named=True))
        return next(triples, None)

    def evidence_record(self, kind: str, record_id: str) -> Triple | Row | None:
        """Return the evidence of a relationship or entity without quotations; None if unknown.

        It is a triple if there is a text unit, else the first row of the imported graph about the record.
        """
        if self.statements is None or self.declared is None:
            return self.triple(record_id) if kind == "relationship" else None
        if kind == "relationship":
            return self.triple(record_id) or self._first(
                "imports.relations", self.statements, self.relationships, "relationship_id", record_id
            )
        return self._first("imports.entities", self.declared, self.entities, "entity_id", record_id) or (
            self._first("imports.relations", self.statements, self.entities, "entity_id", record_id)
        )

    def _first(
        self, name: str, rows: pl.DataFrame, records: pl.DataFrame, key: str, wanted: str
    ) -> Row | None:
        """Return the first row of an imported graph about a record of the index."""
        record = records.row(by_predicate=pl.col(key) == wanted, named=True)
        if "source" in record:
            ends = (pl.min_horizontal("head", "tail"), pl.max_horizontal("head", "tail"))
            matches = (ends[0] == record["source"]) & (ends[1] == record["target"])
        else:
            end_matches = [
                pl.col(end) == record["name"] for end in ("name", "head", "tail") if end in rows.columns
            ]
            matches = pl.any_horizontal(end_matches)
        first_row = rows.filter(matches).sort("path", "row").head(1)
        return next((imported_row(name, row) for row in first_row.iter_rows(named=True)), None)

    def evidence_of(self, quote: Quote) -> Words | Row | None:
        """Return a quotation as evidence: words of a document, or the row of the graph behind them."""
        passage = self.passages.get(quote.unit_id)
        if passage is None:
            return None
        if self.sentences is None:
            return passage.words(quote.span.start, quote.span.end)
        sentences = self.sentences.filter(
            (pl.col("text_unit_id") == quote.unit_id) & (pl.col("start") <= quote.span.start)
        )
        sentence = sentences.row(-1, named=True)
        rows = self.statements if sentence["table"] == "imports.relations" else self.declared
        if rows is None:
            return None
        (row,) = rows.filter(
            (pl.col("path") == sentence["path"]) & (pl.col("row") == sentence["row"])
        ).iter_rows(named=True)
        return imported_row(sentence["table"], row)

    def words(self, quote: Quote) -> str:
        """Return the quoted words verbatim; blank for an unknown unit."""
        passage = self.passages.get(quote.unit_id)
        return passage.text[quote.span.start : quote.span.end] if passage else ""

    def once(
        self, make: Callable[Concatenate[IndexSnapshot, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return ``make(self, *args)``, cached by function and arguments, which have to be hashable.

        The tables of a snapshot never change. Threads that ask for the same at the same time may each make
        it, and get the same one.
        """
        key = (make, args, tuple(kwargs.items()))
        if key not in self._made:
            self._made.setdefault(key, make(self, *args, **kwargs))
        result: T = self._made[key]
        return result
