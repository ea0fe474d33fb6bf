"""Code versions: a table is outdated when that of its stage has changed."""

from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from graphrag_dagster.kernel.catalogue.registry import all_tables, stages, tasks
from graphrag_dagster.kernel.catalogue.stages import Stage
from graphrag_dagster.kernel.catalogue.tasks import SHARED_PROMPTS
from graphrag_dagster.kernel.tasks.prompts import load

_MODELS = Path(__file__).parents[3] / "dbt_like_sql" / "models"


@cache
def code_version(stage: str) -> str:
    """Return the version of the code of a stage, shared by all tables of its group.

    It is the number that the catalogue declares, and a hash of what tells by itself that it has changed: the
    prompts of the stage's tasks, the queries of its SQL models, the versions of its libraries. Settings are
    a corpus's, and compared corpus by corpus.

    Raises:
        KeyError: there is no such stage.
    """
    own = stages()[stage]
    parts = [*_prompts(own), *_queries(own), *(f"{name} {_installed(name)}" for name in own.libraries)]
    digest = sha256("\n".join(parts).encode()).hexdigest()
    return f"{own.version}-{digest[:12]}"


def code_of_tables() -> Mapping[str, str]:
    """Return the version of the code that makes each table, by asset key ``schema/table``."""
    return {
        "/".join(table.asset_key): code_version(table.group)
        for table in all_tables()
        if table.group in stages()
    }


def _prompts(stage: Stage) -> Iterator[str]:
    asked = [task for task in tasks().values() if task.section in (*stage.sections, *stage.asks)]
    names = {name for task in asked for name in (*task.prompts, *SHARED_PROMPTS)}
    return (f"{name} {load(name).hash}" for name in sorted(names))


def _queries(stage: Stage) -> Iterator[str]:
    for table in all_tables():
        if table.sql and table.group == stage.name:
            query = _MODELS / table.schema / f"{table.name}.sql"
            yield f"{table.full_name} {query.read_text(encoding='utf-8').strip()}"


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
