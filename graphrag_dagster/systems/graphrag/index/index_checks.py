"""Checks of the tables of an index."""

from collections.abc import Sequence

import polars as pl

from graphrag_dagster.kernel.graph.hierarchical_leiden import check_partition
from graphrag_dagster.kernel.pipeline.table_checks import CheckedPlace, TableRule
from graphrag_dagster.kernel.storage.published.shrink_guard import shrink_problems
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.index.community_reports import reported
from graphrag_dagster.systems.graphrag.index.extraction_tables import (
    check_ledger,
    check_something_read,
    units_without_grammar,
    unreadable_units,
)
from graphrag_dagster.systems.graphrag.reports.report_tables import COUNTED_AS, check_context_rows
from graphrag_dagster.systems.graphrag.resolution.resolved_names import (
    check_entities,
    check_human_decisions,
    check_names,
)
from graphrag_dagster.systems.graphrag.resolution.settings import ResolutionSettings
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.settings import ExtractionSettings, GraphSettings, ReportSettings
from graphrag_dagster.systems.graphrag.tables import (
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    REPORT_CONTEXT_ROWS,
    REPORT_CONTEXTS,
)

_NOTHING_READ = (
    "nothing of the corpus could be read, and what was published stays; the model gave no usable replies: "
    "see graphrag-dagster doctor"
)


def _ledger_is_complete(of: CheckedPlace) -> list[str]:
    if not of.settings.makes("extraction"):
        return []
    by_unit = (
        tables.TEXT_CHUNKS,
        GLEANED_ENTITIES,
        GLEANED_RELATIONSHIPS,
        tables.CLAIMS,
        QUARANTINE,
    )
    read = {table.name: of.read(table, "text_unit_id") for table in by_unit}
    return check_ledger(unit_ledger=of.read(tables.UNIT_LEDGER), **read)


def _no_unit_is_quarantined(of: CheckedPlace) -> list[str]:
    lost = of.read(tables.UNIT_LEDGER).filter(pl.col("state") == "quarantined")
    return [f"{unit}: {reason}" for unit, reason in lost["text_unit_id", "reason"].rows()]


def _every_unit_is_readable(of: CheckedPlace) -> list[str]:
    ledger = of.read(tables.UNIT_LEDGER)
    return [*unreadable_units(ledger), *units_without_grammar(ledger)]


def _something_was_read(of: CheckedPlace) -> list[str]:
    found = check_something_read(of.read(tables.UNIT_LEDGER))
    return [*found, _NOTHING_READ] if found else []


def _every_name_has_an_entity(of: CheckedPlace) -> list[str]:
    return check_names(
        of.read(GLEANED_ENTITIES, "text_unit_id", "name"),
        of.read(tables.TEXT_CHUNKS, "text_unit_id", "document_id"),
        of.read(ALIASES, "document_id", "name"),
    )


def _human_decisions_hold(of: CheckedPlace) -> list[str]:
    people = of.settings.section(ResolutionSettings).decisions()
    return check_human_decisions(of.read(ALIASES), of.read(tables.DOCUMENTS), people) if people.words else []


def _entities_are_those_of_resolution(of: CheckedPlace) -> list[str]:
    if not of.settings.makes("resolution"):
        return []
    return check_entities(of.read(ALIASES, "entity"), of.read(tables.ENTITIES, "name"))


def _edges_are_simple(of: CheckedPlace) -> list[str]:
    edges = of.read(tables.RELATIONSHIPS, "source", "target", "weight")
    wrong = edges.filter((pl.col("source") >= pl.col("target")) | (pl.col("weight") <= 0))
    return [f"{s} — {t} (weight {w})" for s, t, w in wrong["source", "target", "weight"].rows()]


def _graph_has_not_shrunk(of: CheckedPlace) -> list[str]:
    most = of.settings.section(GraphSettings).shrink_guard
    return [] if most >= 1 else shrink_problems(of.warehouse, of.reader, most)


def _levels_are_partitions(of: CheckedPlace) -> list[str]:
    return check_partition(of.read(tables.COMMUNITY_LEVELS), of.read(tables.COMMUNITY_MEMBERS))


def _every_community_has_a_report(of: CheckedPlace) -> list[str]:
    every = of.read(tables.COMMUNITIES, "community_id", "level")
    communities = reported(every, of.settings.section(ReportSettings))
    reports = of.read(tables.COMMUNITY_REPORTS, "report_id")
    missing = communities.join(reports, left_on="community_id", right_on="report_id", how="anti")
    return [f"community {identity} has no report" for identity in missing["community_id"]]


