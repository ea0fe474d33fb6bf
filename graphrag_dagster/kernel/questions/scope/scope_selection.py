"""Selects the documents that match filters, and restricts an index to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.documents.document_metadata import value_of
from graphrag_dagster.kernel.questions.document_filters import OPERATORS, Condition, Filters
from graphrag_dagster.kernel.questions.scope.favoured_documents import (
    documents_below,
    find_documents,
    names_of,
)
from graphrag_dagster.kernel.tables.core_tables import DOCUMENT_METADATA
from graphrag_dagster.kernel.text.periods import Period

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot


#: Properties of every document by filter key, unless metadata has that key.
_OWN = {"title": "title", "path": "path", "id": "source_id", "date": "date"}
_MOST_KEYS = 40


def documents_meeting(condition: Condition, index: IndexSnapshot) -> frozenset[str]:
    """Return the documents that meet a condition with any of their values for its key.

    Keys and texts are compared without case. A document without the key meets no condition; to meet ``!=``
    none of its values may be equal.

    Raises:
        QuestionError: no document has the key; the message lists the keys.
    """
    values = _values(condition.key, index)
    if condition.sign == "!=":
        equal = values.filter(_condition_expression(Condition(condition.key, "=", condition.value)))
        return frozenset(values["document_id"]) - frozenset(equal["document_id"])
    return frozenset(values.filter(_condition_expression(condition))["document_id"])


def _values(key: str, index: IndexSnapshot) -> pl.DataFrame:
    metadata = index.metadata
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


def _condition_expression(condition: Condition) -> pl.Expr:
    value, number = condition.value, pl.col("number")
    holds = pl.lit(False)
    if value.number is not None:
        holds = holds | OPERATORS[condition.sign](number, value.number)
    if (period := value.period) is not None:
        # 2019 is a number when compared with numbers, and a year when compared with dates.
        dated = number.is_null() if value.number is not None else pl.lit(True)
        holds = holds | (dated & _date_expression(condition.sign, period))
    if not condition.ordered:
        holds = holds | (pl.col("text").str.to_lowercase() == value.text.lower())
        if value.boolean is not None:
            holds = holds | (pl.col("boolean") == value.boolean)
    return holds.fill_null(False)


def _date_expression(sign: str, asked: Period) -> pl.Expr:
    start, end = pl.col("date_start"), pl.col("date_end")
    return {
        "=": (start >= asked.start) & (end <= asked.end),
        ">": start > asked.end,
        ">=": start >= asked.start,
        "<": end < asked.start,
        "<=": end <= asked.end,
    }[sign]


def _keys_listed(keys: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(keys))
    more = f" and {len(distinct) - _MOST_KEYS} more" if len(distinct) > _MOST_KEYS else ""
    return ", ".join(distinct[:_MOST_KEYS]) + more


@dataclass(frozen=True, slots=True)
class Selected:
    """Documents that match filters, with notes on how they were found."""

    document_ids: frozenset[str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """What a question was restricted to.

    ``filters`` are as requested. Each pair has the count inside the scope and in the whole corpus. ``notes``
    say how names were resolved and what was left out for lack of a date.
    """

    filters: dict[str, Any]
    documents: tuple[int, int]
    text_units: tuple[int, int]
    reports: tuple[int, int]
    notes: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """A summary on one line."""
        (documents, of_documents), (units, of_units), (reports, of_reports) = (
            *(self.documents, self.text_units, self.reports),
        )
        inside = [f"{units:,} of {plural(of_units, 'text unit')}"]
        if of_reports:
            inside.append(f"{reports:,} of {plural(of_reports, 'report')}")
        return "; ".join(
            [
                f"restricted to {documents:,} of {plural(of_documents, 'document')} ({', '.join(inside)})",
                *self.notes,
            ]
        )


def selected(filters: Filters, index: IndexSnapshot) -> Selected:
    """Return the documents that match all filters.

    Dates are compared with the first, own period of a document, which matches if the two overlap.

    Raises:
        QuestionError: a filter is invalid, or no document matches all; the message has counts per filter.
    """
    parts: dict[str, frozenset[str]] = {}
    notes: list[str] = []
    names = index.once(names_of)
    if filters.documents:
        matches = [find_documents(name, names) for name in filters.documents]
        parts[f"document {_quote_names(filters.documents)}"] = frozenset().union(
            *(match.document_ids for match in matches)
        )
        notes += [match.taken_for for match in matches if match.taken_for]
    if filters.folders:
        below = [documents_below(folder, names) for folder in filters.folders]
        parts[f"folder {_quote_names(filters.folders)}"] = frozenset().union(*below)
    dated = _select_by_date(filters, index)
    if dated is not None:
        parts[dated.told] = dated.document_ids
    for condition in filters.conditions():
        parts[f"where {condition}"] = documents_meeting(condition, index)
    document_ids = frozenset(names.ids).intersection(*parts.values())
    if not document_ids:
        counts = ", ".join(f"{name}: {len(ids):,}" for name, ids in parts.items())
        all_filters = "all filters" if len(parts) > 1 else "the filter"
        dates = _known_dates(index) if dated is not None and not dated.document_ids else ""
        raise QuestionError(
            f"of {plural(len(names.ids), 'document')} none fits {all_filters} ({counts}){dates}"
        )
    if dated is not None and dated.undated:
        notes.append(f"{plural(dated.undated, 'document')} without a date left out")
    return Selected(document_ids, tuple(notes))


def scope_of(filters: Filters, chosen: Selected, whole: IndexSnapshot, inside: IndexSnapshot) -> Scope:
    """Return the scope of a question."""
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


def _select_by_date(filters: Filters, index: IndexSnapshot) -> _Dated | None:
    first, last = filters.days()
    if first is None and last is None:
        return None
    own_periods = index.periods.filter(pl.col("position") == 0)
    matching = own_periods
    if first:
        matching = matching.filter(pl.col("period_end") >= first.start)
    if last:
        matching = matching.filter(pl.col("period_start") <= last.end)
    label = " ".join(
        f"{which} {date}" for which, date in (("from", filters.date_from), ("to", filters.date_to)) if date
    )
    return _Dated(label, frozenset(matching["document_id"]), len(index.documents) - len(own_periods))


def _known_dates(index: IndexSnapshot) -> str:
    own_periods = index.periods.filter(pl.col("position") == 0)
    if own_periods.is_empty():
        return "; no document of this corpus has a date"
    span = Period(*own_periods.select(pl.col("period_start").min(), pl.col("period_end").max()).row(0))
    return f"; the documents are of {span.start.isoformat()} to {span.end.isoformat()}"


def _quote_names(names: tuple[str, ...]) -> str:
    return " or ".join(map(repr, names))


#: Column that says whether all sources of a row are inside the scope.
INSIDE = "inside"


def restrict_index(index: IndexSnapshot, document_ids: Set[str]) -> IndexSnapshot:
    """Return the snapshot restricted to some of its documents.

    The text units of the documents remain, with the entities and relationships that occur in them. Texts
    written from several text units remain only if all of these do: otherwise descriptions become blank, and
    claims and reports are removed. A report was written from all entities of its community with their
    relationships and claims. Parts of single systems restrict themselves.

    Args:
        index: the whole snapshot.
        document_ids: the documents.
    """
    documents = rows_with(index.documents, "document_id", pl.Series(sorted(document_ids), dtype=pl.String))
    units = rows_with(index.text_chunks, "document_id", documents["document_id"])
    unit_ids = units["text_unit_id"]
    entities, relationships = (
        rows_in_units(index.entities, unit_ids),
        rows_in_units(index.relationships, unit_ids),
    )
    claims = None if index.claims is None else rows_in_units(index.claims, unit_ids)
    reports = _reports(index, _partly_outside(entities, relationships, claims))
    entities, relationships = _restrict_shown_rows(entities), _restrict_shown_rows(relationships)
    ends = entities["entity_id"]
    report_ids = reports["report_id"]
    return replace(
        index,
        documents=documents,
        text_chunks=units,
        entities=entities,
        relationships=rows_with(rows_with(relationships, "source_id", ends), "target_id", ends),
        reports=reports,
        findings=rows_with(index.findings, "report_id", report_ids),
        references=rows_with(index.references, "report_id", report_ids),
        claims=None if claims is None else claims.filter(INSIDE).drop(INSIDE),
        claim_records=_if_made(index.claim_records, "text_unit_id", unit_ids),
        unit_vectors=_if_made(index.unit_vectors, "text_unit_id", unit_ids),
        entity_vectors=_if_made(index.entity_vectors, "entity_id", ends),
        report_vectors=_if_made(index.report_vectors, "report_id", report_ids),
        metadata=rows_with(index.metadata, "document_id", documents["document_id"]),
        periods=rows_with(index.periods, "document_id", documents["document_id"]),
        parts={name: part.restricted(unit_ids, ends) for name, part in index.parts.items()},
        triples=None if index.triples is None else stated_triples(index.triples, unit_ids),
        context_nodes=_if_made(index.context_nodes, "entity_id", ends),
        context_vectors=_if_made(index.context_vectors, "entity_id", ends),
        queries=None,
        graph=None,
        restricted=True,
        shelf=None,
    )


def rows_with(frame: pl.DataFrame, key: str, values: pl.Series) -> pl.DataFrame:
    """Return the rows with one of the values, in order."""
    return frame.filter(pl.col(key).is_in(values.implode()))


def _if_made(frame: pl.DataFrame | None, key: str, values: pl.Series) -> pl.DataFrame | None:
    return None if frame is None else rows_with(frame, key, values)


def stated_triples(triples: pl.DataFrame, kept: pl.Series) -> pl.DataFrame:
    """Return the triples that a remaining text unit states."""
    remaining = rows_in_units(triples, kept)
    return remaining.filter(pl.col("text_unit_ids").list.len() > 0).select(triples.columns)


def rows_in_units(frame: pl.DataFrame, kept: pl.Series) -> pl.DataFrame:
    """Return all rows with their remaining text units, and in :data:`INSIDE` whether all of them remain."""
    numbered = frame.with_row_index("row")
    exploded = numbered.select("row", "text_unit_ids").explode("text_unit_ids").drop_nulls()
    inside = (
        rows_with(exploded, "text_unit_ids", kept).group_by("row", maintain_order=True).agg("text_unit_ids")
    )
    joined = numbered.join(inside, on="row", how="left", suffix="_kept", maintain_order="left")
    remaining = pl.col("text_unit_ids_kept").fill_null([])
    return joined.with_columns(
        (remaining.list.len() == pl.col("text_unit_ids").list.len()).alias(INSIDE),
        text_unit_ids=remaining,
    ).drop("row", "text_unit_ids_kept")


def _restrict_shown_rows(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.filter(pl.col("text_unit_ids").list.len() > 0)
        .with_columns(description=pl.when(INSIDE).then("description").otherwise(pl.lit("")))
        .drop(INSIDE)
    )


def _partly_outside(
    entities: pl.DataFrame, relationships: pl.DataFrame, claims: pl.DataFrame | None
) -> pl.Series:
    """Return entities with a description, relationship or claim from outside the scope."""
    outside = relationships.filter(~pl.col(INSIDE))
    entity_ids = [entities.filter(~pl.col(INSIDE))["entity_id"], outside["source_id"], outside["target_id"]]
    if claims is not None:
        outside_claims = claims.filter(~pl.col(INSIDE))
        names = pl.concat([outside_claims["subject"], outside_claims["object"].drop_nulls()])
        entity_ids.append(rows_with(entities, "name", names)["entity_id"])
    return pl.concat(entity_ids).unique()


def _reports(index: IndexSnapshot, partly: pl.Series) -> pl.DataFrame:
    if index.members is None:
        return index.reports.clear()
    outside = rows_with(index.members, "entity_id", partly)["community_id"].unique()
    return index.reports.filter(~pl.col("report_id").is_in(outside.implode()))
