"""Evidence of a report: the sentences of the corpus that support the rows of its context.

Text units overlap, so one sentence of a document may be in two units, or whole in one and cut in the other.
Sentences are therefore identified by their position in the document.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.lineage.resolved_names import named_by_entities
from graphrag_dagster.kernel.tables.core_tables import ENTITIES, RELATIONSHIPS, TEXT_CHUNKS
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.tasks.task_ports import Quote, RecordKind, SupportingSentence
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.systems.graphrag.reports.report_context import PackedContext
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES, GLEANED_RELATIONSHIPS

_UNITS_AT_ONCE = 2_000


def supporting_sentences(tables: Tables) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the sentences of the text units, and which entities and relationships each supports.

    Sentences are the spans of the relation records and, around mentions outside of these, the sentences of
    the unit by rule. Of equal ones in overlapping units the earliest unit's stays; one that is cut at the
    edge of a unit gives way to a sentence of the document that contains it. A relation record without spans
    is supported by the sentences of its unit that name both ends.

    Returns:
        ``sentence`` (0… in the order of the corpus), ``text_unit_id``, ``start``, ``end``; then
        ``sentence``, ``entity``; then ``sentence``, ``relationship``. Records are told by their short number.
    """
    text_chunks = tables[TEXT_CHUNKS]
    units, aliases = _units(text_chunks), tables[ALIASES]
    entities = tables[ENTITIES].select("name", entity="human_readable_id")
    named = named_by_entities(tables[GLEANED_ENTITIES], ["name"], aliases, text_chunks)
    mentions = _mentions(units, named, entities)
    edges = named_by_entities(tables[GLEANED_RELATIONSHIPS], ["source", "target"], aliases, text_chunks)
    stated = _stated_spans(units, edges, tables[RELATIONSHIPS])
    del named, edges
    spanned = _explode_units(stated).select("unit", "relationship", "start", "end").unique()
    cut = spanned.select("unit", "start", "end").unique()
    outside = mentions.join(
        _mentions_with_spans(mentions, cut), on=["unit", "entity", "first", "last"], how="anti"
    )
    spans = pl.concat([cut, _sentences_by_rule(units, outside)]).unique()
    named = _mentions_with_spans(mentions, spans).select("unit", "start", "end", "entity").unique()
    del mentions, cut, outside
    both = _sentences_naming_both(stated.filter(pl.col("spans").list.len() == 0), named, entities)
    del stated
    number = _number_sentences(units, spans)
    of_span = ["unit", "start", "end"]
    return (
        _places(number, units),
        named.join(number, on=of_span).select("sentence", "entity").unique(),
        pl.concat([spanned.select(both.columns), both])
        .join(number, on=of_span)
        .select("sentence", "relationship")
        .unique(),
    )


def _units(text_chunks: pl.DataFrame) -> pl.DataFrame:
    """Return the units in the order of the corpus; ``first``…``last`` is the text without outer blanks."""
    text = pl.col("text")
    return (
        text_chunks.sort("human_readable_id")
        .with_row_index("unit")
        .select(
            pl.col("unit").cast(pl.Int32),
            *("text_unit_id", "text", "start_char"),
            document=pl.col("document_id").rank("dense"),
            first=text.str.len_chars().cast(pl.Int32) - text.str.strip_chars_start().str.len_chars(),
            last=text.str.strip_chars_end().str.len_chars().cast(pl.Int32),
            begins=pl.col("start_char") == pl.col("start_char").min().over("document_id"),
            ends=pl.col("end_char") == pl.col("end_char").max().over("document_id"),
        )
    )


