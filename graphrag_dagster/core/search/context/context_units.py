"""Rows of a search context, numbered, and the words of the documents each rests on."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from graphrag_dagster.core.language.tasks import ContextUnit, Quote
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.text.citations import ContextKind

#: What the record of a row is.
RecordKind = ContextKind | Literal["summary", "triple"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Words that a context row rests on, and the way to them.

    ``finding``: place of the finding of a report, -1 its summary, None where the row is no report. ``kind``
    and ``record_id``: the entity, relationship or triple that led to the words, None where they are quoted
    directly.
    """

    quote: Quote
    finding: int | None = None
    kind: str | None = None
    record_id: str | None = None


class ContextUnits(Protocol):
    """Numbered rows of a context; a row is cited by its kind and its number."""

    @property
    def index(self) -> IndexSnapshot:
        """What the rows were made from."""

    @property
    def all(self) -> Sequence[ContextUnit]:
        """All rows, in the order of their numbers."""

    def kind(self, number: int, /) -> ContextKind:
        """Return as what the row is cited."""

    def record_kind(self, number: int, /) -> RecordKind:
        """Return what the row's record is, also where it stands, and is cited, as another."""

    def record_id(self, number: int) -> str:
        """Return the id of the row's record."""

    def title(self, number: int) -> str:
        """Return the title of the row."""

    def provenance(self, number: int) -> Sequence[Provenance]:
        """Return what the row rests on, each words once, the nearest to what it says first."""


def as_row(cells: Iterable[object]) -> str:
    """Render cells as one row; quotes, bars and line breaks inside cells cannot end it."""
    buffer = io.StringIO()
    # Only line breaks that the writer knows as ends of rows are quoted.
    csv.writer(buffer, delimiter="|", lineterminator="\r\n").writerow(list(cells))
    return buffer.getvalue().removesuffix("\r\n")
