"""Numbered rows of one or more search contexts, and the words of the documents that each rests on."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.questions.context.index_background import IndexBackground
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot, LazySequence
from graphrag_dagster.kernel.tables import DOCUMENTS, TEXT_CHUNKS, Table
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.citations import Citation, ContextKind
from graphrag_dagster.kernel.text.folding import fold
from graphrag_dagster.kernel.text.markup_spans import Span

#: Kind of a row's record.
RecordKind = ContextKind | Literal["summary", "triple"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Words that a context row rests on, and what led to them.

    ``finding``: position of the report's finding, -1 for its summary, None if the row is not a report.
    ``kind`` and ``record_id``: the entity, relationship or triple that led to the words, None if they are
    quoted directly.
    """

    quote: Quote
    finding: int | None = None
    kind: str | None = None
    record_id: str | None = None


class ContextUnits(Protocol):
    """Numbered rows of a context. A row is cited by its kind and number."""

    @property
    def index(self) -> IndexSnapshot:
        """The snapshot that the rows were made from."""

    @property
    def all(self) -> Sequence[ContextUnit]:
        """All rows in the order of their numbers."""

    def kind(self, number: int, /) -> ContextKind:
        """Return the kind that the row is cited as."""

    def record_kind(self, number: int, /) -> RecordKind:
        """Return the kind of the row's record, which may differ from the kind it is cited as."""

    def record_id(self, number: int) -> str:
        """Return the id of the row's record."""

    def title(self, number: int) -> str:
        """Return the title of the row."""

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return the distinct quotations that the row rests on, nearest to its text first."""


def row_text(cells: Iterable[object]) -> str:
    """Render cells as one row; quotes, bars and line breaks in cells are escaped."""
    buffer = io.StringIO()
    # The CSV writer only quotes line breaks that could end a row.
    csv.writer(buffer, delimiter="|", lineterminator="\r\n").writerow(list(cells))
    return buffer.getvalue().removesuffix("\r\n")


class SourceUnits:
    """All text units of a corpus as :class:`ContextUnit`, numbered 1…n in corpus order.

    They take the place of reports (GraphRAG paper §4.1.1, TS and SS): all conditions use the same prompts
    except for the name of the rows (paper, Appendix E.4). The title of a unit is that of its document.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self.index = index
        self._background = IndexBackground(index)
        chunks = index.text_chunks.select("human_readable_id", "text_unit_id")
        self._ids = chunks.sort("human_readable_id", "text_unit_id")["text_unit_id"].to_list()
        self.number_of = {unit_id: number for number, unit_id in enumerate(self._ids, start=1)}
        self.all: Sequence[ContextUnit] = LazySequence(len(self._ids), self._unit)

    def kind(self, _: int) -> ContextKind:
        """Return the kind that the row is cited as: a source."""
        return "source"

    def record_kind(self, _: int) -> ContextKind:
        """Return the kind of the row's record: a text unit."""
        return "source"

    def record_id(self, number: int) -> str:
        """Return the id of the text unit."""
        return str(self._ids[number - 1])

    def title(self, number: int) -> str:
        """Return the title of the unit's document."""
        return self.index.passages[self._ids[number - 1]].document_title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return the sentences of the unit."""
        unit_id = self.record_id(number)
        return [Provenance(Quote(unit_id, span)) for span, _ in spans_of(self.index, unit_id)]

    def _unit(self, position: int) -> ContextUnit:
        unit_id = self._ids[position]
        passage = self.index.passages[unit_id]
        sentences = tuple((words, Quote(unit_id, span)) for span, words in spans_of(self.index, unit_id))
        return ContextUnit(
            position + 1, passage.document_title, passage.text, sentences, "source", self._background
        )


#: Most sentences per passage.
_SENTENCES = 30
#: Approximate characters per token.
_TOKEN = 4
_ENCODING, _STRATEGY = "characters", "imported"
#: The names of both ends in alphabetical order.
_PAIR = ["smaller", "larger"]
_RELATIONS, _ENTITIES = "imports.relations", "imports.entities"


def without_record_words(index: IndexSnapshot) -> IndexSnapshot:
    """Return the snapshot with a passage for each entity of an imported graph without texts.

    Args:
        index: the snapshot; returned unchanged if it has text units or no imported graph.
    """
    if index.statements is None or index.declared is None or len(index.text_chunks):
        return index
    sentences = _sentences(index.statements, index.declared, index.entities)
    if sentences.is_empty():
        return index
    units = _units(sentences)
    return replace(
        index,
        documents=_documents(units),
        text_chunks=_typed(units, TEXT_CHUNKS),
        entities=_naming(index.entities, sentences),
        relationships=_stating(index.relationships, sentences),
        triples=None if index.triples is None else _stating(index.triples, sentences, "head", "tail"),
        unit_vectors=None,
        sentences=sentences,
    )


def _sentences(statements: pl.DataFrame, declared: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Return every sentence with its entities, table row, passage and start in the passage."""
    described = declared.filter(pl.col("description") != "").select(
        about="name",
        other=pl.lit(None, pl.String),
        said=pl.format("{}: {}", "title", "description"),
        table=pl.lit(_ENTITIES),
        graph="graph",
        path="path",
        row="row",
    )
    stated = statements.filter(pl.col("outcome").is_in(["read", "dangling"])).select(
        about="head",
        other="tail",
        said="said",
        table=pl.lit(_RELATIONS),
        graph="graph",
        path="path",
        row="row",
    )
    ids = entities.select("entity_id", "title", about="name")
    ordered = (
        pl.concat([described, stated])
        .join(ids, on="about")
        .with_columns(said=pl.col("said").str.replace_all(r"\s+", " ").str.strip_chars(" ."))
        .with_columns(said=pl.col("said") + ".")
        .sort("about", "graph", "table", "path", "row")
        .with_columns(part=pl.int_range(pl.len()).over("about", "graph") // _SENTENCES)
    )
    keys = (
        ordered.select("about", "graph", "part")
        .unique(maintain_order=True)
        .with_columns(
            document_id=_id_of("told", "about", "graph"),
            text_unit_id=_id_of("told", "about", "graph", "part"),
        )
    )
    return ordered.join(keys, on=["about", "graph", "part"], maintain_order="left").with_columns(
        start=(pl.col("said").str.len_chars() + 1).cum_sum().over("text_unit_id")
        - pl.col("said").str.len_chars()
        - 1
    )


def _id_of(kind: str, *columns: str) -> pl.Expr:
    return pl.struct(columns).map_elements(
        lambda key: stable_id(kind, *(key[column] for column in columns)), return_dtype=pl.String
    )


def _units(sentences: pl.DataFrame) -> pl.DataFrame:
    parts = sentences.group_by("text_unit_id", maintain_order=True).agg(
        pl.first("document_id", "title", "path", "part"), text=pl.col("said").str.join("\n")
    )
    length = pl.col("text").str.len_chars()
    return parts.with_row_index("human_readable_id").with_columns(
        position=pl.col("part"),
        start_char=pl.lit(0),
        end_char=length,
        tokens=length // _TOKEN + 1,
        encoding=pl.lit(_ENCODING),
        strategy=pl.lit(_STRATEGY),
    )


def _documents(units: pl.DataFrame) -> pl.DataFrame:
    first = units.group_by("document_id", maintain_order=True).agg(
        pl.first("title", "path"), text=pl.lit(""), characters=pl.lit(0)
    )
    empty = {name: pl.lit(None) for name in ("row", "source_id", "date")}
    rows = first.with_row_index("human_readable_id").with_columns(**empty, metadata=pl.lit("{}"))
    return _typed(rows, DOCUMENTS)


def _typed(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    return rows.select(pl.col(name).cast(type_) for name, type_ in table.types().items())


def _naming(entities: pl.DataFrame, sentences: pl.DataFrame) -> pl.DataFrame:
    ends = (sentences.select("text_unit_id", name=end) for end in ("about", "other"))
    names = pl.concat(ends).drop_nulls().unique(maintain_order=True)
    units = names.group_by("name", maintain_order=True).agg(found="text_unit_id")
    return _with_units(entities, units, ["name"])


def _stating(
    records: pl.DataFrame, sentences: pl.DataFrame, first: str = "source", second: str = "target"
) -> pl.DataFrame:
    """Return the records with the units that name both of their ends, in either direction."""
    ends = [pl.min_horizontal, pl.max_horizontal]
    pairs = sentences.drop_nulls("other").select(
        *(end("about", "other").alias(name) for end, name in zip(ends, _PAIR, strict=True)),
        found="text_unit_id",
    )
    units = pairs.unique(maintain_order=True).group_by(_PAIR, maintain_order=True).agg("found")
    keyed = records.with_columns(
        end(first, second).alias(name) for end, name in zip(ends, _PAIR, strict=True)
    )
    return _with_units(keyed, units, _PAIR).drop(_PAIR)


def _with_units(records: pl.DataFrame, units: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    joined = records.join(units, on=keys, how="left", maintain_order="left")
    text_unit_ids = pl.coalesce("found", pl.lit([], pl.List(pl.String)))
    return joined.with_columns(text_unit_ids=text_unit_ids).drop("found")


_QUOTED_LINE = re.compile(r"\n[ \t]*>+")


def spans_of(index: IndexSnapshot, unit_id: str) -> list[tuple[Span, str]]:
    """Return the sentences of a text unit, each with its words on one line; empty for an unknown unit."""
    return index.once(_cut_spans, unit_id)


def _cut_spans(index: IndexSnapshot, unit_id: str) -> list[tuple[Span, str]]:
    passage = index.passages.get(unit_id)
    if passage is None:
        return []
    return [(span, _on_one_line(passage.text[span.start : span.end])) for span in passage.sentences]


def _on_one_line(words: str) -> str:
    """Join wrapped lines, removing the marks of quoted lines."""
    if "\n" in words and words.startswith(">"):
        words = _QUOTED_LINE.sub(" ", words)
    return " ".join(words.split())


def sentences_naming(
    index: IndexSnapshot, names: Sequence[str], unit_ids: Sequence[str], most: int
) -> Iterator[Quote]:
    """Yield up to ``most`` sentences of the units that contain all names, in the order of the units."""
    yielded = 0
    wanted = [fold(name) for name in names]
    for unit_id in unit_ids:
        for span, words in spans_of(index, unit_id):
            folded = fold(words)
            if all(name in folded for name in wanted):
                yield Quote(unit_id, span)
                yielded += 1
                if yielded == most:
                    return


class CombinedUnits:
    """Rows of several contexts under new numbers, one per record even if several contexts have it.

    Each context has its own numbers, so the same number may mean different rows.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self.index = index
        self.all: list[ContextUnit] = []
        self._from: list[tuple[ContextUnits, int]] = []
        self._number_of: dict[tuple[ContextKind, str], int] = {}

    def add(self, units: ContextUnits, rows: Sequence[ContextUnit]) -> dict[Citation, int]:
        """Add the rows of a context; return the new numbers by the citations used in that context."""
        numbers = {}
        for row in rows:
            kind = units.kind(row.id)
            number = self._number_of.setdefault((kind, units.record_id(row.id)), len(self.all) + 1)
            if number > len(self.all):
                self.all.append(replace(row, id=number, kind=kind))
                self._from.append((units, row.id))
            numbers[Citation(kind, row.id)] = number
        return numbers

    def kind(self, number: int) -> ContextKind:
        """Return the kind that the row is cited as."""
        return self.all[number - 1].kind

    def record_kind(self, number: int) -> ContextKind:
        """Return the kind of the row's record."""
        return self.kind(number)

    def record_id(self, number: int) -> str:
        """Return the id of the row's record."""
        units, original = self._from[number - 1]
        return units.record_id(original)

    def title(self, number: int) -> str:
        """Return the title of the row."""
        return self.all[number - 1].title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the row rests on according to its own context."""
        units, original = self._from[number - 1]
        return units.provenance(original)
