"""An index as search methods read it: tables as they stood when it was opened, and queries over them."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar, overload

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.text.evidence import Passage, Row, Triple, Words, imported_row, triple_of

if TYPE_CHECKING:
    from graphrag_dagster.kernel.retrieval.index_cache import Shelf
    from graphrag_dagster.kernel.tables import Table
    from graphrag_dagster.kernel.tasks.task_ports import Quote


#: Most rows that are shown of a result.
MOST_ROWS = 100
#: Relations that one path of any length has at most.
LONGEST_PATH = 4


class QueryError(QuestionError):
    """A query that was not run, or not to its end; the text says why, as the database does."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and what it asks in words.

    Attributes:
        template: name of the template it was made from; None where a model wrote it.
        reading: how the question was read.
        sql: one select statement.
        parameters: values of its ``$names``.
    """

    template: str | None
    reading: str
    sql: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The query as people read it, its parameters as a comment in the last line."""
        given = json.dumps(self.parameters, ensure_ascii=False)
        return f"{self.sql}\n-- {given}" if self.parameters else self.sql


@dataclass(frozen=True, slots=True)
class QueryRows:
    """What a query gives: the first rows by column; ``more``: there are others."""

    rows: tuple[Mapping[str, Any], ...]
    more: bool = False


class Queries(Protocol):
    """Runs queries over the tables of one snapshot, which they cannot change."""

    def columns(self, tables: Collection[str]) -> str:
        """Return what tables mean, and each of their columns, a line each.

        Args:
            tables: as ``schema.table``.
        """

    def run(self, query: Query, most: int, tables: Collection[str] | None = None) -> QueryRows:
        """Return the first rows of a query.

        Args:
            query: one select statement with the values of its parameters.
            most: rows.
            tables: the only ones, as ``schema.table``, that it may read; None for all of the snapshot.

        Raises:
            QueryError: it is refused, fails or reaches a limit.
        """


T = TypeVar("T")
P = ParamSpec("P")


class LazySequence(Sequence[T]):
    """Members by place, each made once, when it is first read.

    Args:
        length: number of members.
        make: makes the one of a place, 0…
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
            return [self[one] for one in range(*place.indices(len(self)))]
        at = place + self._length if place < 0 else place
        if not 0 <= at < self._length:
            raise IndexError(place)
        if at not in self._made:
            self._made[at] = self._make(at)
        return self._made[at]


class PassagesById(Mapping[str, Passage]):
    """Text units by id.

    Args:
        chunks: rows of ``corpus.text_chunks``.
        documents: rows of ``corpus.documents``, those of the text units among them.
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
    """Some columns of rows, found by bisection; a frame that is in the order of the ids is not copied.

    Args:
        frame: the rows.
        key: the column with the ids.
        columns: what is read of a row.
    """

    def __init__(self, frame: pl.DataFrame, key: str, columns: Sequence[str]) -> None:
        if not frame[key].is_sorted():
            frame = frame.select(list(dict.fromkeys((key, *columns)))).sort(key, maintain_order=True)
        self._keys = frame[key]
        self._rows = frame.select(columns)

    def get(self, one: str) -> tuple[Any, ...] | None:
        """Return the row of an id, the last of several; None for an unknown one."""
        place = bisect_right(self._keys, one) - 1
        return self._rows.row(place) if place >= 0 and self._keys[place] == one else None

    def all(self, one: str) -> list[tuple[Any, ...]]:
        """Return all rows of an id, in their order."""
        first = bisect_left(self._keys, one)
        return self._rows[first : bisect_right(self._keys, one, lo=first)].rows()


