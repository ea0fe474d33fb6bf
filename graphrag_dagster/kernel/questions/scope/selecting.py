"""From what a person says of the documents to those that are meant."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.common.values import value_of
from graphrag_dagster.kernel.documents.dating import periods_of
from graphrag_dagster.kernel.documents.metadata import metadata_of
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.filters import OPERATORS, Condition, Filters
from graphrag_dagster.kernel.questions.scope.favour import documents_below, documents_called, names_of
from graphrag_dagster.kernel.tables import DOCUMENT_METADATA
from graphrag_dagster.kernel.text.period import Period

#: What every document has, by the names under which it is filtered, unless the files say something of them.
_OWN = {"title": "title", "path": "path", "id": "source_id", "date": "date"}
_MOST_KEYS = 40


def metadata_in(index: IndexSnapshot) -> pl.DataFrame:
    """Return the typed metadata of a snapshot; where an older version made it, from what it has."""
    return metadata_of(index.documents) if index.metadata is None else index.metadata


def documents_meeting(condition: Condition, index: IndexSnapshot) -> frozenset[str]:
    """Return the documents of which a condition holds: of any of the values that they have for the key.

    Keys and texts are compared without case. A document without the key meets nothing; to meet ``!=`` none of
    its values may be equal.

    Raises:
        QuestionError: no document has the key; lists those there are.
    """
    values = _values(condition.key, index)
    if condition.sign == "!=":
        equal = values.filter(_holds(Condition(condition.key, "=", condition.value)))
        return frozenset(values["document_id"]) - frozenset(equal["document_id"])
    return frozenset(values.filter(_holds(condition))["document_id"])


def _values(key: str, index: IndexSnapshot) -> pl.DataFrame:
    metadata = index.once(metadata_in)
    keys = sorted(metadata["key"].unique())
    if wanted := [known for known in keys if known.casefold() == key.casefold()]:
        return metadata.filter(pl.col("key").is_in(wanted))
    if key.casefold() in _OWN:
        return index.once(_own_values, _OWN[key.casefold()])
    raise QuestionError(f"no document has a value {key!r}; the keys are {_keys_listed([*keys, *_OWN])}")


def _own_values(index: IndexSnapshot, column: str) -> pl.DataFrame:
    return DOCUMENT_METADATA.rows(
        {
            "document_id": document_id,
            "key": column,
            "position": 0,
            **value.columns(),
        }
        for document_id, written in index.documents.select("document_id", column).iter_rows()
        if written
        for value in [value_of(written)]
    )


def _holds(condition: Condition) -> pl.Expr:
    value, number = condition.value, pl.col("number")
    found = pl.lit(False)
    if value.number is not None:
        found = found | OPERATORS[condition.sign](number, value.number)
    if (period := value.period) is not None:
        # 2019 is a number beside numbers, and a year beside dates.
        dated = number.is_null() if value.number is not None else pl.lit(True)
        found = found | (dated & _by_date(condition.sign, period))
    if not condition.ordered:
        found = found | (pl.col("text").str.to_lowercase() == value.text.lower())
        if value.boolean is not None:
            found = found | (pl.col("boolean") == value.boolean)
    return found.fill_null(False)


def _by_date(sign: str, asked: Period) -> pl.Expr:
    start, end = pl.col("date_start"), pl.col("date_end")
    return {
        "=": (start >= asked.start) & (end <= asked.end),
        ">": start > asked.end,
        ">=": start >= asked.start,
        "<": end < asked.start,
        "<=": end <= asked.end,
    }[sign]


def _keys_listed(keys: Iterable[str]) -> str:
    every = list(dict.fromkeys(keys))
    more = f" and {len(every) - _MOST_KEYS} more" if len(every) > _MOST_KEYS else ""
    return ", ".join(every[:_MOST_KEYS]) + more


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
