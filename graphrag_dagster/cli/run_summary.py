"""What a run asked of models, what it did not get, and which replies were repaired.

A reply is repaired only where nothing of it is lost, so that repaired ones are shown and change no exit code.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWERS
from graphrag_dagster.apps.evaluation.questions.question_tables import CORPUS_DESCRIPTIONS, TESTSET_DOCUMENTS
from graphrag_dagster.apps.evaluation.tables import ANSWER_SENTENCES, JUDGEMENTS, QUALITY_SCORES
from graphrag_dagster.cli.result import Frame
from graphrag_dagster.kernel.catalogue.registry import engines
from graphrag_dagster.kernel.models.cache.cache_database import own_database_if_made
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.systems.graphrag.resolution.tables import DECISIONS
from graphrag_dagster.systems.graphrag.tables import QUARANTINE, TYPINGS

_USED = (
    *("calls", "cached", "retries", "failed", "timeouts", "repeated"),
    *("input_tokens", "cached_input_tokens", "output_tokens"),
)
#: Shown only where there are any.
_TROUBLES = ("retries", "failed", "timeouts")
_HEADINGS = {
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "timeouts": "time-outs",
    "usd": "US$",
}


def usage_rows(corpus: str, run_id: str | None) -> list[dict[str, Any]]:
    """What a run used, by asset, task and model."""
    cache = own_database_if_made()
    if not run_id or not cache:
        return []
    return [
        {
            "asset": asset,
            "task": task,
            "model": model,
            **{count: getattr(use, count) for count in _USED},
            "usd": use.money,
            "seconds": round(use.seconds, 3),
        }
        for (asset, task, model), use in UsageLog(cache).by_task(corpus, run_id).items()
    ]


def usage_table(used: Sequence[Mapping[str, Any]]) -> list[Frame]:
    """The account of a run, of rows as :func:`usage_rows` gives them; none where no model was asked."""
    if not used:
        return []
    rows = pl.DataFrame(used, infer_schema_length=None).drop("asset", "repeated", "cached_input_tokens")
    rows = rows.drop([name for name in _TROUBLES if not rows[name].sum()])
    price = pl.when(pl.col("usd").null_count() == 0).then(pl.col("usd").sum()).alias("usd")
    sums = [pl.sum(name) for name in rows.columns if name not in {"task", "model", "usd"}]
    total = rows.select(*sums, price, task=pl.lit("all"))
    return [Frame(pl.concat([rows, total], how="diagonal_relaxed"), "model usage of this run", _HEADINGS)]


def shortfall_lines(warehouse: Warehouse, corpus: str) -> list[str]:
    """What a finished index lacks of what a model was to give; empty where nothing is missing."""
    ledger = warehouse.read(tables.UNIT_LEDGER, corpus)
    lost = warehouse.read(QUARANTINE, corpus).filter(pl.col("kind") == "reply")
    asking = [one.name for one in engines().values() if one.asks_model]
    units = ledger.filter((pl.col("state") == "quarantined") & pl.col("engine").is_in(asking))
    gleanings = lost.join(units, on="text_unit_id", how="anti")
    problems = sum(
        warehouse.read(table, corpus).filter(pl.col("description_problem").is_not_null()).height
        for table in (tables.ENTITIES, tables.RELATIONSHIPS, tables.MERGED_CLAIMS)
    )
    reports = warehouse.read(tables.COMMUNITY_REPORTS, corpus).filter(pl.col("problem").is_not_null())
    untyped = warehouse.read(TYPINGS, corpus).filter(pl.col("problem").is_not_null())
    unruled = warehouse.read(DECISIONS, corpus).filter(pl.col("problem").is_not_null())
    counted = {
        "text units are quarantined: see extraction.unit_ledger and extraction.quarantine": units.height,
        "gleanings failed: see extraction.quarantine": gleanings.height,
        "entities were left without a type: see problem in extraction.typings": untyped.height,
        "pairs of names are left open: see problem in resolution.decisions": unruled.height,
        "descriptions were joined as they are: see description_problem": problems,
        "reports were written by the extractive engine: see problem": reports.height,
    }
    return [f"{count:,} {what}" for what, count in counted.items() if count]


#: Whose rows count repaired replies, the column that does, and what such rows are called.
INDEXED = (
    (tables.UNIT_LEDGER, "repaired", "text units"),
    (DECISIONS, "repaired", "pairs of names"),
    (tables.ENTITIES, "description_repaired", "entities"),
    (tables.RELATIONSHIPS, "description_repaired", "relationships"),
    (tables.MERGED_CLAIMS, "description_repaired", "claims"),
    (tables.COMMUNITY_REPORTS, "repaired", "reports"),
)
ANSWERED = (
    (CORPUS_DESCRIPTIONS, "repaired", "descriptions of the corpus with its questions"),
    (TESTSET_DOCUMENTS, "repaired", "documents of the testset"),
    (ANSWERS, "repaired", "answers"),
)
EVALUATED = (
    *ANSWERED,
    (JUDGEMENTS, "repaired", "judgements"),
    (ANSWER_SENTENCES, "repaired", "sentences"),
    (QUALITY_SCORES, "repaired", "quality scores"),
)


def repaired_rows(
    warehouse: Warehouse, corpus: str, counted: tuple[tuple[Table, str, str], ...]
) -> dict[str, int]:
    """Return how many rows of each kind rest on repaired replies or records, kinds without any left out."""
    found = {}
    for table, column, what in counted:
        frame = warehouse.read_if_present(table, corpus)
        if frame is not None and (count := int((frame[column].fill_null(0) > 0).sum())):
            found[what] = count
    return found


def repaired_line(rows: dict[str, int]) -> str | None:
    """Return one line on them; None where nothing was repaired."""
    text = ", ".join(f"{count:,} {what}" for what, count in rows.items())
    return f"repaired without loss: {text}; see the columns repaired" if text else None
