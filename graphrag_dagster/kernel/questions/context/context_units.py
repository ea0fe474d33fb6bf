"""Rows of one or several search contexts, numbered, and the words of the documents each rests on."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import polars as pl

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.questions.citations import Citation, ContextKind
from graphrag_dagster.kernel.questions.context.index_background import IndexBackground
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot, LazySequence
from graphrag_dagster.kernel.tables import DOCUMENTS, TEXT_CHUNKS, Table
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.markup_spans import Span

#: What the record of a row is.
RecordKind = ContextKind | Literal["summary", "triple"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Words that a context row rests on, and the way to them.

    ``finding``: place of the finding of a report, -1 its summary, None where the row is no report. ``kind``
    and ``record_id``: the entity, relationship or triple that led to the words, None where they are quoted
    directly.
    """

    quote: Quote
    finding: int | None = None
    kind: str | None = None
    record_id: str | None = None


class ContextUnits(Protocol):
    """Numbered rows of a context; a row is cited by its kind and its number."""

    @property
    def index(self) -> IndexSnapshot:
        """What the rows were made from."""

    @property
    def all(self) -> Sequence[ContextUnit]:
        """All rows, in the order of their numbers."""

    def kind(self, number: int, /) -> ContextKind:
        """Return as what the row is cited."""

    def record_kind(self, number: int, /) -> RecordKind:
        """Return what the row's record is, also where it stands, and is cited, as another."""

    def record_id(self, number: int) -> str:
        """Return the id of the row's record."""

    def title(self, number: int) -> str:
        """Return the title of the row."""

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the row rests on, each words once, the nearest to what it says first."""


def as_row(cells: Iterable[object]) -> str:
    """Render cells as one row; quotes, bars and line breaks inside cells cannot end it."""
    buffer = io.StringIO()
    # Only line breaks that the writer knows as ends of rows are quoted.
    csv.writer(buffer, delimiter="|", lineterminator="\r\n").writerow(list(cells))
    return buffer.getvalue().removesuffix("\r\n")


class SourceUnits:
    """All text units of a corpus as :class:`ContextUnit`, numbered 1…n in the order of the corpus.

    They stand in the place of reports (spec_graphrag §7, TS and SS): the same prompts serve all conditions,
    but for the name that the rows have there (paper, Appendix E.4). The title of a unit is that of its
    document.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self.index = index
        self._background = IndexBackground(index)
        chunks = index.text_chunks.select("human_readable_id", "text_unit_id")
        self._ids = chunks.sort("human_readable_id", "text_unit_id")["text_unit_id"].to_list()
        self.number_of = {unit_id: number for number, unit_id in enumerate(self._ids, start=1)}
        self.all: Sequence[ContextUnit] = LazySequence(len(self._ids), self._unit)

    def kind(self, _: int) -> ContextKind:
        """Return as what the row is cited: a source."""
        return "source"

    def record_kind(self, _: int) -> ContextKind:
        """Return what the row's record is: a text unit."""
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

    def _unit(self, place: int) -> ContextUnit:
        unit_id = self._ids[place]
        passage = self.index.passages[unit_id]
        sentences = tuple((words, Quote(unit_id, span)) for span, words in spans_of(self.index, unit_id))
        return ContextUnit(
            place + 1, passage.document_title, passage.text, sentences, "source", self._background
        )


#: Sentences of a passage, at most.
_SENTENCES = 30
#: Characters of a token, about.
_TOKEN = 4
_ENCODING, _STRATEGY = "characters", "imported"
#: The names of two ends, in their order.
_PAIR = ["smaller", "larger"]
_RELATIONS, _ENTITIES = "imports.relations", "imports.entities"


