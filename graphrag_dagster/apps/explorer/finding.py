"""Looking for names and words in a corpus."""

from dataclasses import dataclass
from typing import Any

from graphrag_dagster.apps.explorer.documents.document_text import FOLDED, place_of, words_of
from graphrag_dagster.apps.explorer.documents.places import Place, Span, known, places
from graphrag_dagster.apps.explorer.snapshots.opened import OpenSnapshot
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.questions.report_citations import without_citations
from graphrag_dagster.kernel.text.spans import Span as TextSpan

#: Characters shown of a report on either side of the first word.
_AROUND = 120
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

    Args:
        shown: the snapshot.
        query: words.
        limit: most of each sort.

    Raises:
        QuestionError: there is no word, or there are too many.
    """
    words = words_of(query)
    if not words:
        raise QuestionError("look for at least one word")
    looked = _Look(shown, words, limit)
    entities, reports, documents, units = (
        looked.entities(),
        looked.reports(),
        looked.documents(),
        looked.units(),
    )
    return Found(
        query=query,
        entities=[FoundEntity(*(row[name] for name in FoundEntity.__slots__)) for row in entities],
        entities_total=_total(entities),
        reports=[_report(row, words[0]) for row in reports],
        reports_total=_total(reports),
        documents=[FoundDocument(*(row[name] for name in FoundDocument.__slots__)) for row in documents],
        documents_total=_total(documents),
        passages=known(places(shown, [_span(shown, row, words[0]) for row in units])),
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


def _span(shown: OpenSnapshot, row: dict[str, Any], word: str) -> Span:
    unit, text = row["text_unit_id"], row["text"]
    skipped = 0
    if text is None:
        skipped = _before(shown, unit, word)
        text = shown.totals(
            f"""
            select substring(text, $skipped + 1, {_SHORT}) as text from {shown[tables.TEXT_CHUNKS]}
            where text_unit_id = $unit
            """,
            unit=unit,
            skipped=skipped,
        )["text"]
    found = place_of(text, word)
    return Span(unit, skipped + found.start, skipped + found.end) if found else Span(unit)


def _before(shown: OpenSnapshot, unit: str, word: str) -> int:
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
    found = place_of(text, word) or TextSpan(0, 0)
    snippet = Snippet(
        ("…" if found.start > _AROUND else "") + text[max(0, found.start - _AROUND) : found.start],
        text[found.start : found.end],
        text[found.end : found.end + _AROUND] + ("…" if len(text) > found.end + _AROUND else ""),
    )
    return FoundReport(row["community_id"], row["level"], row["title"], snippet)
