"""The query templates, in the order they are tried."""

from graphrag_dagster.systems.graphrag.search.sql.templates.counts import COLUMNS, COUNTS
from graphrag_dagster.systems.graphrag.search.sql.templates.documents import DOCUMENTS
from graphrag_dagster.systems.graphrag.search.sql.templates.entities import ENTITIES

TEMPLATES = (*DOCUMENTS, *COUNTS, *COLUMNS, *ENTITIES)
