"""From what a person says of the documents to those that are meant."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from graphrag_dagster.core.corpus.dating import periods_of
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.filters import Filters
from graphrag_dagster.core.search.scope.conditions import documents_meeting
from graphrag_dagster.core.search.scope.naming import documents_below, documents_called, names_of
from graphrag_dagster.core.text.periods.period import Period
from graphrag_dagster.core.wording import counted
from graphrag_dagster.errors import QuestionError


@dataclass(frozen=True, slots=True)
class Selected:
    """Documents that filters mean, and what has to be said of how they were found."""

    document_ids: frozenset[str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """What a question was restricted to.

    ``filters`` is what was asked for; the pairs are how many there are inside and in the whole corpus;
    ``notes`` say what names were taken for, and what was left out for want of a date.
    """

    filters: dict[str, Any]
    documents: tuple[int, int]
    text_units: tuple[int, int]
    reports: tuple[int, int]
    notes: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """All of it on one line."""
        (documents, of), (units, of_units), (reports, of_reports) = (
            *(self.documents, self.text_units, self.reports),
        )
        inside = [f"{units:,} of {counted(of_units, 'text unit')}"]
        if of_reports:
            inside.append(f"{reports:,} of {counted(of_reports, 'report')}")
        return "; ".join(
            [f"restricted to {documents:,} of {counted(of, 'document')} ({', '.join(inside)})", *self.notes]
        )


def periods_in_index(index: IndexSnapshot) -> pl.DataFrame:
    """Return the periods of a snapshot's documents; where an older version made it, from what it has."""
    return periods_of(index.documents) if index.periods is None else index.periods


def selected(filters: Filters, index: IndexSnapshot) -> Selected:
    """Return the documents for which all filters hold.

    Dates are compared with the first period of a document, its own: it is meant where the two overlap.

    Raises:
        QuestionError: a filter cannot be understood, or no document fits all; says how many fit each.
    """
    parts: dict[str, frozenset[str]] = {}
    notes: list[str] = []
    known = index.once(names_of)
    if filters.documents:
        meant = [documents_called(name, known) for name in filters.documents]
        parts[f"document {_listed(filters.documents)}"] = frozenset().union(*(m.document_ids for m in meant))
        notes += [one.taken_for for one in meant if one.taken_for]
    if filters.folders:
        below = [documents_below(folder, known) for folder in filters.folders]
        parts[f"folder {_listed(filters.folders)}"] = frozenset().union(*below)
    dated = _dated(filters, index)
    if dated is not None:
        parts[dated.told] = dated.document_ids
    for condition in filters.conditions():
        parts[f"where {condition}"] = documents_meeting(condition, index)
    found = frozenset(known.ids).intersection(*parts.values())
    if not found:
        fit = ", ".join(f"{name}: {len(ids):,}" for name, ids in parts.items())
        every = "all filters" if len(parts) > 1 else "the filter"
        dates = _known_dates(index) if dated is not None and not dated.document_ids else ""
        raise QuestionError(f"of {counted(len(known.ids), 'document')} none fits {every} ({fit}){dates}")
    if dated is not None and dated.undated:
        notes.append(f"{counted(dated.undated, 'document')} without a date left out")
    return Selected(found, tuple(notes))


def scope_of(filters: Filters, chosen: Selected, whole: IndexSnapshot, inside: IndexSnapshot) -> Scope:
    """Return what a question is restricted to."""
    return Scope(
        filters.to_dict(),
        (len(inside.documents), len(whole.documents)),
        (len(inside.text_chunks), len(whole.text_chunks)),
        (len(inside.reports), len(whole.reports)),
        chosen.notes,
    )


@dataclass(frozen=True, slots=True)
class _Dated:
    told: str
    document_ids: frozenset[str]
    undated: int


def _dated(filters: Filters, index: IndexSnapshot) -> _Dated | None:
    first, last = filters.days()
    if first is None and last is None:
        return None
    own = index.once(periods_in_index).filter(pl.col("position") == 0)
    kept = own
    if first:
        kept = kept.filter(pl.col("period_end") >= first.start)
    if last:
        kept = kept.filter(pl.col("period_start") <= last.end)
    told = " ".join(
        f"{which} {asked}" for which, asked in (("from", filters.date_from), ("to", filters.date_to)) if asked
    )
    return _Dated(told, frozenset(kept["document_id"]), len(index.documents) - len(own))


def _known_dates(index: IndexSnapshot) -> str:
    own = index.once(periods_in_index).filter(pl.col("position") == 0)
    if own.is_empty():
        return "; no document of this corpus has a date"
    known = Period(*own.select(pl.col("period_start").min(), pl.col("period_end").max()).row(0))
    return f"; the documents are of {known.start.isoformat()} to {known.end.isoformat()}"


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join(map(repr, names))
