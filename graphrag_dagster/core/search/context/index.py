"""What a search reads: the tables of one corpus, as they stood when it was opened."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl

from graphrag_dagster.core.language.tasks import Quote

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text unit stands: its document and the unit's first character there."""

    document_id: str
    document_title: str
    path: str
    text: str
    start: int


@dataclass(frozen=True)
class IndexSnapshot:
    """Frames with the columns that ``tables`` declares for the tables of the same names.

    ``members`` is ``graph.community_members``, ``claims`` is ``graph.claims`` and ``claim_records`` what they
    were merged from, ``extraction.claims``; the vectors are those of text units, entities and reports.
    Frames that are None were never materialised: what needs them says so, the rest works.
    """

    documents: pl.DataFrame
    text_chunks: pl.DataFrame
    entities: pl.DataFrame
    relationships: pl.DataFrame
    communities: pl.DataFrame
    community_levels: pl.DataFrame
    reports: pl.DataFrame
    findings: pl.DataFrame
    references: pl.DataFrame
    members: pl.DataFrame | None = None
    claims: pl.DataFrame | None = None
    claim_records: pl.DataFrame | None = None
    unit_vectors: pl.DataFrame | None = None
    entity_vectors: pl.DataFrame | None = None
    report_vectors: pl.DataFrame | None = None
    _made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def places(self) -> dict[str, Place]:
        """Every text unit's place, by id."""
        rows = self.text_chunks.join(self.documents.select("document_id", "title", "path"), on="document_id")
        chosen = rows.select("text_unit_id", "document_id", "title", "path", "text", "start_char")
        return {
            unit: Place(document, title, path, text, start)
            for unit, document, title, path, text, start in chosen.iter_rows()
        }

    def words(self, quote: Quote) -> str:
        """Return the quoted words, exactly as they stand in the document; nothing for an unknown unit."""
        place = self.places.get(quote.unit_id)
        return place.text[quote.span.start : quote.span.end] if place else ""

    def once(
        self, make: Callable[Concatenate["IndexSnapshot", P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return ``make(self, *args)``, made once for each function and arguments, which have to be hashable.

        The tables never change under a snapshot.
        """
        key = (make, args, tuple(kwargs.items()))
        if key not in self._made:
            self._made[key] = make(self, *args, **kwargs)
        made: T = self._made[key]
        return made
