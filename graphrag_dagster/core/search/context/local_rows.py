"""Rows of a local context, section by section, best first; made one after the other as they are asked for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import fsum

import numpy as np
import polars as pl

from graphrag_dagster.core.language.tasks import ContextUnit, Quote
from graphrag_dagster.core.reports.citations import without_citations
from graphrag_dagster.core.search.context.context_units import Provenance
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.context.local_units import quoted
from graphrag_dagster.core.search.context.naming import sentences_naming
from graphrag_dagster.core.search.context.report_units import report_provenance
from graphrag_dagster.core.search.retrieval.lists import WeightedLists
from graphrag_dagster.core.text.spans import Span

_SENTENCES, _MOST_ROWS = 6, 200
_RELATIONSHIP = ("relationship_id", "source_id", "target_id", "weight", "description")
#: What makes two claim records the same claim.
_CLAIM = ("subject", "object", "type")


@dataclass(frozen=True, slots=True)
class LocalRow:
    """A row before it has a number.

    ``lead``: its cells between the number and the text; ``provenance``: the words it rests on.
    """

    unit: ContextUnit
    record_id: str
    lead: tuple[str, ...]
    provenance: Callable[[], Sequence[Provenance]]


def entity_rows(index: IndexSnapshot, ids: Sequence[str]) -> Iterator[LocalRow]:
    """Yield entities, in the order of their ids."""
    known = index.once(_entities_by_id)
    for entity_id in ids:
        if entity_id in known:
            title, description = known[entity_id]
            unit = ContextUnit(0, title, description, kind="entity")
            yield LocalRow(unit, entity_id, (title,), partial(_naming, index, entity_id))


def relationship_rows(index: IndexSnapshot, entities: Sequence[str]) -> Iterator[LocalRow]:
    """Yield relationships between the entities, then from them to others, heaviest first."""
    if not entities or index.relationships.is_empty():
        return
    chosen = set(entities)
    key, source, target, weight, description = (index.relationships[name] for name in _RELATIONSHIP)
    rows = {row for entity in entities for row in _relationships_of(index, entity)}

    def heaviest(row: int) -> tuple[bool, float, str]:
        return source[row] not in chosen or target[row] not in chosen, -weight[row], key[row]

    titles, _ = index.once(_titles)
    for row in sorted(rows, key=heaviest)[:_MOST_ROWS]:
        ends = (titles[source[row]], titles[target[row]])
        unit = ContextUnit(0, " — ".join(ends), description[row], kind="relationship")
        yield LocalRow(unit, key[row], ends, partial(_naming, index, key[row]))


def titles_of(index: IndexSnapshot) -> dict[str, str]:
    """Return the titles of entities by id; made once per snapshot."""
    return index.once(_titles)[0]


def claim_rows(index: IndexSnapshot, entities: Sequence[str]) -> Iterator[LocalRow]:
    """Yield claims about entities."""
    if index.claims is None or index.claims.is_empty() or not entities:
        return
    titles, names = index.once(_titles)
    chosen = [names[entity] for entity in entities if entity in names]
    about = index.claims.filter(pl.col("subject").is_in(chosen)).sort("subject", "human_readable_id")
    by_name = {name: titles[entity] for entity, name in names.items()}
    words = index.once(_words_of_claims)
    for key, description, *about_what in about.select("claim_id", "description", *_CLAIM).iter_rows():
        title = by_name[about_what[0]]
        quotes = words.get(tuple(about_what), [])
        unit = ContextUnit(0, title, description, kind="claim")
        yield LocalRow(unit, key, (title,), partial(quoted, quotes, "claim", key))


def _words_of_claims(index: IndexSnapshot) -> dict[tuple[str | None, ...], list[Quote]]:
    """The words that claims were taken from, by what the claims are about."""
    found: dict[tuple[str | None, ...], list[Quote]] = {}
    if index.claim_records is None:
        return found
    for unit_id, spans, *about_what in index.claim_records.select(
        "text_unit_id", "spans", *_CLAIM
    ).iter_rows():
        quotes = [Quote(unit_id, Span(int(span["start"]), int(span["end"]))) for span in spans]
        found.setdefault(tuple(about_what), []).extend(quotes)
    return found


def report_rows(index: IndexSnapshot, ids: Sequence[str]) -> Iterator[LocalRow]:
    """Yield reports of the entities' smallest communities, those of more and better ranked ones first."""
    if index.members is None or index.reports.is_empty() or not ids:
        return
    deepest, places = index.once(_deepest), index.once(_places_of_reports)
    scores: dict[str, list[float]] = {}
    for rank, entity in enumerate(ids):
        if (community := deepest.get(entity, "")) in places:
            scores.setdefault(community, []).append(1 / (rank + 3))
    titles, contents = index.reports["title"], index.reports["content"]
    for report_id in sorted(scores, key=lambda one: (-round(fsum(scores[one]), 12), one)):
        title, content = titles[places[report_id]], contents[places[report_id]]
        text = without_citations(content).removeprefix(f"# {title}").strip()
        unit = ContextUnit(0, title, text, kind="report")
        yield LocalRow(unit, report_id, (title,), partial(report_provenance, index, report_id))


