"""The text of a document, cut where something is named, claimed or cited."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from graphrag_dagster.apps.explorer.document_page import document_row
from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES

MarkKind = Literal["entity", "claim", "cited"]


class Mark(NamedTuple):
    """Characters ``start`` to ``end`` that are marked; ``place`` says as which of its kind."""

    kind: MarkKind
    place: int
    start: int
    end: int


class Piece(NamedTuple):
    """A piece of a text, inside of which no mark begins or ends, with the kinds and places of its marks."""

    start: int
    text: str
    marks: list[tuple[MarkKind, int]]


def pieces(text: str, offset: int, marks: Iterable[Mark]) -> Iterator[Piece]:
    """Yield a text cut at every edge of a mark, without a gap; marks may overlap, and reach beyond it.

    Args:
        text: the characters.
        offset: the place of the first, in the text that the marks are of.
        marks: in any order.
    """
    last = offset + len(text)
    opening: defaultdict[int, list[tuple[MarkKind, int]]] = defaultdict(list)
    closing: defaultdict[int, list[tuple[MarkKind, int]]] = defaultdict(list)
    for kind, place, start, end in marks:
        begun, ended = max(start, offset), min(end, last)
        if begun < ended:
            opening[begun].append((kind, place))
            closing[ended].append((kind, place))
    depths: Counter[tuple[MarkKind, int]] = Counter()
    for edge, following in pairwise(sorted({offset, last, *opening, *closing})):
        depths.update(opening[edge])
        depths.subtract(closing[edge])
        # What is closed leaves, or every piece would look through all marks before it.
        for mark in closing[edge]:
            if not depths[mark]:
                del depths[mark]
        yield Piece(edge, text[edge - offset : following - offset], sorted(depths))


MOST_CHARACTERS = 50_000
_USUAL = 20_000
_BEFORE_CITED = 4_000
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})")


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of a document's text, inside of which no mark begins or ends.

    Attributes:
        start: first character in the document's text, in code points.
        text: the characters.
        entities: what is named here, as places in the list of entities.
        claims: what is claimed here, as places in the list of claims.
        cited: it is what was asked for as cited.
    """

    start: int
    text: str
    entities: list[int]
    claims: list[int]
    cited: bool


@dataclass(frozen=True, slots=True)
class TextEntity:
    """An entity that is named in a text."""

    entity_id: str
    title: str
    type: str


