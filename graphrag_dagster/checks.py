"""Checks: what must hold of every table before anything is built upon it."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    MetadataValue,
    PreviewWarning,
    asset_check,
)

from graphrag_dagster import tables
from graphrag_dagster.assets.declare import key_of
from graphrag_dagster.core.corpus.text_units import check_units
from graphrag_dagster.core.extraction.ledger import check_ledger
from graphrag_dagster.core.graph.levels import check_partition
from graphrag_dagster.partitions import CORPUS
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.integrity import violations
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import Table

_MOST_SHOWN = 20


def _check(
    table: Table, description: str, name: str | None = None, *, blocking: bool = True
) -> Callable[[Callable[..., AssetCheckResult]], AssetChecksDefinition]:
    """A check of a table, per corpus: otherwise one corpus's pass would hide another's failure."""

    def decorate(function: Callable[..., Any]) -> AssetChecksDefinition:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PreviewWarning)
            return asset_check(
                asset=key_of(table),
                name=name,
                description=description,
                blocking=blocking,
                partitions_def=CORPUS,
            )(function)

    return decorate


def _verdict(problems: Sequence[str]) -> AssetCheckResult:
    shown = "\n".join(f"- {problem}" for problem in problems[:_MOST_SHOWN]) or "none"
    return AssetCheckResult(
        passed=not problems, metadata={"count": len(problems), "problems": MetadataValue.md(shown)}
    )


def _integrity_of(table: Table) -> AssetChecksDefinition:
    @_check(
        table, "Keys are unique, nothing is null that may not be, every reference resolves", name="declared"
    )
    def declared(context: AssetCheckExecutionContext, warehouse: Warehouse) -> AssetCheckResult:
        return _verdict(violations(warehouse, table, context.partition_key))

    return declared


@_check(
    tables.TEXT_CHUNKS,
    "Units cover every character of their document, reproduce its text, and are as many as the "
    "rule of windows says",
)
def units_cover_documents(
    context: AssetCheckExecutionContext, warehouse: Warehouse, corpora: CorpusStore
) -> AssetCheckResult:
    """See the description above."""
    corpus = context.partition_key
    settings = corpora.settings(corpus).text_units
    documents, units = warehouse.read(tables.DOCUMENTS, corpus), warehouse.read(tables.TEXT_CHUNKS, corpus)
    return _verdict(check_units(documents, units, settings.size, settings.overlap))


@_check(
    tables.UNIT_LEDGER, "Every text unit ends in exactly one state, and its counts are those of the tables"
)
def ledger_is_complete(context: AssetCheckExecutionContext, warehouse: Warehouse) -> AssetCheckResult:
    """See the description above."""
    read = {
        table.name: warehouse.read(table, context.partition_key)
        for table in (
            tables.TEXT_CHUNKS,
            tables.UNIT_LEDGER,
            tables.GLEANED_ENTITIES,
            tables.GLEANED_RELATIONSHIPS,
            tables.CLAIMS,
            tables.QUARANTINE,
        )
    }
    return _verdict(check_ledger(**read))


@_check(tables.RELATIONSHIPS, "No self-loops, ends in order, weights above zero")
def edges_are_simple(context: AssetCheckExecutionContext, warehouse: Warehouse) -> AssetCheckResult:
    """See the description above."""
    edges = warehouse.read(tables.RELATIONSHIPS, context.partition_key)
    wrong = edges.filter((pl.col("source") >= pl.col("target")) | (pl.col("weight") <= 0))
    return _verdict([f"{s} — {t} (weight {w})" for s, t, w in wrong["source", "target", "weight"].rows()])


@_check(
    tables.COMMUNITY_LEVELS, "At every level Ck the communities are a partition of the clustered entities"
)
def levels_are_partitions(context: AssetCheckExecutionContext, warehouse: Warehouse) -> AssetCheckResult:
    """See the description above."""
    levels = warehouse.read(tables.COMMUNITY_LEVELS, context.partition_key)
    return _verdict(check_partition(levels, warehouse.read(tables.COMMUNITY_MEMBERS, context.partition_key)))


@_check(tables.COMMUNITY_REPORTS, "Every community has a report")
def every_community_has_a_report(
    context: AssetCheckExecutionContext, warehouse: Warehouse
) -> AssetCheckResult:
    """See the description above."""
    communities = warehouse.read(tables.COMMUNITIES, context.partition_key)
    reports = warehouse.read(tables.COMMUNITY_REPORTS, context.partition_key)
    missing = communities.join(reports, left_on="community_id", right_on="report_id", how="anti")
    return _verdict([f"community {identity} has no report" for identity in missing["community_id"]])


@_check(tables.REPORT_CONTEXTS, "No packed context is larger than the token budget")
def contexts_fit_budget(
    context: AssetCheckExecutionContext, warehouse: Warehouse, corpora: CorpusStore
) -> AssetCheckResult:
    """See the description above."""
    budget = corpora.settings(context.partition_key).reports.context_tokens
    over = warehouse.read(tables.REPORT_CONTEXTS, context.partition_key).filter(pl.col("tokens") > budget)
    return _verdict([f"{i}: {t} tokens, budget {budget}" for i, t in over["report_id", "tokens"].rows()])


@_check(
    tables.UNIT_LEDGER,
    "No text unit is quarantined for want of a usable reply; a warning, run again to retry",
    blocking=False,
)
def no_unit_is_quarantined(context: AssetCheckExecutionContext, warehouse: Warehouse) -> AssetCheckResult:
    """See the description above."""
    ledger = warehouse.read(tables.UNIT_LEDGER, context.partition_key)
    lost = ledger.filter(pl.col("state") == "quarantined")
    verdict = _verdict([f"{unit}: {reason}" for unit, reason in lost["text_unit_id", "reason"].rows()])
    return verdict._replace(severity=AssetCheckSeverity.WARN)


CHECKS = [
    *(_integrity_of(table) for table in tables.ALL_TABLES),
    units_cover_documents,
    ledger_is_complete,
    no_unit_is_quarantined,
    edges_are_simple,
    levels_are_partitions,
    every_community_has_a_report,
    contexts_fit_budget,
]
