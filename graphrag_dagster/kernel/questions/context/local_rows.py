"""Rows of a local context, section by section, best first; made one after the other as they are asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum

import polars as pl

from graphrag_dagster.kernel.questions.citations import ContextKind
from graphrag_dagster.kernel.questions.context.context_units import ContextUnits, Provenance, sentences_naming
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot, RowsById
from graphrag_dagster.kernel.questions.context.report_units import report_provenance
from graphrag_dagster.kernel.questions.report_citations import without_citations
from graphrag_dagster.kernel.tasks.ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.spans import Span


class LocalUnits:
    """Rows of any kind, numbered 1…n as they come; each brings its own way to the words it rests on."""

    def __init__(self, index: IndexSnapshot) -> None:
        self.index = index
        self._rows: list[ContextUnit] = []
        self._ids: list[str] = []
        self._provenance: list[Callable[[], Sequence[Provenance]]] = []

    @property
    def all(self) -> Sequence[ContextUnit]:
        """All rows, in the order of their numbers."""
        return self._rows

    def add(
        self, unit: ContextUnit, record_id: str, provenance: Callable[[], Sequence[Provenance]]
    ) -> ContextUnit:
        """Take a row in under the next number; returns it with that number."""
        row = replace(unit, id=len(self._rows) + 1)
        self._rows.append(row)
        self._ids.append(record_id)
        self._provenance.append(provenance)
        return row

    def kind(self, number: int) -> ContextKind:
        """Return as what the row is cited."""
        return self._rows[number - 1].kind

    def record_kind(self, number: int) -> ContextKind:
        """Return what the row's record is."""
        return self.kind(number)

    def record_id(self, number: int) -> str:
        """Return the id of the row's record."""
        return self._ids[number - 1]

    def title(self, number: int) -> str:
        """Return the title of the row."""
        return self._rows[number - 1].title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the row rests on, each words once."""
        return self._provenance[number - 1]()


@dataclass(frozen=True, slots=True)
class LocalContext:
    """What was found for a question: rows of ``units``, and the context as the prompt shows it.

    ``row_tokens``: tokens of each row there; counted where they are not given.
    """

    units: ContextUnits
    rows: Sequence[ContextUnit]
    rendered: str
    row_tokens: Sequence[int] = ()


def quoted(
    quotes: Sequence[Quote], kind: str | None = None, record_id: str | None = None
) -> list[Provenance]:
    """Return quotes as evidence, with the record that led to them."""
    return [Provenance(quote, None, kind, record_id) for quote in quotes]


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
    known = index.once(_entities)
    for entity_id in ids:
        if row := known.get(entity_id):
            title, _, description, _ = row
            unit = ContextUnit(0, title, description, kind="entity")
            yield LocalRow(unit, entity_id, (title,), partial(_naming, index, entity_id))


def relationship_rows(index: IndexSnapshot, entities: Sequence[str]) -> Iterator[LocalRow]:
    """Yield relationships between the entities, then from them to others, heaviest first."""
    if not entities or index.relationships.is_empty():
        return
    chosen, ends = set(entities), pl.Series(entities, dtype=pl.String).implode()
    touching = pl.col("source_id").is_in(ends) | pl.col("target_id").is_in(ends)

    def heaviest(row: tuple[str, str, str, float, str]) -> tuple[bool, float, str]:
        key, source, target, weight, _ = row
        return source not in chosen or target not in chosen, -weight, key

    rows = index.relationships.select(_RELATIONSHIP).filter(touching).rows()
    for key, source, target, _, description in sorted(rows, key=heaviest)[:_MOST_ROWS]:
        named = (_title(index, source), _title(index, target))
        unit = ContextUnit(0, " — ".join(named), description, kind="relationship")
        yield LocalRow(unit, key, named, partial(_naming, index, key))


def titles_of(index: IndexSnapshot) -> dict[str, str]:
    """Return the titles of entities by id; made once per snapshot."""
    return index.once(_titles)


def claim_rows(index: IndexSnapshot, entities: Sequence[str]) -> Iterator[LocalRow]:
    """Yield claims about entities."""
    if index.claims is None or index.claims.is_empty() or not entities:
        return
    known = index.once(_entities)
    found = [row for entity in entities if (row := known.get(entity))]
    by_name = {name: title for title, name, _, _ in found}
    chosen = list(by_name)
    about = index.claims.filter(pl.col("subject").is_in(chosen)).sort("subject", "human_readable_id")
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
    deepest, reports = index.once(_communities), index.once(_reports)
    scores: dict[str, list[float]] = {}
    for rank, entity in enumerate(ids):
        (community,) = deepest.get(entity) or ("",)
        if reports.get(community):
            scores.setdefault(community, []).append(1 / (rank + 3))
    for report_id in sorted(scores, key=lambda one: (-round(fsum(scores[one]), 12), one)):
        title, content = reports.get(report_id) or ("", "")
        text = without_citations(content).removeprefix(f"# {title}").strip()
        unit = ContextUnit(0, title, text, kind="report")
        yield LocalRow(unit, report_id, (title,), partial(report_provenance, index, report_id))


def _communities(index: IndexSnapshot) -> RowsById:
    """The smallest community of each entity is the last."""
    members = pl.DataFrame() if index.members is None else index.members
    return RowsById(members.sort("entity_id", "level", "community_id"), "entity_id", ["community_id"])


def _reports(index: IndexSnapshot) -> RowsById:
    return RowsById(index.reports, "report_id", ["title", "content"])


def _naming(index: IndexSnapshot, record_id: str) -> Sequence[Provenance]:
    """Sentences that name an entity, or both ends of a relationship."""
    if own := index.once(_entities).get(record_id):
        kind, names, units = "entity", [own[0]], own[-1]
    else:
        source, target, units = index.once(_relationships).get(record_id) or ("", "", ())
        kind, names = "relationship", [_title(index, source), _title(index, target)]
    return quoted(list(sentences_naming(index, names, units, _SENTENCES)), kind, record_id)


def _title(index: IndexSnapshot, entity_id: str) -> str:
    row = index.once(_entities).get(entity_id)
    if row is None:
        raise KeyError(entity_id)
    return str(row[0])


def _entities(index: IndexSnapshot) -> RowsById:
    return RowsById(index.entities, "entity_id", ["title", "name", "description", "text_unit_ids"])


def _relationships(index: IndexSnapshot) -> RowsById:
    ends = ["source_id", "target_id", "text_unit_ids"]
    return RowsById(index.relationships, "relationship_id", ends)


def _titles(index: IndexSnapshot) -> dict[str, str]:
    return dict(index.entities.select("entity_id", "title").iter_rows())


def words_stating(index: IndexSnapshot, edge: Mapping[str, object], most: int) -> list[Quote]:
    """Return an edge's own words; where they are not known, sentences of its units that name both ends.

    Args:
        index: the tables of the corpus.
        edge: a row of ``graph.triples``.
        most: sentences.
    """
    unit, start, end = str(edge["evidence_unit_id"]), edge["start_char"], edge["end_char"]
    if isinstance(start, int) and isinstance(end, int) and unit in index.passages:
        return [Quote(unit, Span(start, end))]
    units = [str(one) for one in edge["text_unit_ids"]] if isinstance(edge["text_unit_ids"], list) else []
    titles = titles_of(index)
    ends = [titles.get(str(edge["head_id"]), ""), titles.get(str(edge["tail_id"]), "")]
    return list(sentences_naming(index, ends, units, most))