@dataclass(frozen=True, slots=True)
class TextClaim:
    """A claim that a text makes; ``status`` is TRUE, FALSE or SUSPECTED."""

    claim_id: str
    description: str
    status: str


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A stretch of a document's text.

    Attributes:
        start: its first character, in code points.
        end: one past its last.
        characters: length of the whole text.
        parts: the text from ``start`` to ``end`` without a gap.
        entities: those that are named in it, by title.
        claims: those that it makes.
    """

    start: int
    end: int
    characters: int
    parts: list[TextPart]
    entities: list[TextEntity]
    claims: list[TextClaim]


def ranges_of(cited: str) -> list[tuple[int, int]]:
    """Return the ranges of characters in ``120-180,300-320``.

    Raises:
        QuestionError: that is not what it says.
    """
    found = [_RANGE.fullmatch(one.strip()) for one in cited.split(",")]
    ranges = [(int(one[1]), int(one[2])) for one in found if one]
    if len(ranges) != len(found) or any(start >= end for start, end in ranges):
        raise QuestionError(
            f"cited must be ranges of characters such as 120-180 or 120-180,300-320, not {cited!r}"
        )
    return sorted(ranges)


def document_text(
    shown: OpenSnapshot, document_id: str, start: int | None, end: int | None, cited: str | None
) -> DocumentText:
    """Return a stretch of a document's text; no more than that is read of it.

    Args:
        shown: the snapshot.
        document_id: of the document.
        start: first character; default: 4,000 before what is cited, else 0.
        end: one past the last, at most 50,000 after the first; default: 20,000 after it.
        cited: ranges of characters that are to be marked.

    Raises:
        MissingError: there is no such document.
        QuestionError: the stretch cannot be used.
    """
    characters = int(document_row(shown, document_id)["characters"])
    ranges = ranges_of(cited) if cited else []
    if start is None:
        start = max(0, ranges[0][0] - _BEFORE_CITED) if ranges else 0
    start = min(start, characters)
    if end is None:
        end = max(start + _USUAL, min(ranges[0][1], start + MOST_CHARACTERS) if ranges else 0)
    if end < start:
        raise QuestionError(f"a text cannot be shown from character {start} to {end}")
    end = min(end, characters, start + MOST_CHARACTERS)
    text = shown.totals(
        f"""
        select substring(text, $first, $length) as text from {shown[tables.DOCUMENTS]}
        where document_id = $document
        """,
        document=document_id,
        first=start + 1,
        length=end - start,
    )["text"]
    window = {"document": document_id, "first": start, "last": end}
    entities = shown.rows(_entities_sql(shown), **window)
    claims = shown.rows(_claims_sql(shown), **window)
    marks = [
        *_marks("entity", entities, "entity_id"),
        *_marks("claim", claims, "claim_id"),
        *(Mark("cited", 0, first, last) for first, last in ranges),
    ]
    return DocumentText(
        start=start,
        end=end,
        characters=characters,
        parts=[_part(piece) for piece in pieces(text, start, marks)],
        entities=[TextEntity(*one) for one in _distinct_spans(entities, TextEntity.__slots__)],
        claims=[TextClaim(*one) for one in _distinct_spans(claims, TextClaim.__slots__)],
    )


def _units_sql(shown: OpenSnapshot) -> str:
    return f"""(
        select text_unit_id, document_id, start_char from {shown[tables.TEXT_CHUNKS]}
        where document_id = $document and start_char < $last and end_char > $first
    )"""


def _entities_sql(shown: OpenSnapshot) -> str:
    return f"""
        select distinct e.entity_id, e.title, e.type, n.start, n."end"
        from (
            select coalesce(a.entity, g.name) as name,
                u.start_char + span.start as start, u.start_char + span."end" as "end"
            from (select text_unit_id, name, unnest(spans) as span from {shown[GLEANED_ENTITIES]}) as g
            join {_units_sql(shown)} as u using (text_unit_id)
            left join {shown[ALIASES]} as a on a.document_id = u.document_id and a.name = g.name
        ) as n
        join {shown[tables.ENTITIES]} as e using (name)
        where n.start < $last and n."end" > $first
        order by e.title, e.entity_id, n.start, n."end"
    """


def _claims_sql(shown: OpenSnapshot) -> str:
    return f"""
        select distinct c.claim_id, c.description, c.status, n.start, n."end", c.human_readable_id
        from (
            select coalesce(s.entity, g.subject) as subject, coalesce(o.entity, g.object) as object, g.type,
                u.start_char + span.start as start, u.start_char + span."end" as "end"
            from (
                select text_unit_id, subject, object, type, unnest(spans) as span from {shown[tables.CLAIMS]}
            ) as g
            join {_units_sql(shown)} as u using (text_unit_id)
            left join {shown[ALIASES]} as s on s.document_id = u.document_id and s.name = g.subject
            left join {shown[ALIASES]} as o on o.document_id = u.document_id and o.name = g.object
        ) as n
        join {shown[tables.MERGED_CLAIMS]} as c
            on c.subject = n.subject and c.object is not distinct from n.object and c.type = n.type
        where n.start < $last and n."end" > $first
        order by c.human_readable_id, c.claim_id, n.start, n."end"
    """


def _distinct_spans(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(tuple(row[name] for name in columns) for row in rows))


def _marks(kind: MarkKind, rows: Sequence[dict[str, Any]], key: str) -> Iterator[Mark]:
    numbers: dict[str, int] = {}
    for row in rows:
        yield Mark(kind, numbers.setdefault(row[key], len(numbers)), row["start"], row["end"])


def _part(piece: Piece) -> TextPart:
    places: dict[str, list[int]] = {"entity": [], "claim": [], "cited": []}
    for kind, place in piece.marks:
        places[kind].append(place)
    return TextPart(piece.start, piece.text, places["entity"], places["claim"], bool(places["cited"]))


#: A text without case and accents, as SQL.
FOLDED = "lower(strip_accents({text}))"
MOST_WORDS = 20
_LONGEST = 4_000


def words_of(query: str) -> list[str]:
    """Return the words of a query, each once.

    Raises:
        QuestionError: these are too many, or too long.
    """
    words = list(dict.fromkeys(query.split()))
    if len(words) > MOST_WORDS or len(query) > _LONGEST:
        raise QuestionError(f"search for at most {MOST_WORDS} words of {_LONGEST:,} characters in total")
    return words


def fold(text: str) -> str:
    """Return a text without case and accents, as :data:`FOLDED` has it in SQL, which finds the passages."""
    return "".join(map(_folded_character, text))


def place_of(text: str, word: str) -> Span | None:
    """Return where a word first stands in a text, whatever its case and accents; None where it does not."""
    parts = [_folded_character(character) for character in text]
    wanted = fold(word)
    start = "".join(parts).find(wanted) if wanted else -1
    if start < 0:
        return None
    origins = [place for place, part in enumerate(parts) for _ in part]
    end = origins[start + len(wanted) - 1] + 1
    # Accents that stand behind their letter belong to it.
    while end < len(parts) and not parts[end]:
        end += 1
    return Span(origins[start], end)


def _folded_character(character: str) -> str:
    if character.isascii():
        return character.lower()
    parts = unicodedata.normalize("NFD", character)
    return "".join(part for part in parts if not unicodedata.category(part).startswith("M")).lower()