def told_as_text(index: IndexSnapshot) -> IndexSnapshot:
    """Return the snapshot with a passage for each entity of a graph that came without texts.

    Args:
        index: the snapshot; one with text units, or of no graph from elsewhere, stays as it is.
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
    """Every sentence with the entities it is about, its row, its passage and its place there."""
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
    nothing = {name: pl.lit(None) for name in ("row", "source_id", "date")}
    rows = first.with_row_index("human_readable_id").with_columns(**nothing, metadata=pl.lit("{}"))
    return _typed(rows, DOCUMENTS)


def _typed(rows: pl.DataFrame, table: Table) -> pl.DataFrame:
    return rows.select(pl.col(name).cast(type_) for name, type_ in table.types().items())


def _naming(entities: pl.DataFrame, sentences: pl.DataFrame) -> pl.DataFrame:
    ends = (sentences.select("text_unit_id", name=end) for end in ("about", "other"))
    named = pl.concat(ends).drop_nulls().unique(maintain_order=True)
    units = named.group_by("name", maintain_order=True).agg(found="text_unit_id")
    return _with_units(entities, units, ["name"])


def _stating(
    records: pl.DataFrame, sentences: pl.DataFrame, first: str = "source", second: str = "target"
) -> pl.DataFrame:
    """The records with the units that name both of their ends, whichever is said of the other."""
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
    found = pl.coalesce("found", pl.lit([], pl.List(pl.String)))
    return joined.with_columns(text_unit_ids=found).drop("found")


_QUOTED_LINE = re.compile(r"\n[ \t]*>+")


def spans_of(index: IndexSnapshot, unit_id: str) -> list[tuple[Span, str]]:
    """Return the sentences of a text unit with their words on one line; nothing for an unknown unit."""
    return index.once(_cut, unit_id)


def _cut(index: IndexSnapshot, unit_id: str) -> list[tuple[Span, str]]:
    passage = index.passages.get(unit_id)
    if passage is None:
        return []
    return [(span, _on_one_line(passage.text[span.start : span.end])) for span in passage.sentences]


def _on_one_line(words: str) -> str:
    """Without the marks of the lines of a quotation that is wrapped."""
    if "\n" in words and words.startswith(">"):
        words = _QUOTED_LINE.sub(" ", words)
    return " ".join(words.split())


def sentences_naming(
    index: IndexSnapshot, names: Sequence[str], unit_ids: Sequence[str], most: int
) -> Iterator[Quote]:
    """Yield at most ``most`` sentences of the units that hold all of the names, in the order of the units."""
    given = 0
    wanted = [name.casefold() for name in names]
    for unit_id in unit_ids:
        for span, words in spans_of(index, unit_id):
            folded = words.casefold()
            if all(name in folded for name in wanted):
                yield Quote(unit_id, span)
                given += 1
                if given == most:
                    return


class CombinedUnits:
    """Rows of several contexts under fresh numbers; a record has one, however many contexts hold it.

    Each context numbers its rows for itself, so the same number means another row in each.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self.index = index
        self.all: list[ContextUnit] = []
        self._from: list[tuple[ContextUnits, int]] = []
        self._number_of: dict[tuple[ContextKind, str], int] = {}

    def add(self, units: ContextUnits, rows: Sequence[ContextUnit]) -> dict[Citation, int]:
        """Take the rows of a context in; return the new number of each as it is cited there."""
        numbers = {}
        for one in rows:
            kind = units.kind(one.id)
            number = self._number_of.setdefault((kind, units.record_id(one.id)), len(self.all) + 1)
            if number > len(self.all):
                self.all.append(replace(one, id=number, kind=kind))
                self._from.append((units, one.id))
            numbers[Citation(kind, one.id)] = number
        return numbers

    def kind(self, number: int) -> ContextKind:
        """Return as what the row is cited."""
        return self.all[number - 1].kind

    def record_kind(self, number: int) -> ContextKind:
        """Return what the row's record is."""
        return self.kind(number)

    def record_id(self, number: int) -> str:
        """Return the id of the row's record."""
        units, own = self._from[number - 1]
        return units.record_id(own)

    def title(self, number: int) -> str:
        """Return the title of the row."""
        return self.all[number - 1].title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the row rests on, as its own context says."""
        units, own = self._from[number - 1]
        return units.provenance(own)
