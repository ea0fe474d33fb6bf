"""Searches names and words in a corpus, and quotes words with their surroundings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from graphrag_dagster.apps.explorer.document_text import FOLDED, place_of, words_of
from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.tasks.report_citations import without_citations
from graphrag_dagster.kernel.text.evidence import Passage, Words
from graphrag_dagster.kernel.text.markup_spans import Span

#: Characters of a text unit that are read around words; a unit may be a whole book.
_AROUND = 2_000
#: Characters shown of a text unit whose own words are not known.
_MOST_SHOWN = 1_000
_SPANS = {"place": pl.Int64(), "unit": pl.String(), "start": pl.Int64(), "end": pl.Int64()}


@dataclass(frozen=True, slots=True)
class Place:
    """Words of a document.

    Attributes:
        document_id: of the document.
        document_title: its title.
        path: of its file, below the corpus folder.
        text_unit_id: the text unit that the words were read in.
        start_char: first character in the document's text, in code points.
        end_char: one past the last.
        before: the rest of the sentences that the words touch, in front.
        words: the characters themselves; where ``exact`` is false, at most the first 1,000 of them.
        after: the rest of these sentences, behind.
        exact: the words themselves are known; otherwise the characters are the whole text unit.
    """

    document_id: str
    document_title: str
    path: str
    text_unit_id: str
    start_char: int
    end_char: int
    before: str
    words: str
    after: str
    exact: bool

    @classmethod
    def of(cls, found: Words) -> "Place":
        """Return the words of evidence as a place."""
        return cls(
            *(found.document_id, found.document_title, found.path, found.text_unit_id),
            *(found.start_char, found.end_char, found.before),
            *(
                found.quotation if found.exact else found.quotation[:_MOST_SHOWN],
                found.after,
                found.exact,
            ),
        )


class TextUnitSpan(NamedTuple):
    """Characters of a text unit, from 0; the whole unit where ``end`` is None."""

    text_unit_id: str
    start: int = 0
    end: int | None = None


def places(shown: OpenSnapshot, spans: Iterable[TextUnitSpan]) -> list[Place | None]:
    """Return the words of spans; None for one whose text unit is not there.

    Of long text units no more is read than what stands around the words.
    """
    wanted = list(spans)
    rows = [(place, *span) for place, span in enumerate(wanted)]
    with shown.temporary_frames(wanted=pl.DataFrame(rows, schema=_SPANS, orient="row")):
        found = shown.rows(
            f"""
            select w.place, u.text_unit_id, u.human_readable_id, u.document_id, d.title, d.path, d."row",
                u.start_char, u.end_char, greatest(w.start - {_AROUND}, 0) as skipped,
                substring(u.text, skipped + 1, coalesce(w."end", {_MOST_SHOWN}) + {_AROUND} - skipped) as text
            from wanted as w
            join {shown[tables.TEXT_CHUNKS]} as u on u.text_unit_id = w.unit
            join {shown[tables.DOCUMENTS]} as d on d.document_id = u.document_id
            """
        )
    made: list[Place | None] = [None] * len(wanted)
    for row in found:
        made[row["place"]] = _place(row, wanted[row["place"]])
    return made


def _place(row: Mapping[str, Any], span: TextUnitSpan) -> Place:
    skipped = row["skipped"]
    window = Passage(
        *(row["text_unit_id"], row["human_readable_id"], row["document_id"], row["title"], row["path"]),
        *(row["row"], row["start_char"] + skipped, row["text"]),
    )
    if span.end is not None:
        return Place.of(window.words(span.start - skipped, span.end - skipped))
    return Place(
        document_id=row["document_id"],
        document_title=row["title"],
        path=row["path"],
        text_unit_id=row["text_unit_id"],
        start_char=row["start_char"],
        end_char=row["end_char"],
        before="",
        words=row["text"][:_MOST_SHOWN],
        after="",
        exact=False,
    )


def known_places(found: Sequence[Place | None]) -> list[Place]:
    """Return the places whose text units are there."""
    return [place for place in found if place is not None]


#: Characters shown of a report on either side of the first word.
_SNIPPET = 120
#: Characters of a text unit that is looked through as a whole; a unit may be a whole book.
_SHORT = 20_000


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """An entity with a name that has all words; ``name`` is the spelling that does."""

    entity_id: str
    title: str
    type: str
    degree: int
    name: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """The first of the words that were looked for, and what stands around it."""

    before: str
    words: str
    after: str


@dataclass(frozen=True, slots=True)
class FoundReport:
    """A community whose report has all words."""

    community_id: str
    level: int
    title: str
    snippet: Snippet


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document with all words in its title or path."""

    document_id: str
    title: str
    path: str


@dataclass(frozen=True, slots=True)
class Found:
    """What has all words of a query, whatever their case and accents.

    Attributes:
        query: what was looked for.
        entities: by name: those that are called so, then those that begin so, then by degree.
        entities_total: how many there are.
        reports: by title and text, the most important first.
        reports_total: how many there are.
        documents: by title and path, in the order of the corpus.
        documents_total: how many there are.
        passages: text units in the order of the corpus, each as the sentence of the first of the words.
        passages_total: how many there are.
    """

    query: str
    entities: list[FoundEntity]
    entities_total: int
    reports: list[FoundReport]
    reports_total: int
    documents: list[FoundDocument]
    documents_total: int
    passages: list[Place]
    passages_total: int