class SnapshotPart(Protocol):
    """What the search methods of one system read beside the graph: a dataclass of frames."""

    #: The table of each frame, by its field.
    TABLES: ClassVar[Mapping[str, Table]]

    def restricted(self, unit_ids: pl.Series, entity_ids: pl.Series) -> SnapshotPart:
        """Return it with only what was written from some text units, and of some entities."""
        ...

    def texts(self, entities: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
        """Return what its records say, by their kind: the id and the text of each.

        Args:
            entities: rows of ``graph.entities``.
        """
        ...


@dataclass(frozen=True)
class IndexSnapshot:
    """Frames with the columns that ``tables`` declares for the tables of the same names.

    ``members`` is ``graph.community_members``, ``claims`` is ``graph.claims`` and ``claim_records`` what they
    were merged from, ``extraction.claims``; the vectors are those of text units, entities and reports.
    ``metadata`` is ``corpus.document_metadata``, ``periods`` is ``corpus.document_periods``. Frames that are
    None were never materialised: what needs them says so, the rest works. ``queries`` runs SQL over the same
    tables; None where there is no file of them. ``parts`` are what single systems answer from, by their names
    in the catalogue, where the index was made with them.
    ``statements`` is ``imports.relations`` and ``declared`` is ``imports.entities``, the rows of a graph from
    elsewhere; ``sentences`` are these told in words, where it has no text units of its own. ``triples`` is
    ``graph.triples``; ``context_nodes`` and ``context_vectors`` are the tables of these names of ``graph``.
    ``graph`` runs Cypher over the graph of the same index; None where there is none of it. ``restricted``: it
    holds what was written from some documents of the corpus only. ``shelf``: where what is built of
    the whole is kept.
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
    members: pl.DataFrame | None = None
    claims: pl.DataFrame | None = None
    claim_records: pl.DataFrame | None = None
    unit_vectors: pl.DataFrame | None = None
    entity_vectors: pl.DataFrame | None = None
    report_vectors: pl.DataFrame | None = None
    queries: Queries | None = field(default=None, compare=False)
    metadata: pl.DataFrame | None = None
    periods: pl.DataFrame | None = None
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
        """Every text unit, by id; made when it is read."""
        return PassagesById(self.text_chunks, self.documents)

    def triple(self, relationship_id: str) -> Triple | None:
        """Return a relationship as a triple; None where there is none, or none of its text units."""
        found = self.relationships.filter(pl.col("relationship_id") == relationship_id)
        ends = [*found["source_id"], *found["target_id"]]
        named = self.entities.filter(pl.col("entity_id").is_in(ends)).select("entity_id", "title")
        titles = dict(named.iter_rows())
        made = (triple_of(row, titles, self.passages) for row in found.iter_rows(named=True))
        return next(made, None)

    def stated(self, kind: str, record_id: str) -> Triple | Row | None:
        """Return what a relationship or an entity rests on that rests on no words; None: unknown.

        It is a triple where there is a text unit, else the first row of the graph that it came with.
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
        """The first row of a graph that is of a record of the index."""
        record = records.row(by_predicate=pl.col(key) == wanted, named=True)
        if "source" in record:
            ends = (pl.min_horizontal("head", "tail"), pl.max_horizontal("head", "tail"))
            of_it = (ends[0] == record["source"]) & (ends[1] == record["target"])
        else:
            own = [pl.col(end) == record["name"] for end in ("name", "head", "tail") if end in rows.columns]
            of_it = pl.any_horizontal(own)
        found = rows.filter(of_it).sort("path", "row").head(1)
        return next((imported_row(name, row) for row in found.iter_rows(named=True)), None)

    def evidence_of(self, quote: Quote) -> Words | Row | None:
        """Return what quoted words are: words of a document, or the row of a graph that is told in them."""
        passage = self.passages.get(quote.unit_id)
        if passage is None:
            return None
        if self.sentences is None:
            return passage.words(quote.span.start, quote.span.end)
        told = self.sentences.filter(
            (pl.col("text_unit_id") == quote.unit_id) & (pl.col("start") <= quote.span.start)
        )
        row = told.row(-1, named=True)
        rows = self.statements if row["table"] == "imports.relations" else self.declared
        if rows is None:
            return None
        (found,) = rows.filter((pl.col("path") == row["path"]) & (pl.col("row") == row["row"])).iter_rows(
            named=True
        )
        return imported_row(row["table"], found)

    def words(self, quote: Quote) -> str:
        """Return the quoted words, exactly as they stand in the document; nothing for an unknown unit."""
        passage = self.passages.get(quote.unit_id)
        return passage.text[quote.span.start : quote.span.end] if passage else ""

    def once(
        self, make: Callable[Concatenate[IndexSnapshot, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return ``make(self, *args)``, made once for each function and arguments, which have to be hashable.

        The tables never change under a snapshot.
        """
        key = (make, args, tuple(kwargs.items()))
        if key not in self._made:
            self._made[key] = make(self, *args, **kwargs)
        made: T = self._made[key]
        return made
