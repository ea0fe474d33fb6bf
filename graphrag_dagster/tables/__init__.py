"""Every table, declared once: the interface between all rooms.

From these declarations come the DuckDB tables, the validation of every frame before it is written, the
column schema shown in Dagster, the blocking checks and the data dictionary. Every table begins with the
column ``corpus``, which the warehouse adds on writing and leaves out on reading.
"""

from graphrag_dagster.core.errors import WarehouseError
from graphrag_dagster.tables.answers import ANSWER_CITATIONS, ANSWER_CONTEXTS, ANSWER_COSTS, ANSWERS
from graphrag_dagster.tables.declaration import ENGINES, SPANS, VECTOR, Column, Table
from graphrag_dagster.tables.evaluation import (
    ALIGNMENT,
    ANSWER_CLAIMS,
    ANSWER_MEASURES,
    ANSWER_SENTENCES,
    COMPARISONS,
    CONDITION_COSTS,
    CONDITION_MEANS,
    DIVERSITY_CLUSTERS,
    JUDGEMENTS,
    POSITION_BIAS,
    QUALITY_SCORES,
    QUALITY_VERDICTS,
    SIGNIFICANCE,
    VERDICTS,
    WIN_RATES,
)
from graphrag_dagster.tables.index import (
    CLAIMS,
    CLUSTERING_STATE,
    COLD_START_EDGES,
    COMMUNITIES,
    COMMUNITY_LEVELS,
    COMMUNITY_MEMBERS,
    COMMUNITY_REPORTS,
    CONTEXT_SIZES,
    CORPUS_SUMMARY,
    DOCUMENTS,
    ENTITIES,
    ENTITY_EMBEDDINGS,
    ENTITY_GROUPS,
    EXTRACTION_STATE,
    FILES,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    QUARANTINE,
    RELATIONSHIP_GROUPS,
    RELATIONSHIPS,
    REPORT_CONTEXTS,
    REPORT_EMBEDDINGS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    TEXT_CHUNKS,
    TEXT_UNIT_EMBEDDINGS,
    UNIT_LEDGER,
)
from graphrag_dagster.tables.questions import (
    CORPUS_DESCRIPTIONS,
    PERSONA_QUESTIONS,
    PERSONA_TASKS,
    PERSONAS,
    QUESTIONS,
)
from graphrag_dagster.tables.studies import (
    EXTRACTION_COUNTS,
    WINDOW_ANSWERS,
    WINDOW_JUDGEMENTS,
    WINDOW_WIN_RATES,
)
from graphrag_dagster.tables.usage import MODEL_USAGE, RUN_USAGE

#: Accounts of runs: they grow with every run, unlike all other tables, which the same input always makes alike.
ACCOUNTS = (MODEL_USAGE, RUN_USAGE)

ALL_TABLES: tuple[Table, ...] = (
    FILES,
    DOCUMENTS,
    TEXT_CHUNKS,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    CLAIMS,
    UNIT_LEDGER,
    QUARANTINE,
    EXTRACTION_STATE,
    ENTITY_GROUPS,
    RELATIONSHIP_GROUPS,
    ENTITIES,
    RELATIONSHIPS,
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    CLUSTERING_STATE,
    COLD_START_EDGES,
    COMMUNITY_LEVELS,
    COMMUNITY_REPORTS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    REPORT_CONTEXTS,
    TEXT_UNIT_EMBEDDINGS,
    ENTITY_EMBEDDINGS,
    REPORT_EMBEDDINGS,
    CORPUS_SUMMARY,
    CONTEXT_SIZES,
    CORPUS_DESCRIPTIONS,
    PERSONAS,
    PERSONA_TASKS,
    PERSONA_QUESTIONS,
    QUESTIONS,
    ANSWERS,
    ANSWER_COSTS,
    ANSWER_CONTEXTS,
    ANSWER_CITATIONS,
    JUDGEMENTS,
    COMPARISONS,
    WIN_RATES,
    POSITION_BIAS,
    ANSWER_SENTENCES,
    ANSWER_CLAIMS,
    DIVERSITY_CLUSTERS,
    ANSWER_MEASURES,
    CONDITION_COSTS,
    CONDITION_MEANS,
    SIGNIFICANCE,
    ALIGNMENT,
    VERDICTS,
    QUALITY_SCORES,
    QUALITY_VERDICTS,
    EXTRACTION_COUNTS,
    WINDOW_ANSWERS,
    WINDOW_JUDGEMENTS,
    WINDOW_WIN_RATES,
    MODEL_USAGE,
    RUN_USAGE,
)

_BY_NAME = {table.full_name: table for table in ALL_TABLES}


def table(full_name: str) -> Table:
    """Return the declaration of ``schema.name``.

    Raises:
        WarehouseError: no such table is declared.
    """
    try:
        return _BY_NAME[full_name]
    except KeyError:
        raise WarehouseError(f"no table {full_name!r}; declared are {', '.join(sorted(_BY_NAME))}") from None


__all__ = [
    "ACCOUNTS",
    "ALIGNMENT",
    "ALL_TABLES",
    "ANSWERS",
    "ANSWER_CITATIONS",
    "ANSWER_CLAIMS",
    "ANSWER_CONTEXTS",
    "ANSWER_COSTS",
    "ANSWER_MEASURES",
    "ANSWER_SENTENCES",
    "CLAIMS",
    "CLUSTERING_STATE",
    "COLD_START_EDGES",
    "COMMUNITIES",
    "COMMUNITY_LEVELS",
    "COMMUNITY_MEMBERS",
    "COMMUNITY_REPORTS",
    "COMPARISONS",
    "CONDITION_COSTS",
    "CONDITION_MEANS",
    "CONTEXT_SIZES",
    "CORPUS_DESCRIPTIONS",
    "CORPUS_SUMMARY",
    "DIVERSITY_CLUSTERS",
    "DOCUMENTS",
    "ENGINES",
    "ENTITIES",
    "ENTITY_EMBEDDINGS",
    "ENTITY_GROUPS",
    "EXTRACTION_COUNTS",
    "EXTRACTION_STATE",
    "FILES",
    "GLEANED_ENTITIES",
    "GLEANED_RELATIONSHIPS",
    "JUDGEMENTS",
    "MODEL_USAGE",
    "PERSONAS",
    "PERSONA_QUESTIONS",
    "PERSONA_TASKS",
    "POSITION_BIAS",
    "QUALITY_SCORES",
    "QUALITY_VERDICTS",
    "QUARANTINE",
    "QUESTIONS",
    "RELATIONSHIPS",
    "RELATIONSHIP_GROUPS",
    "REPORT_CONTEXTS",
    "REPORT_EMBEDDINGS",
    "REPORT_FINDINGS",
    "REPORT_REFERENCES",
    "RUN_USAGE",
    "SIGNIFICANCE",
    "SPANS",
    "TEXT_CHUNKS",
    "TEXT_UNIT_EMBEDDINGS",
    "UNIT_LEDGER",
    "VECTOR",
    "VERDICTS",
    "WINDOW_ANSWERS",
    "WINDOW_JUDGEMENTS",
    "WINDOW_WIN_RATES",
    "WIN_RATES",
    "Column",
    "Table",
    "table",
]
