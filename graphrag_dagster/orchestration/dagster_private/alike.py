"""A file of records begun with the schema that another one has.

Dagster begins each run's file by the history of its schema, of which it reads 90 files three times.
"""

from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

_SCHEMA = text(
    "select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by rowid"
)
_VERSIONS = text("select version_num from alembic_version")


def begun_alike(new: Engine, other: Engine) -> bool:
    """Give a file without tables those of another one, all of them or none, and the revision of its schema.

    Args:
        new: of the file, which may be missing.
        other: of the one that tells.

    Returns:
        whether it was done; it is not where the other file has no revision, or another process was faster.
    """
    try:
        with other.connect() as told:
            statements, versions = (
                told.execute(_SCHEMA).scalars().all(),
                told.execute(_VERSIONS).scalars().all(),
            )
        with new.connect() as connection:
            connection.execute(text("pragma journal_mode = wal"))
            # Statements that change a schema begin no transaction by themselves.
            connection.exec_driver_sql("begin immediate")
            for statement in statements:
                connection.exec_driver_sql(statement)
            for version in versions:
                connection.execute(
                    text("insert into alembic_version values (:version)"), {"version": version}
                )
            connection.commit()
    except OperationalError:
        return False
    return bool(versions)