def _relationships_of(index: IndexSnapshot, entity_id: str) -> Sequence[int]:
    """The rows of the relationships that an entity is an end of."""
    places, of_place = index.once(_ends)
    return of_place.of(places[entity_id]).tolist() if entity_id in places else []


def _ends(index: IndexSnapshot) -> tuple[dict[str, int], WeightedLists]:
    """The place of each entity that has relationships, and by that the rows of these."""
    ends = pl.concat(index.relationships[name].alias("end") for name in ("source_id", "target_id"))
    numbers = ends.rank("dense").cast(pl.Int64).to_numpy() - 1
    places = dict(zip(ends, numbers.tolist(), strict=True))
    rows = np.tile(np.arange(index.relationships.height), 2)
    return places, WeightedLists.of_pairs(len(places), numbers, rows, np.ones(len(rows)))


def _deepest(index: IndexSnapshot) -> dict[str, str]:
    """The smallest community of each entity."""
    if index.members is None:
        return {}
    rising = index.members.sort("level", "community_id")
    return dict(rising.select("entity_id", "community_id").iter_rows())


def _places_of_reports(index: IndexSnapshot) -> dict[str, int]:
    return {report_id: place for place, report_id in enumerate(index.reports["report_id"])}


def _naming(index: IndexSnapshot, record_id: str) -> Sequence[Provenance]:
    """Sentences that name an entity, or both ends of a relationship."""
    names, units, kind = index.once(_named)[record_id]
    return quoted(list(sentences_naming(index, names, units, _SENTENCES)), kind, record_id)


def _named(index: IndexSnapshot) -> dict[str, tuple[tuple[str, ...], tuple[str, ...], str]]:
    titles, _ = index.once(_titles)
    found: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
        key: ((titles[source], titles[target]), tuple(units), "relationship")
        for key, source, target, units in index.relationships.select(
            "relationship_id", "source_id", "target_id", "text_unit_ids"
        ).iter_rows()
    }
    for key, units in index.entities.select("entity_id", "text_unit_ids").iter_rows():
        found[key] = ((titles[key],), tuple(units), "entity")
    return found


def _titles(index: IndexSnapshot) -> tuple[dict[str, str], dict[str, str]]:
    rows = index.entities.select("entity_id", "title", "name").rows()
    return {key: title for key, title, _ in rows}, {key: name for key, _, name in rows}


def _entities_by_id(index: IndexSnapshot) -> dict[str, tuple[str, str]]:
    rows = index.entities.select("entity_id", "title", "description").iter_rows()
    return {key: (title, description) for key, title, description in rows}
