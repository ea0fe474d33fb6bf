"""Words of documents with what stands around them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from graphrag_dagster.apps.explorer.snapshots.opened import OpenSnapshot
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.text.evidence import Words
from graphrag_dagster.kernel.text.passages import Passage

#: Characters of a text unit that are read around words; a unit may be a whole book.
_AROUND = 2_000
#: Characters shown of a text unit whose own words are not known.
_BEGINNING = 1_000
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
            *(found.quotation if found.exact else found.quotation[:_BEGINNING], found.after, found.exact),
        )


class Span(NamedTuple):
    """Characters of a text unit, from 0; the whole unit where ``end`` is None."""

    text_unit_id: str
    start: int = 0
    end: int | None = None


def places(shown: OpenSnapshot, spans: Iterable[Span]) -> list[Place | None]:
    """Return the words of spans; None for one whose text unit is not there.

    Of long text units no more is read than what stands around the words.
    """
    wanted = list(spans)
    rows = [(place, *span) for place, span in enumerate(wanted)]
    with shown.given(wanted=pl.DataFrame(rows, schema=_SPANS, orient="row")):
        found = shown.rows(
            f"""
            select w.place, u.text_unit_id, u.human_readable_id, u.document_id, d.title, d.path, d."row",
                u.start_char, u.end_char, greatest(w.start - {_AROUND}, 0) as skipped,
                substring(u.text, skipped + 1, coalesce(w."end", {_BEGINNING}) + {_AROUND} - skipped) as text
            from wanted as w
            join {shown[tables.TEXT_CHUNKS]} as u on u.text_unit_id = w.unit
            join {shown[tables.DOCUMENTS]} as d on d.document_id = u.document_id
            """
        )
    made: list[Place | None] = [None] * len(wanted)
    for row in found:
        made[row["place"]] = _place(row, wanted[row["place"]])
    return made


def _place(row: Mapping[str, Any], span: Span) -> Place:
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
        words=row["text"][:_BEGINNING],
        after="",
        exact=False,
    )


def known(found: Sequence[Place | None]) -> list[Place]:
    """Return the places whose text units are there."""
    return [place for place in found if place is not None]
