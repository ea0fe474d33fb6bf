"""The evidence of a report: the sentences of the corpus that support the rows of its context."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.tasks.ports import Quote, SupportingSentence
from graphrag_dagster.kernel.text.spans import Span
from graphrag_dagster.systems.graphrag.reports.context import PackedContext
from graphrag_dagster.systems.graphrag.reports.sentences import supporting_sentences
from graphrag_dagster.systems.graphrag.resolution.applying import Resolved

_LIMIT = 400
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Support:
    """Supporting sentences of the records of one kind, in both directions; records and sentences ascend.

    ``records`` are their ids. Those that sentence s supports are ``of_sentence[cuts[s]:cuts[s + 1]]``, as
    places in ``records``; the sentences of record r are ``of_record[record_cuts[r]:record_cuts[r + 1]]``.
    """

    records: list[str]
    places: Mapping[str, int]
    of_sentence: NDArray[np.int64]
    cuts: NDArray[np.int64]
    of_record: NDArray[np.int64]
    record_cuts: NDArray[np.int64]

    def records_of(self, sentence: int) -> list[str]:
        """Return the ids of the records that a sentence supports."""
        start, end = self.cuts[sentence : sentence + 2]
        return [self.records[place] for place in self.of_sentence[start:end].tolist()]

    def sentences_of(self, record: str) -> NDArray[np.int64]:
        """Return the sentences that support a record."""
        place = self.places.get(record)
        if place is None:
            return _NONE
        start, end = self.record_cuts[place : place + 2]
        found: NDArray[np.int64] = self.of_record[start:end]
        return found


class EvidenceIndex:
    """Finds the sentences that support a context; built once for all communities.

    Args:
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
        text_chunks: rows of ``corpus.text_chunks``.
        units: their texts by their ids.
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        gleaned_relationships: rows of ``extraction.gleaned_relationships``.
        aliases: rows of ``resolution.aliases``.
        concerning: names of the entities that contexts show; None for any. Only documents that tell of these
            are looked at.
        limit: most sentences for one context.
    """

    def __init__(
        self,
        *,
        entities: pl.DataFrame,
        relationships: pl.DataFrame,
        text_chunks: pl.DataFrame,
        units: Mapping[str, str],
        gleaned_entities: pl.DataFrame,
        gleaned_relationships: pl.DataFrame,
        aliases: pl.DataFrame,
        concerning: Collection[str] | None = None,
        limit: int = _LIMIT,
    ) -> None:
        self._units = units
        if concerning is not None:
            resolved = Resolved(aliases, text_chunks)
            told = _told_of(resolved, concerning, gleaned_entities, gleaned_relationships)
            documents = text_chunks.join(told, on="text_unit_id", how="semi").select("document_id")
            text_chunks = text_chunks.join(documents, on="document_id", how="semi")
            gleaned_entities, gleaned_relationships = (
                gleaned.join(text_chunks, on="text_unit_id", how="semi")
                for gleaned in (gleaned_entities, gleaned_relationships)
            )
        sentences, named, stated = supporting_sentences(
            entities=entities,
            relationships=relationships,
            text_chunks=text_chunks,
            gleaned_entities=gleaned_entities,
            gleaned_relationships=gleaned_relationships,
            aliases=aliases,
        )
        self._ids = sentences["text_unit_id"].unique().sort().to_list()
        self._unit = (sentences["text_unit_id"].rank("dense") - 1).to_numpy()
        self._spans = sentences.select("start", "end").to_numpy()
        self._entities = _support(named.rename({"entity_id": "record"}), sentences.height)
        self._relationships = _support(stated.rename({"relationship_id": "record"}), sentences.height)
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
        found = self._supporting(context.numbers("entity"), context.numbers("relationship"))
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
        return tuple(self._supporting(numbers("entity"), numbers("relationship")))

    def _supporting(
        self, entities: Mapping[str, int], relationships: Mapping[str, int]
    ) -> list[SupportingSentence]:
        chosen = self._chosen(list(entities), list(relationships))
        return [
            SupportingSentence(
                unit,
                Span(start, end),
                self._units[unit][start:end],
                _local(self._entities.records_of(sentence), entities),
                _local(self._relationships.records_of(sentence), relationships),
            )
            for sentence in chosen
            for unit, (start, end) in ((self._ids[self._unit[sentence]], self._spans[sentence].tolist()),)
        ]

    def _chosen(self, entities: Sequence[str], relationships: Sequence[str]) -> list[int]:
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


def _told_of(
    resolved: Resolved,
    names: Collection[str],
    gleaned_entities: pl.DataFrame,
    gleaned_relationships: pl.DataFrame,
) -> pl.DataFrame:
    """Return the ``text_unit_id`` of the units that tell of any of some entities."""
    wanted = pl.DataFrame({"name": list(names)}, schema={"name": pl.String})
    named = resolved.named(gleaned_entities.select("text_unit_id", "name"), "name")
    stated = resolved.named(
        gleaned_relationships.select("text_unit_id", "source", "target"), "source", "target"
    )
    told = [named, *(stated.select("text_unit_id", name=end) for end in ("source", "target"))]
    return pl.concat(told).join(wanted, on="name", how="semi").select("text_unit_id").unique()


def _support(pairs: pl.DataFrame, sentences: int) -> _Support:
    records = pairs["record"].unique().sort().to_list()
    ordered = pairs.select(sentence=pl.col("sentence").cast(pl.Int64), place=pl.col("record").rank("dense"))
    by_sentence = ordered.sort("sentence", "place").to_numpy().astype(np.int64)
    by_record = ordered.sort("place", "sentence").to_numpy().astype(np.int64)
    return _Support(
        records,
        {record: place for place, record in enumerate(records)},
        by_sentence[:, 1] - 1,
        np.searchsorted(by_sentence[:, 0], np.arange(sentences + 1)),
        np.ascontiguousarray(by_record[:, 0]),
        np.searchsorted(by_record[:, 1] - 1, np.arange(len(records) + 1)),
    )


def _tally(support: _Support, records: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sentences that support any of the records, ascending, and how many each supports."""
    return np.unique(np.concatenate([_NONE, *map(support.sentences_of, records)]), return_counts=True)


def _local(records: Iterable[str], numbers: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sorted(numbers[record] for record in records if record in numbers))
