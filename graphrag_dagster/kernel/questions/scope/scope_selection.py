"""Selects the documents that a person asks about, and restricts an index to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.documents.document_metadata import metadata_of, periods_of, value_of
from graphrag_dagster.kernel.questions.document_filters import OPERATORS, Condition, Filters
from graphrag_dagster.kernel.questions.scope.favoured_documents import (
    documents_below,
    documents_called,
    names_of,
)
from graphrag_dagster.kernel.tables import DOCUMENT_METADATA
from graphrag_dagster.kernel.text.periods import Period

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot


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


#: The column that says of a row whether all that it was written from stays.
INSIDE = "inside"


def restricted(index: IndexSnapshot, document_ids: Set[str]) -> IndexSnapshot:
    """Return the snapshot with only what was written from some of its documents.

    Their text units stay, and the entities and relationships that stand in these. What was written from
    several text units stays only where all of them do: the description of an entity or relationship is blank
    otherwise, a claim and a report are left out. A report was written from all that its community holds: its
    entities, and their relationships and claims. The parts of single systems say what stays of them.

    Args:
        index: the whole.
        document_ids: the documents.
    """
    documents = among(index.documents, "document_id", pl.Series(sorted(document_ids), dtype=pl.String))
    units = among(index.text_chunks, "document_id", documents["document_id"])
    kept = units["text_unit_id"]
    entities, relationships = within(index.entities, kept), within(index.relationships, kept)
    claims = None if index.claims is None else within(_with_units(index.claims), kept)
    reports = _reports(index, _partly(entities, relationships, claims))
    entities, relationships = _shown(entities), _shown(relationships)
    ends = entities["entity_id"]
    report_ids = reports["report_id"]
    return replace(
        index,
        documents=documents,
        text_chunks=units,
        entities=entities,
        relationships=among(among(relationships, "source_id", ends), "target_id", ends),
        reports=reports,
        findings=among(index.findings, "report_id", report_ids),
        references=among(index.references, "report_id", report_ids),
        claims=None if claims is None else claims.filter(INSIDE).select(_columns(index.claims)),
        claim_records=_if_made(index.claim_records, "text_unit_id", kept),
        unit_vectors=_if_made(index.unit_vectors, "text_unit_id", kept),
        entity_vectors=_if_made(index.entity_vectors, "entity_id", ends),
        report_vectors=_if_made(index.report_vectors, "report_id", report_ids),
        metadata=_if_made(index.metadata, "document_id", documents["document_id"]),
        periods=_if_made(index.periods, "document_id", documents["document_id"]),
        parts={name: part.restricted(kept, ends) for name, part in index.parts.items()},
        triples=None if index.triples is None else stated(index.triples, kept),
        context_nodes=_if_made(index.context_nodes, "entity_id", ends),
        context_vectors=_if_made(index.context_vectors, "entity_id", ends),
        queries=None,
        graph=None,
        restricted=True,
        shelf=None,
    )


def among(frame: pl.DataFrame, key: str, values: pl.Series) -> pl.DataFrame:
    """Return the rows with one of the values, in their order."""
    return frame.filter(pl.col(key).is_in(values.implode()))


def _if_made(frame: pl.DataFrame | None, key: str, values: pl.Series) -> pl.DataFrame | None:
    return None if frame is None else among(frame, key, values)


def stated(triples: pl.DataFrame, kept: pl.Series) -> pl.DataFrame:
    """Return the triples that some text unit states that stays."""
    found = within(triples, kept)
    return found.filter(pl.col("text_unit_ids").list.len() > 0).select(triples.columns)


def _columns(frame: pl.DataFrame | None) -> list[str]:
    return [] if frame is None else frame.columns


def _with_units(claims: pl.DataFrame) -> pl.DataFrame:
    """Claims of older versions are of one text unit each."""
    if "text_unit_ids" in claims.columns:
        return claims
    return claims.with_columns(text_unit_ids=pl.concat_list("text_unit_id"))


def within(frame: pl.DataFrame, kept: pl.Series) -> pl.DataFrame:
    """Return all rows with the text units that stay, and in :data:`INSIDE` whether all of them do."""
    numbered = frame.with_row_index("row")
    every = numbered.select("row", "text_unit_ids").explode("text_unit_ids").drop_nulls()
    some = among(every, "text_unit_ids", kept).group_by("row", maintain_order=True).agg("text_unit_ids")
    found = numbered.join(some, on="row", how="left", suffix="_kept", maintain_order="left")
    staying = pl.col("text_unit_ids_kept").fill_null([])
    return found.with_columns(
        (staying.list.len() == pl.col("text_unit_ids").list.len()).alias(INSIDE),
        text_unit_ids=staying,
    ).drop("row", "text_unit_ids_kept")


def _shown(frame: pl.DataFrame) -> pl.DataFrame:
    return (
        frame.filter(pl.col("text_unit_ids").list.len() > 0)
        .with_columns(description=pl.when(INSIDE).then("description").otherwise(pl.lit("")))
        .drop(INSIDE)
    )


def _partly(entities: pl.DataFrame, relationships: pl.DataFrame, claims: pl.DataFrame | None) -> pl.Series:
    """Entities that something outside is said of: in a description, a relationship or a claim."""
    outside = relationships.filter(~pl.col(INSIDE))
    said = [entities.filter(~pl.col(INSIDE))["entity_id"], outside["source_id"], outside["target_id"]]
    if claims is not None:
        about = claims.filter(~pl.col(INSIDE))
        names = pl.concat([about["subject"], about["object"].drop_nulls()])
        said.append(among(entities, "name", names)["entity_id"])
    return pl.concat(said).unique()


def _reports(index: IndexSnapshot, partly: pl.Series) -> pl.DataFrame:
    if index.members is None:
        return index.reports.clear()
    outside = among(index.members, "entity_id", partly)["community_id"].unique()
    return index.reports.filter(~pl.col("report_id").is_in(outside.implode()))
