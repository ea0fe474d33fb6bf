"""Checks: what must hold of every table before anything is built upon it."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl
from dagster import (
    AssetCheckKey,
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetKey,
    MetadataValue,
    PreviewWarning,
)

from graphrag_dagster import tables
from graphrag_dagster.core.corpus.text_units import check_texts, check_units
from graphrag_dagster.core.extraction.ledger import check_ledger, nothing_read, unreadable_units
from graphrag_dagster.core.graph.levels import check_partition
from graphrag_dagster.core.printable import printable
from graphrag_dagster.core.reports.frames import check_context_rows
from graphrag_dagster.core.resolution.applying import check_entities, check_names, check_people
from graphrag_dagster.orchestration.partitions import CORPUS
from graphrag_dagster.resources.integrity import violations
from graphrag_dagster.resources.published.shrinkage import shrinkage
from graphrag_dagster.resources.warehouse import Reader, Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import Table

#: Of every check: each asset has one.
NAME = "valid"
_MOST_SHOWN = 20
_NOTHING_READ = (
    "nothing of the corpus could be read, and what was published stays; for other languages set engine: llm "
    "or extraction.languages in corpus.yaml, for a model without usable replies see graphrag-dagster doctor"
)
_DECLARED = "Keys are unique, nothing is null that may not be, every reference resolves"


class CheckedPlace:
    """What is checked: the tables of a corpus, beside its settings and what of it is published.

    Args:
        reader: of the corpus; nothing is written while it is open.
        settings: of the corpus.
        warehouse: where its snapshots lie.
    """

    def __init__(self, reader: Reader, settings: CorpusSettings, warehouse: Warehouse) -> None:
        self.reader, self.settings, self.warehouse = reader, settings, warehouse
        self._read: dict[Table, pl.DataFrame] = {}

    def read(self, table: Table) -> pl.DataFrame:
        """All rows of the corpus."""
        if table not in self._read:
            self._read[table] = self.reader.read(table)
        return self._read[table]


@dataclass(frozen=True, slots=True)
class TableRule:
    """What must hold of a table; ``problems`` are empty where it does. What does not block only warns."""

    table: Table
    description: str
    problems: Callable[[CheckedPlace], Sequence[str]]
    blocking: bool = True


@dataclass(frozen=True, slots=True)
class AssetCheck:
    """All that must hold of a table that is an asset, and of those that it answers for."""

    table: Table
    beside: Sequence[Table] = ()

    @property
    def key(self) -> AssetCheckKey:
        """Under which Dagster knows it."""
        return AssetCheckKey(AssetKey(self.table.asset_key), NAME)

    def spec(self) -> AssetCheckSpec:
        """What Dagster is told of it."""
        rules = [rule.description for rule in RULES if rule.table in (self.table, *self.beside)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PreviewWarning)
            return AssetCheckSpec(
                NAME,
                asset=self.key.asset_key,
                description=". ".join([_DECLARED, *rules]),
                blocking=True,
                # Per corpus: otherwise one corpus's pass would hide another's failure.
                partitions_def=CORPUS,
            )

    def result(self, place: CheckedPlace) -> AssetCheckResult:
        """Look whether it holds there; where only rules are broken that do not block, it warns."""
        found = [one for table in (self.table, *self.beside) for one in self._problems(table, place)]
        problems = [problem for problem, _ in found]
        shown = "\n".join(f"- {problem}" for problem in problems[:_MOST_SHOWN]) or "none"
        blocks = any(blocking for _, blocking in found)
        return AssetCheckResult(
            check_name=NAME,
            asset_key=self.key.asset_key,
            passed=not problems,
            severity=AssetCheckSeverity.ERROR if blocks else AssetCheckSeverity.WARN,
            metadata={"count": len(problems), "problems": MetadataValue.text(printable(shown))},
        )

    def _problems(self, table: Table, place: CheckedPlace) -> Iterator[tuple[str, bool]]:
        where = "" if table == self.table else f"{table.full_name}: "
        if place.reader.counts([table])[table]:
            yield from ((f"{where}{one}", True) for one in violations(place.reader, table))
        for rule in RULES:
            if rule.table == table:
                # What stops the run is shown first.
                yield from ((f"{where}{one}", rule.blocking) for one in rule.problems(place))


def _units_cover_documents(of: CheckedPlace) -> list[str]:
    if of.settings.makes("imports"):
        return check_texts(of.read(tables.DOCUMENTS), of.read(tables.TEXT_CHUNKS))
    settings = of.settings.text_units
    return check_units(
        of.read(tables.DOCUMENTS), of.read(tables.TEXT_CHUNKS), settings.size, settings.overlap
    )


def _ledger_is_complete(of: CheckedPlace) -> list[str]:
    if not of.settings.makes("extraction"):
        return []
    read = (
        tables.TEXT_CHUNKS,
        tables.UNIT_LEDGER,
        tables.GLEANED_ENTITIES,
        tables.GLEANED_RELATIONSHIPS,
        tables.CLAIMS,
        tables.QUARANTINE,
    )
    return check_ledger(**{table.name: of.read(table) for table in read})


def _no_unit_is_quarantined(of: CheckedPlace) -> list[str]:
    lost = of.read(tables.UNIT_LEDGER).filter(pl.col("state") == "quarantined")
    return [f"{unit}: {reason}" for unit, reason in lost["text_unit_id", "reason"].rows()]


def _every_unit_is_readable(of: CheckedPlace) -> list[str]:
    return unreadable_units(of.read(tables.UNIT_LEDGER))


def _something_was_read(of: CheckedPlace) -> list[str]:
    found = nothing_read(of.read(tables.UNIT_LEDGER))
    return [*found, _NOTHING_READ] if found else []


def _every_name_has_an_entity(of: CheckedPlace) -> list[str]:
    return check_names(of.read(tables.GLEANED_ENTITIES), of.read(tables.TEXT_CHUNKS), of.read(tables.ALIASES))


def _people_are_obeyed(of: CheckedPlace) -> list[str]:
    people = of.settings.resolution.decisions()
    return check_people(of.read(tables.ALIASES), of.read(tables.DOCUMENTS), people) if people.words else []


def _entities_are_those_of_resolution(of: CheckedPlace) -> list[str]:
    if not of.settings.makes("resolution"):
        return []
    return check_entities(of.read(tables.ALIASES), of.read(tables.ENTITIES))


def _edges_are_simple(of: CheckedPlace) -> list[str]:
    edges = of.read(tables.RELATIONSHIPS)
    wrong = edges.filter((pl.col("source") >= pl.col("target")) | (pl.col("weight") <= 0))
    return [f"{s} — {t} (weight {w})" for s, t, w in wrong["source", "target", "weight"].rows()]


def _graph_has_not_shrunk(of: CheckedPlace) -> list[str]:
    most = of.settings.graph.shrink_guard
    return [] if most >= 1 else shrinkage(of.warehouse, of.reader, most)


def _levels_are_partitions(of: CheckedPlace) -> list[str]:
    return check_partition(of.read(tables.COMMUNITY_LEVELS), of.read(tables.COMMUNITY_MEMBERS))


def _every_community_has_a_report(of: CheckedPlace) -> list[str]:
    communities, reports = of.read(tables.COMMUNITIES), of.read(tables.COMMUNITY_REPORTS)
    missing = communities.join(reports, left_on="community_id", right_on="report_id", how="anti")
    return [f"community {identity} has no report" for identity in missing["community_id"]]


def _contexts_fit_budget(of: CheckedPlace) -> list[str]:
    budget = of.settings.reports.context_tokens
    over = of.read(tables.REPORT_CONTEXTS).filter(pl.col("tokens") > budget)
    return [f"{i}: {t} tokens, budget {budget}" for i, t in over["report_id", "tokens"].rows()]


def _context_rows_show_records(of: CheckedPlace) -> list[str]:
    records = {
        "report": of.read(tables.COMMUNITY_REPORTS)["report_id"],
        "entity": of.read(tables.ENTITIES)["entity_id"],
        "claim": of.read(tables.MERGED_CLAIMS)["claim_id"],
        "relationship": of.read(tables.RELATIONSHIPS)["relationship_id"],
    }
    return check_context_rows(of.read(tables.REPORT_CONTEXTS), of.read(tables.REPORT_CONTEXT_ROWS), records)


def _stores_hold_every_entity(of: CheckedPlace) -> list[str]:
    if not of.settings.makes("coterag"):
        return []
    entities, placed = set(of.read(tables.ENTITIES)["entity_id"]), of.read(tables.COTERAG_STORES)
    main = set(placed.filter(store="main")["entity_id"])
    inside = set(of.read(tables.COTERAG_MEMBERS)["entity_id"])
    wrong = [
        (entities - set(placed["entity_id"]), "is in no store"),
        (inside - main, "is preserved apart, and in a community"),
    ]
    return [f"entity {one} {problem}" for found, problem in wrong for one in sorted(found)]


RULES: Sequence[TableRule] = (
    TableRule(
        tables.TEXT_CHUNKS,
        "Units cover every character of their document, reproduce its text, and are as many as the rule of "
        "windows says",
        _units_cover_documents,
    ),
    TableRule(
        tables.UNIT_LEDGER,
        "Every text unit ends in exactly one state, and its counts are those of the tables",
        _ledger_is_complete,
    ),
    TableRule(
        tables.UNIT_LEDGER,
        "No text unit is quarantined for want of a usable reply; a warning, run again to retry",
        _no_unit_is_quarantined,
        blocking=False,
    ),
    TableRule(
        tables.UNIT_LEDGER,
        "No text unit is in a language that is not read; a warning, nothing is extracted from such a unit",
        _every_unit_is_readable,
        blocking=False,
    ),
    TableRule(
        tables.UNIT_LEDGER,
        "Not every text unit is quarantined or unreadable",
        _something_was_read,
    ),
    TableRule(
        tables.ALIASES,
        "Every name of every document has one row, and no other name has any",
        _every_name_has_an_entity,
    ),
    TableRule(
        tables.ALIASES,
        "No two names that a person said to be different are names of one entity",
        _people_are_obeyed,
    ),
    TableRule(
        tables.ENTITIES,
        "Every entity that resolution names is a node of the graph, and no other is",
        _entities_are_those_of_resolution,
    ),
    TableRule(
        tables.ENTITIES,
        "The graph has not lost more of its published entities than graph.shrink_guard allows, beyond what "
        "went with its documents or with files of a graph",
        _graph_has_not_shrunk,
    ),
    TableRule(
        tables.COTERAG_STORES,
        "Every entity is of the main graph or preserved apart, and communities are of the main graph",
        _stores_hold_every_entity,
    ),
    TableRule(
        tables.RELATIONSHIPS,
        "No self-loops, ends in order, weights above zero",
        _edges_are_simple,
    ),
    TableRule(
        tables.COMMUNITY_LEVELS,
        "At every level Ck the communities are a partition of the clustered entities",
        _levels_are_partitions,
    ),
    TableRule(
        tables.COMMUNITY_REPORTS,
        "Every community has a report",
        _every_community_has_a_report,
    ),
    TableRule(
        tables.REPORT_CONTEXTS,
        "No packed context is larger than the token budget",
        _contexts_fit_budget,
    ),
    TableRule(
        tables.REPORT_CONTEXT_ROWS,
        "The rows of every context are as many as it counts, and each shows a record that there is",
        _context_rows_show_records,
    ),
)
