"""Reports, entities, relationships and claims as rows of a search context."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from math import fsum

import polars as pl

from graphrag_dagster.kernel.questions.context.answer import ContextUse
from graphrag_dagster.kernel.questions.context.context_units import ContextUnits, Provenance, sentences_naming
from graphrag_dagster.kernel.questions.context.index_background import IndexBackground
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot, LazySequence, RowsById
from graphrag_dagster.kernel.tables import COMMUNITY_MEMBERS
from graphrag_dagster.kernel.tasks.report_citations import without_citations
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Quote
from graphrag_dagster.kernel.text.citations import ContextKind
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

Sentences = tuple[tuple[str, Quote | None], ...]

_MOST_FOUND, _PER_RECORD = 24, 3


class ReportUnits:
    """Reports as :class:`ContextUnit`, numbered 1…n by title and id.

    The text of a unit is the report without its citations, which are meaningless outside of it. Its sentences
    are the report's quotations, or if it has none, the sentences of the report itself.
    """

    def __init__(self, index: IndexSnapshot, reports: pl.DataFrame) -> None:
        self.index = index
        self._quoted = index.once(_quotations_by_report)
        self._background = IndexBackground(index)
        self._rows = reports.sort("title", "report_id").select("report_id", "title", "content").rows()
        self._ids: dict[int, str] = {number: row[0] for number, row in enumerate(self._rows, start=1)}
        self.number_of = {report_id: number for number, report_id in self._ids.items()}
        self.all: Sequence[ContextUnit] = LazySequence(len(self._rows), self._unit)

    def kind(self, _: int) -> ContextKind:
        """Return the kind that the row is cited as."""
        return "report"

    def record_kind(self, _: int) -> ContextKind:
        """Return the kind of the row's record."""
        return "report"

    def record_id(self, number: int) -> str:
        """Return the id of the report with a number."""
        return self._ids[number]

    def title(self, number: int) -> str:
        """Return the title of the report with a number."""
        title: str = self._rows[number - 1][1]
        return title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return the distinct quotations that the report rests on.

        These are the report's own quotations in order. If it has none, they are document sentences that name
        both ends of the relationships, then the entities, that its findings cite.
        """
        return report_provenance(self.index, self._ids[number])

    def _unit(self, position: int) -> ContextUnit:
        report_id, title, content = self._rows[position]
        text = without_citations(content).removeprefix(f"# {title}").strip()
        sentences = self._sentences(report_id, text)
        return ContextUnit(position + 1, title, text, sentences, background=self._background)

    def _sentences(self, report_id: str, text: str) -> Sentences:
        if quoted := self._quoted.get(report_id):
            quotes = [provenance.quote for provenance in quoted]
            return tuple((" ".join(self.index.words(quote).split()), quote) for quote in quotes)
        sentences = (" ".join(text[span.start : span.end].split()) for span in sentence_spans(text))
        return tuple(
            (sentence, None) for sentence in dict.fromkeys(sentences) if not sentence.startswith("#")
        )


def report_provenance(index: IndexSnapshot, report_id: str) -> Sequence[Provenance]:
    """Return the quotations that a report rests on; see :meth:`ReportUnits.provenance`."""
    if quoted := index.once(_quotations_by_report).get(report_id):
        return quoted
    return index.once(_report_sentences, report_id)


def _quotations_by_report(index: IndexSnapshot) -> dict[str, list[Provenance]]:
    """Return the quotations of all reports, each with the cited relationship or entity its unit states."""
    valid = index.references.filter("valid").sort("report_id", "finding", "position")
    records: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
    for report_id, finding, kind, record in valid.select(
        "report_id", "finding", "kind", "record_id"
    ).iter_rows():
        if kind in {"relationship", "entity"}:
            records[report_id, finding].append((kind, record))
    units = _units_of_records(index, {record for cited in records.values() for _, record in cited})
    by_report: dict[str, dict[Quote, Provenance]] = defaultdict(dict)
    quotes = valid.filter(pl.col("kind") == "text_unit")
    for report_id, finding, unit, start, end in quotes.select(
        "report_id", "finding", "record_id", "start_char", "end_char"
    ).iter_rows():
        cited = sorted(records[report_id, finding], key=lambda record: record[0] != "relationship")
        via = next(((kind, record) for kind, record in cited if unit in units.get(record, ())), (None, None))
        quote = Quote(unit, Span(start, end))
        by_report[report_id].setdefault(quote, Provenance(quote, finding, *via))
    return {report_id: list(quotes.values()) for report_id, quotes in by_report.items()}


def _units_of_records(index: IndexSnapshot, wanted: set[str]) -> dict[str, frozenset[str]]:
    ids = pl.Series(sorted(wanted), dtype=pl.String).implode()
    return {
        record: frozenset(units)
        for frame, key in ((index.relationships, "relationship_id"), (index.entities, "entity_id"))
        for record, units in frame.filter(pl.col(key).is_in(ids)).select(key, "text_unit_ids").iter_rows()
    }


def _report_sentences(index: IndexSnapshot, report_id: str) -> list[Provenance]:
    return list(islice(_provenance_naming(index, report_id), _MOST_FOUND))


def _provenance_naming(index: IndexSnapshot, report_id: str) -> Iterator[Provenance]:
    cited = index.references.filter((pl.col("report_id") == report_id) & pl.col("valid")).sort(
        "finding", "position"
    )
    titles, stated = index.once(_stated_entities)
    seen: set[Quote] = set()
    for wanted in ("relationship", "entity"):
        records = cited.filter(pl.col("kind") == wanted).unique(
            "record_id", keep="first", maintain_order=True
        )
        for finding, record in records.select("finding", "record_id").iter_rows():
            ends, units = stated.get(record, ((), ()))
            names = [titles[end] for end in ends if end in titles]
            if not names:
                continue
            for quote in sentences_naming(index, names, units, _PER_RECORD):
                if quote not in seen:
                    seen.add(quote)
                    yield Provenance(quote, finding, wanted, record)


def _stated_entities(
    index: IndexSnapshot,
) -> tuple[dict[str, str], dict[str, tuple[tuple[str, ...], tuple[str, ...]]]]:
    """Return entity titles, and for each relationship and entity the entities it names and its text units."""
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
    """Rows of any kind, numbered 1…n in order of addition, each with its own provenance."""

    def __init__(self, index: IndexSnapshot) -> None:
        self.index = index
        self._rows: list[ContextUnit] = []
        self._ids: list[str] = []
        self._provenance: list[Callable[[], Sequence[Provenance]]] = []

    @property
    def all(self) -> Sequence[ContextUnit]:
        """All rows in the order of their numbers."""
        return self._rows

    def add(
        self, unit: ContextUnit, record_id: str, provenance: Callable[[], Sequence[Provenance]]
    ) -> ContextUnit:
        """Add a row and return it with its number."""
        row = replace(unit, id=len(self._rows) + 1)
        self._rows.append(row)
        self._ids.append(record_id)
        self._provenance.append(provenance)
        return row

    def kind(self, number: int) -> ContextKind:
        """Return the kind that the row is cited as."""
        return self._rows[number - 1].kind

    def record_kind(self, number: int) -> ContextKind:
        """Return the kind of the row's record."""
        return self.kind(number)

    def record_id(self, number: int) -> str:
        """Return the id of the row's record."""
        return self._ids[number - 1]

    def title(self, number: int) -> str:
        """Return the title of the row."""
        return self._rows[number - 1].title

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return the distinct quotations that the row rests on."""
        return self._provenance[number - 1]()


@dataclass(frozen=True, slots=True)
class LocalContext:
    """The context of a local search: rows of ``units``, and the context as rendered for the prompt.

    ``row_tokens``: tokens of each rendered row; counted later if empty.
    """

    units: ContextUnits
    rows: Sequence[ContextUnit]
    rendered: str
    row_tokens: Sequence[int] = ()

    def marked(self, is_favoured: Callable[[str], bool], *, selected: bool) -> "LocalContext":
        """Return the context with the text units marked that are of documents that the question names.

        Args:
            is_favoured: takes the id of a text unit.
            selected: whether no other documents were read.
        """

        def favoured(row: ContextUnit) -> bool:
            return row.kind == "source" and is_favoured(self.units.record_id(row.id))

        rows = [replace(row, selected=selected, favoured=favoured(row)) for row in self.rows]
        return replace(self, rows=rows)

    def uses(self, *, used: bool) -> tuple[ContextUse, ...]:
        """Return the rows as an answer tells of them, and whether its text was made from them."""
        return tuple(
            ContextUse(row.kind, self.units.record_id(row.id), row.title, 0, tokens, used)
            for row, tokens in zip(self.rows, self.row_tokens, strict=True)
        )


def quotations(
    quotes: Sequence[Quote], kind: str | None = None, record_id: str | None = None
) -> list[Provenance]:
    """Return quotes as provenance, with the record that led to them."""
    return [Provenance(quote, None, kind, record_id) for quote in quotes]


_SENTENCES, _MOST_ROWS = 6, 200
_RELATIONSHIP = ("relationship_id", "source_id", "target_id", "weight", "description")
#: The columns that identify a claim.
_CLAIM = ("subject", "object", "type")


@dataclass(frozen=True, slots=True)
class LocalRow:
    """A row without a number yet.

    ``lead``: its cells between the number and the text; ``provenance``: the quotations it rests on.
    """

    unit: ContextUnit
    record_id: str
    lead: tuple[str, ...]
    provenance: Callable[[], Sequence[Provenance]]


def entity_rows(index: IndexSnapshot, ids: Sequence[str]) -> Iterator[LocalRow]:
    """Yield entities in the order of their ids."""
    known = index.once(_entities)
    for entity_id in ids:
        if row := known.get(entity_id):
            title, _, description, _ = row
            unit = ContextUnit(0, title, description, kind="entity")
            yield LocalRow(unit, entity_id, (title,), partial(_naming, index, entity_id))


def relationship_rows(index: IndexSnapshot, entities: Sequence[str]) -> Iterator[LocalRow]:
    """Yield relationships between the entities, then to other entities, heaviest first."""
    if not entities or index.relationships.is_empty():
        return
    chosen, ends = set(entities), pl.Series(entities, dtype=pl.String).implode()
    touching = pl.col("source_id").is_in(ends) | pl.col("target_id").is_in(ends)

    def heaviest(row: tuple[str, str, str, float, str]) -> tuple[bool, float, str]:
        key, source, target, weight, _ = row
        return source not in chosen or target not in chosen, -weight, key

    rows = index.relationships.select(_RELATIONSHIP).filter(touching).rows()
    for key, source, target, _, description in sorted(rows, key=heaviest)[:_MOST_ROWS]:
        end_titles = (_title(index, source), _title(index, target))
        unit = ContextUnit(0, " — ".join(end_titles), description, kind="relationship")
        yield LocalRow(unit, key, end_titles, partial(_naming, index, key))


def titles_of(index: IndexSnapshot) -> dict[str, str]:
    """Return the titles of entities by id; computed once per snapshot."""
    return index.once(_titles)


def claim_rows(index: IndexSnapshot, entities: Sequence[str]) -> Iterator[LocalRow]:
    """Yield claims about entities."""
    if index.claims is None or index.claims.is_empty() or not entities:
        return
    known = index.once(_entities)
    rows = [row for entity in entities if (row := known.get(entity))]
    by_name = {name: title for title, name, _, _ in rows}
    chosen = list(by_name)
    claims = index.claims.filter(pl.col("subject").is_in(chosen)).sort("subject", "human_readable_id")
    words = index.once(_words_of_claims)
    for key, description, *claim_key in claims.select("claim_id", "description", *_CLAIM).iter_rows():
        title = by_name[claim_key[0]]
        quotes = words.get(tuple(claim_key), [])
        unit = ContextUnit(0, title, description, kind="claim")
        yield LocalRow(unit, key, (title,), partial(quotations, quotes, "claim", key))


def _words_of_claims(index: IndexSnapshot) -> dict[tuple[str | None, ...], list[Quote]]:
    """Return the quotations of claims by what identifies a claim."""
    by_claim: dict[tuple[str | None, ...], list[Quote]] = {}
    if index.claim_records is None:
        return by_claim
    for unit_id, spans, *claim_key in index.claim_records.select(
        "text_unit_id", "spans", *_CLAIM
    ).iter_rows():
        quotes = [Quote(unit_id, Span(int(span["start"]), int(span["end"]))) for span in spans]
        by_claim.setdefault(tuple(claim_key), []).extend(quotes)
    return by_claim


def report_rows(index: IndexSnapshot, ids: Sequence[str]) -> Iterator[LocalRow]:
    """Yield reports of the entities' smallest communities that have one; more and better ranked entities come
    first.
    """
    if index.members is None or index.reports.is_empty() or not ids:
        return
    deepest, reports = index.once(_reported_communities), index.once(_reports)
    scores: dict[str, list[float]] = {}
    for rank, entity in enumerate(ids):
        for community in deepest.get(entity) or ():
            scores.setdefault(community, []).append(1 / (rank + 3))
    for report_id in sorted(scores, key=lambda community: (-round(fsum(scores[community]), 12), community)):
        title, content = reports.get(report_id) or ("", "")
        text = without_citations(content).removeprefix(f"# {title}").strip()
        unit = ContextUnit(0, title, text, kind="report")
        yield LocalRow(unit, report_id, (title,), partial(report_provenance, index, report_id))


def _reported_communities(index: IndexSnapshot) -> RowsById:
    """Return communities that have a report by entity; the smallest is the last."""
    members = COMMUNITY_MEMBERS.empty() if index.members is None else index.members
    reported = members.join(index.reports, left_on="community_id", right_on="report_id", how="semi")
    return RowsById(reported.sort("entity_id", "level", "community_id"), "entity_id", ["community_id"])


def _reports(index: IndexSnapshot) -> RowsById:
    return RowsById(index.reports, "report_id", ["title", "content"])


def _naming(index: IndexSnapshot, record_id: str) -> Sequence[Provenance]:
    """Return sentences that name an entity, or both ends of a relationship."""
    if entity := index.once(_entities).get(record_id):
        kind, names, units = "entity", [entity[0]], entity[-1]
    else:
        source, target, units = index.once(_relationships).get(record_id) or ("", "", ())
        kind, names = "relationship", [_title(index, source), _title(index, target)]
    return quotations(list(sentences_naming(index, names, units, _SENTENCES)), kind, record_id)


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


def quotes_stating(index: IndexSnapshot, edge: Mapping[str, object], most: int) -> list[Quote]:
    """Return the words that state a triple; if unknown, sentences of its units that name both ends.

    Args:
        index: the tables of the corpus.
        edge: a row of ``graph.triples``.
        most: maximum number of sentences.
    """
    unit, start, end = str(edge["evidence_unit_id"]), edge["start_char"], edge["end_char"]
    if isinstance(start, int) and isinstance(end, int) and unit in index.passages:
        return [Quote(unit, Span(start, end))]
    units = (
        [str(unit_id) for unit_id in edge["text_unit_ids"]] if isinstance(edge["text_unit_ids"], list) else []
    )
    titles = titles_of(index)
    ends = [titles.get(str(edge["head_id"]), ""), titles.get(str(edge["tail_id"]), "")]
    return list(sentences_naming(index, ends, units, most))
