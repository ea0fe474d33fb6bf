"""Runs as Dagster's own SQLite file has them.

Opening an instance imports three hundred modules of Dagster, SQLAlchemy and Alembic; this asks one question.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

_NEWEST = """
select runs.pipeline_name, runs.status
from runs join run_tags on run_tags.run_id = runs.run_id
where run_tags.key = 'dagster/partition' and run_tags.value = ?
order by runs.id desc limit ?
"""


def newest_runs(folder: Path, partition: str, most: int) -> list[tuple[str, str]]:
    """Return job and status of the newest runs of a partition, the newest first.

    Args:
        folder: that of the instance, which keeps its records there.
        partition: the runs' tag.
        most: how many.

    Raises:
        sqlite3.Error: only Dagster can tell: there is no such file, or it is of another form or damaged.
    """
    file = quote(str(folder / "history" / "runs.db"))
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return connection.execute(_NEWEST, (partition, most)).fetchall()