def find(shown: OpenSnapshot, query: str, limit: int) -> Found:
    """Return what has all words of a query.

    Raises:
        QuestionError: there is no word, or there are too many.
    """
    words = words_of(query)
    if not words:
        raise QuestionError("enter at least one word")
    looked = _Look(shown, words, limit)
    entities, reports = looked.entities(), looked.reports()
    documents, units = looked.documents(), looked.units()
    return Found(
        query=query,
        entities=[FoundEntity(*(row[name] for name in FoundEntity.__slots__)) for row in entities],
        entities_total=_total(entities),
        reports=[_report(row, words[0]) for row in reports],
        reports_total=_total(reports),
        documents=[FoundDocument(*(row[name] for name in FoundDocument.__slots__)) for row in documents],
        documents_total=_total(documents),
        passages=known_places(places(shown, [_span(shown, row, words[0]) for row in units])),
        passages_total=_total(units),
    )


class _Look:
    """Queries for words; ``total`` of each row counts all."""

    def __init__(self, shown: OpenSnapshot, words: list[str], limit: int) -> None:
        self._shown = shown
        self._parameters: dict[str, object] = {f"word{n}": word for n, word in enumerate(words)}
        self._parameters["limit"] = limit
        self._words = [FOLDED.format(text=f"$word{n}") for n in range(len(words))]

    def entities(self) -> list[dict[str, Any]]:
        called = FOLDED.format(text="name")
        return self._rows(
            f"""
            with named as (
                select entity_id, title, type, degree,
                    unnest(list_distinct(list_prepend(title, names))) as name
                from {self._shown[tables.ENTITIES]}
            ), fitting as (
                select *, {called} = $whole as is_whole, starts_with({called}, $whole) as begins
                from named where {self._all_in(called)}
            ), one_each as (
                select distinct on (entity_id) * from fitting
                order by entity_id, is_whole desc, begins desc, name = title desc, name
            )
            select *, count(*) over () as total from one_each
            order by is_whole desc, begins desc, degree desc, title, entity_id limit $limit
            """,
            whole=True,
        )

    def reports(self) -> list[dict[str, Any]]:
        return self._rows(
            f"""
            select report_id as community_id, level, title, content, count(*) over () as total
            from {self._shown[tables.COMMUNITY_REPORTS]}
            where {self._all_in(FOLDED.format(text="title || ' ' || content"))}
            order by rating desc, level, report_id limit $limit
            """
        )

    def documents(self) -> list[dict[str, Any]]:
        return self._rows(
            f"""
            select document_id, title, path, count(*) over () as total
            from {self._shown[tables.DOCUMENTS]}
            where {self._all_in(FOLDED.format(text="title || ' ' || path"))}
            order by human_readable_id limit $limit
            """
        )

    def units(self) -> list[dict[str, Any]]:
        return self._rows(
            f"""
            with found as (
                select text_unit_id, human_readable_id, count(*) over () as total
                from {self._shown[tables.TEXT_CHUNKS]}
                where {self._all_in(FOLDED.format(text="text"))}
                order by human_readable_id limit $limit
            )
            select text_unit_id, total, case when length(text) <= {_SHORT} then text end as text from found
            join {self._shown[tables.TEXT_CHUNKS]} using (text_unit_id) order by found.human_readable_id
            """
        )

    def _all_in(self, text: str) -> str:
        return " and ".join(f"contains({text}, {word})" for word in self._words)

    def _rows(self, sql: str, *, whole: bool = False) -> list[dict[str, Any]]:
        if whole:
            joined = " || ' ' || ".join(self._words)
            sql = sql.replace("$whole", f"({joined})")
        return self._shown.rows(sql, **self._parameters)


def _total(rows: list[dict[str, Any]]) -> int:
    return int(rows[0]["total"]) if rows else 0


def _span(shown: OpenSnapshot, row: dict[str, Any], word: str) -> TextUnitSpan:
    unit, text = row["text_unit_id"], row["text"]
    skipped = 0
    if text is None:
        skipped = _skippable_characters(shown, unit, word)
        text = shown.totals(
            f"""
            select substring(text, $skipped + 1, {_SHORT}) as text from {shown[tables.TEXT_CHUNKS]}
            where text_unit_id = $unit
            """,
            unit=unit,
            skipped=skipped,
        )["text"]
    found = place_of(text, word)
    return TextUnitSpan(unit, skipped + found.start, skipped + found.end) if found else TextUnitSpan(unit)


def _skippable_characters(shown: OpenSnapshot, unit: str, word: str) -> int:
    """How many characters of a long text unit may be passed over, because a word comes after them.

    The text without accents is shorter than the text: what of it lies before the word is counted, and as many
    characters as are missing are added, until none is.
    """
    whole, looked = FOLDED.format(text="text"), FOLDED.format(text="$word")
    part = FOLDED.format(text="substring(text, $start + 1, $length)")
    units = f"{shown[tables.TEXT_CHUNKS]} where text_unit_id = $unit"
    wanted = shown.totals(f"select instr({whole}, {looked}) - 1 as n from {units}", unit=unit, word=word)["n"]
    place, missing = 0, wanted
    while missing > 0:
        counted = shown.totals(
            f"select length({part}) as n from {units}", unit=unit, start=place, length=missing
        )
        place, missing = place + missing, missing - counted["n"]
    return int(place)


def _report(row: dict[str, Any], word: str) -> FoundReport:
    text = " ".join(without_citations(row["content"]).split())
    found = place_of(text, word) or Span(0, 0)
    snippet = Snippet(
        ("…" if found.start > _SNIPPET else "") + text[max(0, found.start - _SNIPPET) : found.start],
        text[found.start : found.end],
        text[found.end : found.end + _SNIPPET] + ("…" if len(text) > found.end + _SNIPPET else ""),
    )
    return FoundReport(row["community_id"], row["level"], row["title"], snippet)
