"""Reuse of reports: earlier drafts and contexts, and fingerprints of everything a report is written from.

It covers a community's rows, their documents, its context nodes, and likewise its sub-communities, whose
reports may replace them. More than is used may be in it, never less. The short numbers of records are not
part of it, because they shift with every new one: a report is kept with the numbers of its own context, and
these are resolved again.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import TypeAdapter

from graphrag_dagster.kernel.lineage.resolved_names import named_by_entities
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES
from graphrag_dagster.kernel.tables.core_tables import (
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    ENTITIES,
    MERGED_CLAIMS,
    RELATIONSHIPS,
    TEXT_CHUNKS,
)
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.tasks.answering_ports import rating_of
from graphrag_dagster.kernel.tasks.task_ports import Finding, RecordKind, WrittenReport
from graphrag_dagster.systems.graphrag.reports.context_node_section import Attached
from graphrag_dagster.systems.graphrag.reports.report_context import Elements, PackedContext
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES, GLEANED_RELATIONSHIPS

#: The tables that reports are written from.
WRITTEN_FROM = (
    ENTITIES,
    RELATIONSHIPS,
    MERGED_CLAIMS,
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    TEXT_CHUNKS,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    ALIASES,
    CONTEXT_NODES,
)

_KINDS: tuple[RecordKind, ...] = ("report", "entity", "claim", "relationship")


@dataclass(frozen=True, slots=True)
class EarlierReport:
    """A report whose citations are the numbers of its context; of the context there is what they mean.

    ``text`` is how it is kept; ``content`` what was stored of it, and ``tokens`` those of that.
    """

    report: WrittenReport
    context: PackedContext
    text: str
    content: str
    tokens: int

    def with_prominence(self, prominence: float) -> WrittenReport:
        """Return the report of a community of some prominence, which a rating that is computed rests on."""
        if self.report.engine != "extractive":
            return self.report
        return replace(self.report, rating=rating_of(prominence))


def report_as_json(report: WrittenReport) -> str:
    """Return a report as it is kept; :func:`report_from_json` reads it.

    What it cost is no part of that: it may have been asked for several times.
    """
    kept = replace(report, usage=Usage(repaired=report.usage.repaired))
    return _shape().dump_json(kept).decode()


def report_from_json(text: str) -> WrittenReport:
    """Return the report that is kept so."""
    return _shape().validate_json(text)


def earlier_reports(
    written: pl.DataFrame, reports: pl.DataFrame, contexts: pl.DataFrame, context_rows: pl.DataFrame
) -> dict[str, EarlierReport]:
    """Return reports by the fingerprints of what they were written from.

    Args:
        written: rows of ``reports.written_reports``.
        reports: rows of ``reports.community_reports``.
        contexts: rows of ``reports.report_contexts``.
        context_rows: rows of ``reports.report_context_rows``.
    """
    shown: dict[str, dict[RecordKind, tuple[str, ...]]] = {}
    grouped = context_rows.sort("report_id", "position").group_by("report_id", "kind", maintain_order=True)
    for report_id, kind, ids in grouped.agg("record_id").iter_rows():
        shown.setdefault(report_id, {})[kind] = tuple(ids)
    found = {}
    rows = (
        written.join(contexts, on="report_id")
        .join(reports.select("report_id", "content", of_content="tokens"), on="report_id")
        .select(
            *("report_id", "fingerprint", "context", "tokens", "complete"),
            *("written", "content", "of_content"),
        )
    )
    for report_id, fingerprint, context, tokens, complete, text, *stored in rows.iter_rows():
        ids = shown.get(report_id, {})
        ids |= {kind: () for kind in _KINDS if kind not in ids}
        packed = PackedContext(context, tokens, complete, (), (), (), ids)
        found[fingerprint] = EarlierReport(report_from_json(text), packed, text, *stored)
    return found


@cache
def _shape() -> TypeAdapter[WrittenReport]:
    return TypeAdapter(WrittenReport)


#: Stands where other reports have the engine that wrote them.
IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class AdoptedReport:
    """A report as it came.

    ``findings``: headline and explanation of each; ``cited``: for each kind of record, the ids here by the
    numbers that its text cites them with.
    """

    title: str
    summary: str
    content: str
    rating: float
    rating_explanation: str
    findings: tuple[tuple[str, str], ...]
    cited: Mapping[RecordKind, Mapping[int, str]]

    def written(self) -> WrittenReport:
        """Return it as reports of communities above it are written from it."""
        return WrittenReport(
            title=self.title,
            summary=self.summary,
            rating=self.rating,
            rating_explanation=self.rating_explanation,
            findings=tuple(Finding(summary, explanation) for summary, explanation in self.findings),
            engine=IMPORTED,
        )


_BYTES = 16
#: Documents whose lines are made at once.
_DOCUMENTS = 500
_Digests = NDArray[np.uint8]
_Places = NDArray[np.int64]


def fingerprints(
    basis: str, elements: Elements, attached: Mapping[str, Sequence[Attached]], tables: Tables
) -> dict[str, str]:
    """Return hashes of what reports are written from, by the ids of their communities.

    Args:
        basis: what decides all reports beside the tables: code, engine, model, settings.
        elements: the indexed graph.
        attached: the context nodes of each community, by its id.
        tables: those that reports are written from.
    """
    text_chunks = tables[TEXT_CHUNKS]
    units = text_chunks.sort("human_readable_id").select(
        "text_unit_id", "start_char", "end_char", document=pl.col("document_id").rle_id().cast(pl.Int64)
    )
    aliases, edges = tables[ALIASES], tables[GLEANED_RELATIONSHIPS]
    mentions = named_by_entities(tables[GLEANED_ENTITIES], ["name"], aliases, text_chunks)
    named = mentions.join(units, on="text_unit_id")
    stated = (
        named_by_entities(edges, ["source", "target"], aliases, text_chunks)
        .join(units, on="text_unit_id")
        .with_columns(
            source=pl.min_horizontal("source", "target"), target=pl.max_horizontal("source", "target")
        )
    )
    of_documents = _document_digests(units, named, stated)
    of_entities, of_edges = _entity_digests(elements), _edge_digests(elements)
    named_in = _documents_of(tables[ENTITIES].sort("name"), named, "name")
    relations = tables[RELATIONSHIPS].sort("source", "target")
    stated_in = _documents_of(relations, stated, "source", "target")

    def of_records(entities: _Places, edges: _Places) -> bytes:
        """Hash of rows in their order, and of the documents that they are found in."""
        places = [named_in[one] for one in entities] + [stated_in[one] for one in edges]
        documents = np.unique(np.concatenate(places)) if places else np.empty(0, dtype=np.int64)
        rows = (of_entities[entities], of_edges[edges], of_documents[documents])
        return _digest(b"".join(_digest(digests.tobytes()) for digests in rows))

    found: dict[str, str] = {}
    for name in tables[COMMUNITIES].sort("level", descending=True)["community_id"]:
        community = elements.communities[name]
        told = [basis, *(f"{child} {found[child]}" for child in community.children)]
        parts = [of_records(community.members, community.edges)]
        for node in attached.get(name, ()):
            told.append(f"{node.home} {node.similarity!r}")
            parts.append(of_records(np.array([node.entity]), np.array(node.edges, dtype=np.int64)))
        told_of = _digest("\n".join(told).encode("utf-8", "surrogatepass"))
        found[name] = _digest(b"".join([told_of, *parts])).hex()
    return found


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_BYTES).digest()


def _digests(texts: Iterable[str]) -> _Digests:
    found = b"".join(_digest(text.encode("utf-8", "surrogatepass")) for text in texts)
    return np.frombuffer(found, np.uint8).reshape(-1, _BYTES)


def _entity_digests(elements: Elements) -> _Digests:
    """Of each entity: its row, and the claims about it."""
    claims = list(map("\n".join, zip(elements.claims.ids, elements.claims.texts(), strict=True)))
    rows = zip(
        elements.entities.ids, elements.entities.texts(), elements.entity_values.iter_rows(), strict=True
    )
    about = (elements.claims_of.get(place, ()) for place in range(len(elements.entity_values)))
    return _digests(
        "\n".join([name, text, *map(str, values), *(claims[one] for one in found)])
        for (name, text, values), found in zip(rows, about, strict=True)
    )


def _edge_digests(elements: Elements) -> _Digests:
    rows = zip(
        elements.relationships.ids,
        elements.relationships.texts(),
        elements.relationship_values.iter_rows(),
        strict=True,
    )
    return _digests("\n".join([name, text, *map(str, values)]) for name, text, values in rows)


def _document_digests(units: pl.DataFrame, named: pl.DataFrame, stated: pl.DataFrame) -> _Digests:
    """Of each document, in the order of the corpus: its units, and what was found where in them."""
    columns = (("start_char", "end_char"), ("name", "spans"), ("source", "target", "spans"))
    digests = [np.empty((0, _BYTES), np.uint8)]
    # The lines of all documents would take as much memory as the tables.
    for start in range(0, units["document"].n_unique(), _DOCUMENTS):
        some = pl.col("document").is_between(start, start + _DOCUMENTS - 1)
        lines = [
            rows.filter(some).select("document", line=pl.struct("text_unit_id", *of).struct.json_encode())
            for rows, of in zip((units, named, stated), columns, strict=True)
        ]
        by_document = pl.concat(lines).sort("document", "line").group_by("document", maintain_order=True)
        digests.append(_digests(by_document.agg(pl.col("line").str.join("\n"))["line"]))
    return np.concatenate(digests)


def _documents_of(records: pl.DataFrame, found: pl.DataFrame, *keys: str) -> list[_Places]:
    """The numbers of the documents that each record is found in, in the order of the records."""
    by_record = found.select(*keys, "document").unique().group_by(keys).agg(pl.col("document").sort())
    aligned = records.select(keys).join(by_record, on=keys, how="left", maintain_order="left")["document"]
    ends = aligned.list.len().fill_null(0).cum_sum().to_list()
    documents = aligned.drop_nulls().explode().to_numpy()
    return [documents[start:end] for start, end in pairwise([0, *ends])]