def _contexts_fit_budget(of: CheckedPlace) -> list[str]:
    budget = of.settings.section(ReportSettings).context_tokens
    over = of.read(REPORT_CONTEXTS, "report_id", "tokens").filter(pl.col("tokens") > budget)
    return [f"{i}: {t} tokens, budget {budget}" for i, t in over["report_id", "tokens"].rows()]


def _context_rows_show_records(of: CheckedPlace) -> list[str]:
    shown = {
        "report": (tables.COMMUNITY_REPORTS, "report_id"),
        "entity": (tables.ENTITIES, "entity_id"),
        "claim": (tables.MERGED_CLAIMS, "claim_id"),
        "relationship": (tables.RELATIONSHIPS, "relationship_id"),
    }
    return check_context_rows(
        of.read(REPORT_CONTEXTS, "report_id", *COUNTED_AS.values()),
        of.read(REPORT_CONTEXT_ROWS, "report_id", "position", "kind", "record_id"),
        {kind: of.read(table, key)[key] for kind, (table, key) in shown.items()},
    )


def _entities_are_as_many_as_expected(of: CheckedPlace) -> list[str]:
    read = of.read(tables.UNIT_LEDGER).filter(pl.col("state") != "quarantined").height
    least, most = of.settings.section(ExtractionSettings).expected.entities_per_unit
    mean = of.read(GLEANED_ENTITIES, "text_unit_id").height / read if read else least
    return [] if least <= mean <= most else [f"{mean:.3g} entities a text unit, not {least:g} to {most:g}"]


def _few_units_are_quarantined(of: CheckedPlace) -> list[str]:
    ledger = of.read(tables.UNIT_LEDGER)
    most = of.settings.section(ExtractionSettings).expected.quarantined
    quarantined = ledger.filter(pl.col("state") == "quarantined").height
    if quarantined <= most * ledger.height:
        return []
    return [f"{quarantined} of {ledger.height} text units are quarantined, more than {most:.1%}"]


RULES: Sequence[TableRule] = (
    TableRule(
        tables.UNIT_LEDGER,
        "Every text unit ends in exactly one state, and its counts match the tables",
        _ledger_is_complete,
    ),
    TableRule(
        tables.UNIT_LEDGER,
        "No text unit is quarantined for lack of a usable reply; a warning, run again to retry",
        _no_unit_is_quarantined,
        blocking=False,
    ),
    TableRule(
        tables.UNIT_LEDGER,
        "No text unit is in a language without rules; a warning, such a unit has names alone or nothing",
        _every_unit_is_readable,
        blocking=False,
    ),
    TableRule(
        tables.UNIT_LEDGER,
        "Some text units are not quarantined",
        _something_was_read,
    ),
    TableRule(
        ALIASES,
        "Every name of every document has exactly one row, and no other name has any",
        _every_name_has_an_entity,
    ),
    TableRule(
        ALIASES,
        "No two names that a person declared different are names of one entity",
        _human_decisions_hold,
    ),
    TableRule(
        tables.ENTITIES,
        "The nodes of the graph are exactly the entities of resolution",
        _entities_are_those_of_resolution,
    ),
    TableRule(
        tables.ENTITIES,
        "The graph has not lost more of its published entities than graph.shrink_guard allows, in excess of "
        "the share of deleted documents or graph files",
        _graph_has_not_shrunk,
    ),
    TableRule(
        tables.RELATIONSHIPS,
        "No self-loops, ends in order, positive weights",
        _edges_are_simple,
    ),
    TableRule(
        tables.COMMUNITY_LEVELS,
        "At every level Ck the communities are a partition of the clustered entities",
        _levels_are_partitions,
    ),
    TableRule(
        tables.COMMUNITY_REPORTS,
        "Every community down to reports.levels has a report",
        _every_community_has_a_report,
    ),
    TableRule(
        REPORT_CONTEXTS,
        "No packed context is larger than the token budget",
        _contexts_fit_budget,
    ),
    TableRule(
        REPORT_CONTEXT_ROWS,
        "Every context has as many rows as it counts, and each shows an existing record",
        _context_rows_show_records,
    ),
    TableRule(
        tables.UNIT_LEDGER,
        "A text unit has on average as many entities as extraction.expected.entities_per_unit; a warning",
        _entities_are_as_many_as_expected,
        blocking=False,
    ),
    TableRule(
        tables.UNIT_LEDGER,
        "No larger share of text units is quarantined than extraction.expected.quarantined says; a warning",
        _few_units_are_quarantined,
        blocking=False,
    ),
)
