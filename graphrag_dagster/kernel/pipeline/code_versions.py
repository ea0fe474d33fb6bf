"""Code versions and fingerprints of inputs, which determine whether tables are outdated and rows reusable."""

from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import polars as pl

from graphrag_dagster.errors import CatalogueError
from graphrag_dagster.kernel.catalogue.registry import model_folders, stages, tasks
from graphrag_dagster.kernel.catalogue.system import Stage
from graphrag_dagster.kernel.catalogue.tasks import SHARED_PROMPTS
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import DECIDING_REPLIES, DECIDING_REQUESTS
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.kernel.text.prompts import load

if TYPE_CHECKING:
    from graphrag_dagster.kernel.storage.warehouse import Warehouse


@cache
def code_version(stage: str) -> str:
    """Return the code version of a stage, shared by all tables of its group.

    It consists of the number declared in the catalogue and a hash of inputs that change independently: the
    prompts of the stage's tasks, the queries of its SQL models and the versions of its libraries. Settings
    differ between corpora and are compared per corpus.

    Raises:
        KeyError: no such stage.
        CatalogueError: a table of it is to be made by SQL, and there is no model.
    """
    declared = stages()[stage]
    parts = [
        *_prompts(declared),
        *_queries(declared),
        *(f"{name} {_installed(name)}" for name in declared.libraries),
    ]
    digest = sha256("\n".join(parts).encode()).hexdigest()
    return f"{declared.version}-{digest[:12]}"


def code_of_tables() -> Mapping[str, str]:
    """Return the code version of each table, by ``schema/table``."""
    return {
        "/".join(table.path): code_version(table.group) for table in all_tables() if table.group in stages()
    }


def _prompts(stage: Stage) -> Iterator[str]:
    stage_tasks = [task for task in tasks().values() if task.section in (*stage.sections, *stage.asks)]
    names = {name for task in stage_tasks for name in (*task.prompts, *SHARED_PROMPTS)}
    return (f"{name} {load(name).hash}" for name in sorted(names))


def _queries(stage: Stage) -> Iterator[str]:
    for table in all_tables():
        if table.sql and table.group == stage.name:
            places = [folder / table.schema / f"{table.name}.sql" for folder in model_folders()]
            query = next((place for place in places if place.is_file()), None)
            if query is None:
                raise CatalogueError(
                    f"{table.full_name} is declared with sql=True, but no model makes it: write "
                    f"{' or '.join(map(str, places))}"
                )
            yield f"{table.full_name} {query.read_text(encoding='utf-8').strip()}"


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def why_not_reusable(warehouse: "Warehouse", corpus: str, table: Table, state: pl.DataFrame) -> str:
    """Return why rows of the previous run cannot be reused; blank if they can.

    Args:
        warehouse: the warehouse with the previous tables.
        corpus: the corpus.
        table: the fingerprint table, with the columns ``part`` and ``value``.
        state: its present rows.
    """
    before = warehouse.read_if_present(table, corpus)
    if before is None or before.is_empty():
        return "no finished previous result"
    old, new = (dict(rows.select("part", "value").iter_rows()) for rows in (before, state))
    changed = sorted(part for part in old.keys() | new.keys() if old.get(part) != new.get(part))
    return f"changed: {', '.join(changed)}" if changed else ""


def begin_replacing(warehouse: "Warehouse", corpus: str, table: Table) -> None:
    """Empty the state before the first table is replaced, so that it does not outlive a killed run."""
    warehouse.write(table, corpus, table.empty())


def model_of(settings: CorpusSettings, task: str) -> str:
    """Return a hash of the model settings that affect a task's replies, because the settings may be
    confidential.
    """
    model = settings.model.for_role(tasks()[task].role)
    keys = (*DECIDING_REPLIES, *DECIDING_REQUESTS)
    return stable_id(*(getattr(model, key) for key in keys))


def replies_in(rows: pl.DataFrame) -> list[str]:
    """Return the unique cache keys of the replies that rows were made from.

    Args:
        rows: have the column ``replies``.
    """
    return rows["replies"].explode(empty_as_null=False).drop_nulls().unique(maintain_order=True).to_list()
