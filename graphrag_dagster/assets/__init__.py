"""The assets: thin, one file per group, each tables in, one call of the core, tables out."""

from collections.abc import Sequence

from dagster import AssetsDefinition

from graphrag_dagster.assets.evaluating.answers import answers
from graphrag_dagster.assets.evaluating.evaluation import (
    answer_claims,
    diversity_clusters,
    judgements,
    quality,
)
from graphrag_dagster.assets.evaluating.evaluation_report import evaluation_report
from graphrag_dagster.assets.evaluating.paths import (
    path_judgements,
    path_outcomes,
    path_questions,
    path_summary,
    recall_windows,
)
from graphrag_dagster.assets.evaluating.questions import questions, testset, written_questions
from graphrag_dagster.assets.evaluating.statistics import evaluation_statistics
from graphrag_dagster.assets.evaluating.studies import (
    context_study,
    extraction_study,
    window_answers,
    window_judgements,
)
from graphrag_dagster.assets.evaluating.themes import reason_themes
from graphrag_dagster.assets.indexing.communities import community_hierarchy
from graphrag_dagster.assets.indexing.context import context_nodes
from graphrag_dagster.assets.indexing.corpus import corpus_documents, said_of_documents, text_chunks
from graphrag_dagster.assets.indexing.coterag import coterag
from graphrag_dagster.assets.indexing.embeddings import (
    entity_embeddings,
    report_embeddings,
    text_unit_embeddings,
)
from graphrag_dagster.assets.indexing.extraction import extraction
from graphrag_dagster.assets.indexing.graph import claims, entities, relationships
from graphrag_dagster.assets.indexing.imports import imports
from graphrag_dagster.assets.indexing.layout import layout
from graphrag_dagster.assets.indexing.publishing import published_results, published_snapshot
from graphrag_dagster.assets.indexing.reports import reports
from graphrag_dagster.assets.indexing.resolution import resolution
from graphrag_dagster.assets.sql_models import SQL_ASSETS
from graphrag_dagster.assets.usage import usage_of

_MADE = (
    imports,
    corpus_documents,
    said_of_documents,
    text_chunks,
    extraction,
    resolution,
    entities,
    relationships,
    claims,
    community_hierarchy,
    layout,
    entity_embeddings,
    context_nodes,
    reports,
    text_unit_embeddings,
    report_embeddings,
    coterag,
    published_snapshot,
    written_questions,
    testset,
    questions,
    answers,
    judgements,
    reason_themes,
    answer_claims,
    diversity_clusters,
    quality,
    evaluation_statistics,
    evaluation_report,
    extraction_study,
    context_study,
    window_answers,
    window_judgements,
    path_questions,
    recall_windows,
    path_outcomes,
    path_judgements,
    path_summary,
    published_results,
    *SQL_ASSETS,
)

ASSETS: Sequence[AssetsDefinition] = (*_MADE, usage_of(_MADE))
