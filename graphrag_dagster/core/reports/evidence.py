"""The evidence of a report: the sentences of the corpus that support the rows of its context."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.core.language.tasks import Quote, SupportingSentence
from graphrag_dagster.core.reports.context import PackedContext
from graphrag_dagster.core.reports.sentences import supporting_sentences
from graphrag_dagster.core.resolution.applying import Resolved
from graphrag_dagster.core.text.spans import Span

_LIMIT = 400


@dataclass(frozen=True, slots=True)
class _Support:
    """Which sentences support which records of one kind, both ways; sentences ascend."""

    records: Mapping[int, tuple[str, ...]]
    sentences: Mapping[str, NDArray[np.int64]]


class EvidenceIndex:
    """Finds the sentences that support a context; built once for all communities.

    Args:
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
        text_chunks: rows of ``corpus.text_chunks``.
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
        gleaned_entities: pl.DataFrame,
        gleaned_relationships: pl.DataFrame,
        aliases: pl.DataFrame,
        concerning: Collection[str] | None = None,
        limit: int = _LIMIT,
    ) -> None:
        self._units: dict[str, str] = dict(text_chunks.select("text_unit_id", "text").iter_rows())
        if concerning is not None:
            resolved = Resolved(aliases, text_chunks)
            units = _told_of(resolved, concerning, gleaned_entities, gleaned_relationships)
            documents = text_chunks.join(units, on="text_unit_id", how="semi").select("document_id")
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
        self._sentences = sentences.select("text_unit_id", "start", "end", "text").rows()
        self._entities = _support(named.rename({"entity_id": "record"}))
        self._relationships = _support(stated.rename({"relationship_id": "record"}))
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
        return [
            SupportingSentence(
                unit,
                Span(start, end),
                text,
                _local(self._entities.records.get(sentence, ()), entities),
                _local(self._relationships.records.get(sentence, ()), relationships),
            )
            for sentence in self._chosen(list(entities), list(relationships))
            for unit, start, end, text in (self._sentences[sentence],)
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


def _support(pairs: pl.DataFrame) -> _Support:
    ordered = pairs.sort("sentence", "record")
    by_sentence = ordered.group_by("sentence", maintain_order=True).agg("record")
    by_record = ordered.group_by("record", maintain_order=True).agg("sentence")
    return _Support(
        {sentence: tuple(records) for sentence, records in by_sentence.iter_rows()},
        {record: np.array(found, dtype=np.int64) for record, found in by_record.iter_rows()},
    )


def _tally(support: _Support, records: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sentences that support any of the records, ascending, and how many each supports."""
    found = [support.sentences[record] for record in records if record in support.sentences]
    if not found:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.unique(np.concatenate(found), return_counts=True)


def _local(records: Iterable[str], numbers: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sorted(numbers[record] for record in records if record in numbers))
