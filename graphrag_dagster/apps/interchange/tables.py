"""Table of the rows of graphs that could not be used."""

from graphrag_dagster.kernel.tables.import_tables import PLACE, RECORDS
from graphrag_dagster.kernel.tables.table_declaration import Table, column

IMPORT_QUARANTINE = Table(
    "imports",
    "quarantine",
    "imports",
    "Rows of graphs that could not be used, each with its reason",
    ("path", "row", "record"),
    (
        *PLACE,
        column("record", "VARCHAR", "Expected kind of row", values=(*RECORDS, "rows")),
        column("reason", "VARCHAR", "Why it cannot be used"),
        column("raw", "VARCHAR", "The row as found, its first 1,000 characters"),
    ),
)

TABLES = (IMPORT_QUARANTINE,)
