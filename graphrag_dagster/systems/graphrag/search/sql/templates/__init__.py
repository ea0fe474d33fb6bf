"""The questions that are answered by a query, in the order in which they are tried."""

from graphrag_dagster.systems.graphrag.search.sql.templates.counts import COLUMNS, COUNTS
from graphrag_dagster.systems.graphrag.search.sql.templates.documents import DOCUMENTS
from graphrag_dagster.systems.graphrag.search.sql.templates.entities import ENTITIES

TEMPLATES = (*DOCUMENTS, *COUNTS, *COLUMNS, *ENTITIES)
