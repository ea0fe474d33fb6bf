"""Reports, entities, relationships and claims as rows of a search context, section by section."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import fsum

import polars as pl

from graphrag_dagster.kernel.questions.citations import ContextKind
from graphrag_dagster.kernel.questions.context.context_units import ContextUnits, Provenance, sentences_naming
from graphrag_dagster.kernel.questions.context.index_background import IndexBackground
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot, LazySequence, RowsById
from graphrag_dagster.kernel.questions.report_citations import without_citations
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

Sentences = tuple[tuple[str, Quote | None], ...]

_MOST_FOUND, _PER_RECORD = 24, 3


class ReportUnits:
    """Reports as :class:`ContextUnit`, numbered 1…n by title and id.

    The text of a unit is the report without its own citations, which mean nothing outside of it. Its
    sentences are what the report quotes, or where it quotes nothing, the sentences of the report itself.
    """

    def __init__(self, index: IndexSnapshot, reports: pl.DataFrame) -> None:
        self.index = index
        self._quoted = index.once(_quoted)
        self._background = IndexBackground(index)
        self._rows = reports.sort("title", "report_id").select("report_id", "title", "content").rows()
        self._ids: dict[int, str] = {number: row[0] for number, row in enumerate(self._rows, start=1)}
        self.number_of = {report_id: number for number, report_id in self._ids.items()}
        self.all: Sequence[ContextUnit] = LazySequence(len(self._rows), self._unit)

    def kind(self, _: int) -> ContextKind:
        """Return as what the row is cited."""
        return "report"

    def record_kind(self, _: int) -> ContextKind:
        """Return what the row's record is."""
        return "report"

    def record_id(self, number: int) -> str:
        """Return the id of the report with that number."""
        return self._ids[number]

    def title(self, number: int) -> str:
        """Return the title of the report with that number."""
        title: str = self._rows[number - 1][1]
        return title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the report rests on, each words once.

        That is what it quotes, in its order; where it quotes nothing, sentences of the documents that name
        both ends of the relationships, then the entities, that its findings cite.
        """
        return report_provenance(self.index, self._ids[number])

    def _unit(self, place: int) -> ContextUnit:
        report_id, title, content = self._rows[place]
        text = without_citations(content).removeprefix(f"# {title}").strip()
        sentences = self._sentences(report_id, text)
        return ContextUnit(place + 1, title, text, sentences, background=self._background)

    def _sentences(self, report_id: str, text: str) -> Sentences:
        if quoted := self._quoted.get(report_id):
            quotes = [found.quote for found in quoted]
            return tuple((" ".join(self.index.words(quote).split()), quote) for quote in quotes)
        own = (" ".join(text[span.start : span.end].split()) for span in sentence_spans(text))
        return tuple((sentence, None) for sentence in dict.fromkeys(own) if not sentence.startswith("#"))


def report_provenance(index: IndexSnapshot, report_id: str) -> Sequence[Provenance]:
    """Return the words that a report rests on; see :meth:`ReportUnits.provenance`."""
    if quoted := index.once(_quoted).get(report_id):
        return quoted
    return index.once(_report_sentences, report_id)


def _quoted(index: IndexSnapshot) -> dict[str, list[Provenance]]:
    """Quotations of all reports, each with the relationship or entity of its finding that its unit states."""
    valid = index.references.filter("valid").sort("report_id", "finding", "position")
    records: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
    for report_id, finding, kind, record in valid.select(
        "report_id", "finding", "kind", "record_id"
    ).iter_rows():
        if kind in {"relationship", "entity"}:
            records[report_id, finding].append((kind, record))
    units = _units_of_records(index, {record for cited in records.values() for _, record in cited})
    found: dict[str, dict[Quote, Provenance]] = defaultdict(dict)
    quotes = valid.filter(pl.col("kind") == "text_unit")
    for report_id, finding, unit, start, end in quotes.select(
        "report_id", "finding", "record_id", "start_char", "end_char"
    ).iter_rows():
        cited = sorted(records[report_id, finding], key=lambda one: one[0] != "relationship")
        way = next(((kind, record) for kind, record in cited if unit in units.get(record, ())), (None, None))
        quote = Quote(unit, Span(start, end))
        found[report_id].setdefault(quote, Provenance(quote, finding, *way))
    return {report_id: list(quotes.values()) for report_id, quotes in found.items()}


def _units_of_records(index: IndexSnapshot, wanted: set[str]) -> dict[str, frozenset[str]]:
    ids = pl.Series(sorted(wanted), dtype=pl.String).implode()
    return {
        record: frozenset(units)
        for frame, key in ((index.relationships, "relationship_id"), (index.entities, "entity_id"))
        for record, units in frame.filter(pl.col(key).is_in(ids)).select(key, "text_unit_ids").iter_rows()
    }


def _report_sentences(index: IndexSnapshot, report_id: str) -> list[Provenance]:
    return list(islice(_named_in(index, report_id), _MOST_FOUND))


def _named_in(index: IndexSnapshot, report_id: str) -> Iterator[Provenance]:
    cited = index.references.filter((pl.col("report_id") == report_id) & pl.col("valid")).sort(
        "finding", "position"
    )
    titles, stated = index.once(_stated)
    seen: set[Quote] = set()
    for wanted in ("relationship", "entity"):
        of_kind = cited.filter(pl.col("kind") == wanted).unique(
            "record_id", keep="first", maintain_order=True
        )
        for finding, record in of_kind.select("finding", "record_id").iter_rows():
            ends, units = stated.get(record, ((), ()))
            names = [titles[end] for end in ends if end in titles]
            if not names:
                continue
            for quote in sentences_naming(index, names, units, _PER_RECORD):
                if quote not in seen:
                    seen.add(quote)
                    yield Provenance(quote, finding, wanted, record)


def _stated(
    index: IndexSnapshot,
) -> tuple[dict[str, str], dict[str, tuple[tuple[str, ...], tuple[str, ...]]]]:
    """Titles of entities; and per relationship and entity the entities it names and the units stating it."""
    titles = dict(index.entities.select("entity_id", "title").iter_rows())
    stated: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
        record: ((source, target), tuple(units))
        for record, source, target, units in index.relationships.select(
            "relationship_id", "source_id", "target_id", "text_unit_ids"
        ).iter_rows()
    }
    for record, units in index.entities.select("entity_id", "text_unit_ids").iter_rows():
        stated[record] = ((record,), tuple(units))
    return titles, stated


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