def _explode_units(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.explode("spans").filter(pl.col("spans").is_not_null()).unnest("spans")


def _mentions(units: pl.DataFrame, gleaned: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    return (
        _explode_units(
            gleaned.select("text_unit_id", "name", "spans")
            .join(entities, on="name")
            .join(units.select("text_unit_id", "unit"), on="text_unit_id")
            .select("unit", "entity", "spans")
        )
        .select("unit", "entity", first="start", last="end")
        .unique()
    )


def _stated_spans(units: pl.DataFrame, gleaned: pl.DataFrame, relationships: pl.DataFrame) -> pl.DataFrame:
    return (
        gleaned.select(
            "text_unit_id",
            "spans",
            source=pl.min_horizontal("source", "target"),
            target=pl.max_horizontal("source", "target"),
        )
        .join(
            relationships.select("source", "target", relationship="human_readable_id"),
            on=["source", "target"],
        )
        .join(units.select("text_unit_id", "unit"), on="text_unit_id")
        .drop("text_unit_id")
    )


def _mentions_with_spans(mentions: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return each mention, ``first``…``last``, with every span of its unit around it, ``start``…``end``."""
    blocks = mentions.with_columns(block=pl.col("unit") // _UNITS_AT_ONCE)
    found = [
        some.join(spans, on="unit").filter(
            (pl.col("start") <= pl.col("first")) & (pl.col("last") <= pl.col("end"))
        )
        for some in blocks.partition_by("block", include_key=False)
    ]
    return pl.concat(found) if found else mentions.join(spans, on="unit")


def _sentences_by_rule(units: pl.DataFrame, mentions: pl.DataFrame) -> pl.DataFrame:
    """Return the sentences of units around mentions."""
    concerned = units.join(mentions, on="unit", how="semi").select("unit", "text")
    rows = [
        (unit, span.start, span.end) for unit, text in concerned.iter_rows() for span in sentence_spans(text)
    ]
    schema = {"unit": pl.Int32, "start": pl.Int32, "end": pl.Int32}
    sentences = pl.DataFrame(rows, schema=schema, orient="row")
    return _mentions_with_spans(mentions, sentences).select("unit", "start", "end").unique()


def _sentences_naming_both(stated: pl.DataFrame, named: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    one, other = (entities.rename({"name": end, "entity": f"{end}_entity"}) for end in ("source", "target"))
    return (
        stated.join(one, on="source")
        .join(other, on="target")
        .join(named, left_on=["unit", "source_entity"], right_on=["unit", "entity"])
        .join(
            named,
            left_on=["unit", "start", "end", "target_entity"],
            right_on=["unit", "start", "end", "entity"],
        )
        .select("unit", "relationship", "start", "end")
        .unique()
    )


def _number_sentences(units: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Return for each span the ``sentence`` that stands for it; ``stands`` where it is that sentence."""
    placed = spans.join(units.drop("text_unit_id", "text"), on="unit").select(
        *("unit", "start", "end", "document"),
        here=pl.col("start") + pl.col("start_char"),
        there=pl.col("end") + pl.col("start_char"),
        edge=((pl.col("start") <= pl.col("first")) & ~pl.col("begins"))
        | ((pl.col("end") >= pl.col("last")) & ~pl.col("ends")),
    )
    place = ["document", "here", "there"]
    distinct = (
        placed.group_by(place)
        .agg(pl.min("unit").alias("earliest"), pl.all("edge"))
        .sort("document", "here", -pl.col("there"))
    )
    distinct = distinct.with_columns(
        number=pl.int_range(len(distinct)), whole=pl.Series(_containing_rows(distinct), dtype=pl.Int64)
    )
    whole = distinct.filter(pl.col("whole") == pl.col("number")).sort("earliest", "here", "there")
    numbered = whole.select("whole", sentence=pl.int_range(pl.len()))
    return placed.join(distinct.join(numbered, on="whole"), on=place).select(
        *("unit", "start", "end", "sentence"),
        stands=(pl.col("unit") == pl.col("earliest")) & (pl.col("whole") == pl.col("number")),
    )


def _containing_rows(ordered: pl.DataFrame) -> list[int]:
    """Return for each row its own number, or for one at an edge that of a row that contains it."""
    found: list[int] = []
    of_document, furthest, holder = -1, -1, -1
    for number, (document, there, edge) in enumerate(ordered.select("document", "there", "edge").iter_rows()):
        if document != of_document:
            of_document, furthest = document, -1
        found.append(holder if edge and there <= furthest else number)
        if there > furthest:
            furthest, holder = there, number
    return found


def _places(number: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    named = units.select("unit", "text_unit_id")
    standing = number.filter("stands").join(named, on="unit").sort("sentence")
    return standing.select("sentence", "text_unit_id", "start", "end")


_LIMIT = 400
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Support:
    """Supporting sentences of the records of one kind, in both directions; numbers and sentences ascend.

    ``numbers`` are the short numbers of records. Those that sentence s supports are
    ``of_sentence[cuts[s]:cuts[s + 1]]``; the sentences of number r are
    ``of_record[record_cuts[r]:record_cuts[r + 1]]``.
    """

    numbers: Mapping[str, int]
    of_sentence: NDArray[np.int32]
    cuts: NDArray[np.int64]
    of_record: NDArray[np.int64]
    record_cuts: NDArray[np.int64]

    def records_of(self, sentence: int) -> list[int]:
        """Return the numbers of the records that a sentence supports."""
        start, end = self.cuts[sentence : sentence + 2]
        found: list[int] = self.of_sentence[start:end].tolist()
        return found

    def shown(self, records: Mapping[str, int]) -> dict[int, int]:
        """Return the numbers of records in a context by their short numbers."""
        return {self.numbers[record]: number for record, number in records.items()}

    def sentences_of(self, record: str) -> NDArray[np.int64]:
        """Return the sentences that support a record."""
        number = self.numbers[record]
        start, end = self.record_cuts[number : number + 2]
        found: NDArray[np.int64] = self.of_record[start:end]
        return found


class EvidenceIndex:
    """Finds the sentences that support a context; built once for all communities.

    Args:
        tables: those that reports are written from.
        numbers: the short number of each record by kind.
        concerning: names of the entities that contexts show; None for any. Only documents that tell of these
            are looked at.
        limit: most sentences for one context.
    """

    def __init__(
        self,
        tables: Tables,
        numbers: Mapping[RecordKind, Mapping[str, int]],
        concerning: Collection[str] | None = None,
        limit: int = _LIMIT,
    ) -> None:
        text_chunks = tables[TEXT_CHUNKS]
        self._units: Mapping[str, str] = dict(text_chunks.select("text_unit_id", "text").iter_rows())
        if concerning is not None:
            told = _units_mentioning(tables, concerning)
            documents = text_chunks.join(told, on="text_unit_id", how="semi").select("document_id")
            text_chunks = text_chunks.join(documents, on="document_id", how="semi")
            gleaned = {
                table: tables[table].join(text_chunks, on="text_unit_id", how="semi")
                for table in (GLEANED_ENTITIES, GLEANED_RELATIONSHIPS)
            }
            tables = {**tables, **gleaned, TEXT_CHUNKS: text_chunks}
        sentences, named, stated = supporting_sentences(tables)
        self._ids = sentences["text_unit_id"].unique().sort().to_list()
        self._unit = (sentences["text_unit_id"].rank("dense") - 1).to_numpy()
        self._spans = sentences.select("start", "end").to_numpy()
        self._entities = _support(named, "entity", numbers, sentences.height)
        self._relationships = _support(stated, "relationship", numbers, sentences.height)
        self._limit = limit

    def of(self, context: PackedContext, quoted: Iterable[Quote] = ()) -> tuple[SupportingSentence, ...]:
        """Return the sentences that support a community's own rows of a context, in the order of the corpus.

        Where there are too many, those stay that support the most relationships, then the most entities,
        then the earliest.

        Args:
            context: the packed context; entities and relationships are numbered as in it.
            quoted: what the reports in the context quote. These sentences come last, in the given order, and
                support no numbered row.
        """
        found = self._supporting_sentences(context.numbers("entity"), context.numbers("relationship"))
        known = {(item.unit_id, item.span) for item in found}
        for quote in dict.fromkeys(quoted):
            if len(found) >= self._limit:
                break
            if (quote.unit_id, quote.span) not in known and quote.unit_id in self._units:
                text = self._units[quote.unit_id][quote.span.start : quote.span.end]
                found.append(SupportingSentence(quote.unit_id, quote.span, text))
        return tuple(found)

    def of_context_nodes(self, context: PackedContext) -> tuple[SupportingSentence, ...]:
        """Return the sentences that support the rows about context nodes; see :meth:`of`."""
        numbers = context.context_numbers
        return tuple(self._supporting_sentences(numbers("entity"), numbers("relationship")))

    def _supporting_sentences(
        self, entities: Mapping[str, int], relationships: Mapping[str, int]
    ) -> list[SupportingSentence]:
        chosen = self._choose(list(entities), list(relationships))
        shown_entities, shown_edges = self._entities.shown(entities), self._relationships.shown(relationships)
        return [
            SupportingSentence(
                unit,
                Span(start, end),
                self._units[unit][start:end],
                _local_numbers(self._entities.records_of(sentence), shown_entities),
                _local_numbers(self._relationships.records_of(sentence), shown_edges),
            )
            for sentence in chosen
            for unit, (start, end) in ((self._ids[self._unit[sentence]], self._spans[sentence].tolist()),)
        ]

    def _choose(self, entities: Sequence[str], relationships: Sequence[str]) -> list[int]:
        named, entity_rows = _tally(self._entities, entities)
        stated, relationship_rows = _tally(self._relationships, relationships)
        sentences = np.union1d(named, stated)
        if len(sentences) <= self._limit:
            return list(map(int, sentences))
        by_relationships, by_entities = np.zeros((2, len(sentences)), dtype=np.int64)
        by_relationships[np.searchsorted(sentences, stated)] = relationship_rows
        by_entities[np.searchsorted(sentences, named)] = entity_rows
        best = np.lexsort((sentences, -by_entities, -by_relationships))[: self._limit]
        return sorted(map(int, sentences[best]))


def _units_mentioning(tables: Tables, names: Collection[str]) -> pl.DataFrame:
    """Return the ``text_unit_id`` of the units that tell of any of some entities."""
    wanted = pl.DataFrame({"name": list(names)}, schema={"name": pl.String})
    mentions = tables[GLEANED_ENTITIES].select("text_unit_id", "name")
    named = named_by_entities(mentions, ["name"], tables[ALIASES], tables[TEXT_CHUNKS])
    edges = tables[GLEANED_RELATIONSHIPS].select("text_unit_id", "source", "target")
    stated = named_by_entities(edges, ["source", "target"], tables[ALIASES], tables[TEXT_CHUNKS])
    told = [named, *(stated.select("text_unit_id", name=end) for end in ("source", "target"))]
    return pl.concat(told).join(wanted, on="name", how="semi").select("text_unit_id").unique()


def _support(
    pairs: pl.DataFrame, kind: RecordKind, numbers: Mapping[RecordKind, Mapping[str, int]], sentences: int
) -> _Support:
    by_sentence, by_record = pairs.sort("sentence", kind), pairs.sort(kind, "sentence")
    return _Support(
        numbers[kind],
        by_sentence[kind].to_numpy(),
        np.searchsorted(by_sentence["sentence"].to_numpy(), np.arange(sentences + 1)),
        by_record["sentence"].to_numpy(),
        np.searchsorted(by_record[kind].to_numpy(), np.arange(max(numbers[kind].values(), default=0) + 2)),
    )


def _tally(support: _Support, records: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sentences that support any of the records, ascending, and how many each supports."""
    return np.unique(np.concatenate([_NONE, *map(support.sentences_of, records)]), return_counts=True)


def _local_numbers(records: Iterable[int], numbers: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(sorted(numbers[record] for record in records if record in numbers))
