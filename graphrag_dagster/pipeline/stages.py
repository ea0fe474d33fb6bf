"""The stages in order: what each reads, and which tables it makes.

Tables that people ask for are assets, each with what it is shown to be made of. States, accounts and
look-ups are written beside them.
"""

from collections.abc import Mapping, Sequence

from graphrag_dagster import tables as t
from graphrag_dagster.operations.keeping.writing import WRITTEN_FROM
from graphrag_dagster.pipeline.answers import answers
from graphrag_dagster.pipeline.communities import communities
from graphrag_dagster.pipeline.corpus import corpus, imports
from graphrag_dagster.pipeline.coterag import coterag
from graphrag_dagster.pipeline.evaluation import judgements, measures, report, statistics
from graphrag_dagster.pipeline.extraction import extraction
from graphrag_dagster.pipeline.graph import graph, resolution
from graphrag_dagster.pipeline.paths import paths
from graphrag_dagster.pipeline.publishing import published_results, published_snapshot
from graphrag_dagster.pipeline.questions import questions
from graphrag_dagster.pipeline.reports import reports
from graphrag_dagster.pipeline.stage import Stage, by_queries
from graphrag_dagster.pipeline.studies import context_study, extraction_study, window_study
from graphrag_dagster.tables import Table

SNAPSHOT, REPORT, RESULTS = "marts/published_snapshot", "evaluation/report", "marts/published_results"

_INDEX = (
    Stage(
        "imports",
        imports,
        assets=dict.fromkeys(
            (t.IMPORTED_FILES, t.IMPORTED_ENTITIES, t.IMPORTED_RELATIONS, t.IMPORT_ACCOUNT), ()
        ),
        beside=(
            *(t.IMPORTED_DOCUMENTS, t.IMPORTED_TEXT_UNITS, t.IMPORTED_CLAIMS),
            *(t.IMPORTED_COMMUNITIES, t.IMPORTED_REPORTS, t.IMPORT_QUARANTINE),
        ),
    ),
    Stage(
        "corpus",
        corpus,
        reads=(t.IMPORTED_FILES, t.IMPORTED_DOCUMENTS, t.IMPORTED_TEXT_UNITS),
        assets={t.FILES: (t.IMPORTED_FILES,), t.DOCUMENTS: (t.FILES,), t.TEXT_CHUNKS: (t.DOCUMENTS,)},
        beside=(t.DOCUMENT_METADATA, t.DOCUMENT_PERIODS),
    ),
    Stage(
        "extraction",
        extraction,
        reads=(t.TEXT_CHUNKS,),
        assets={
            t.GLEANED_ENTITIES: (t.TEXT_CHUNKS,),
            t.GLEANED_RELATIONSHIPS: (t.TEXT_CHUNKS,),
            t.CLAIMS: (t.TEXT_CHUNKS,),
            t.UNIT_LEDGER: (t.TEXT_CHUNKS,),
            t.TEXT_UNIT_EMBEDDINGS: (t.TEXT_CHUNKS,),
        },
        beside=(t.QUARANTINE, t.TYPINGS, t.EXTRACTION_STATE),
    ),
    Stage(
        "resolution",
        resolution,
        reads=(t.GLEANED_ENTITIES, t.TEXT_CHUNKS, t.DOCUMENTS),
        assets={t.DECISIONS: (t.GLEANED_ENTITIES,), t.ALIASES: (t.DECISIONS,)},
        beside=(t.CANDIDATES, t.RESOLUTION_STATE),
    ),
    Stage(
        "graph",
        graph,
        reads=(t.ENTITY_GROUPS, t.RELATIONSHIP_GROUPS, t.CLAIM_GROUPS),
        assets={
            t.ENTITIES: (t.GLEANED_ENTITIES, t.ALIASES, t.IMPORTED_ENTITIES),
            t.RELATIONSHIPS: (t.GLEANED_RELATIONSHIPS, t.ENTITIES, t.IMPORTED_RELATIONS),
            t.MERGED_CLAIMS: (t.CLAIMS, t.ALIASES),
        },
        beside=(t.ENTITY_GROUPS, t.RELATIONSHIP_GROUPS, t.CLAIM_GROUPS, t.TRIPLES),
    ),
    Stage(
        "communities",
        communities,
        reads=(t.ENTITIES, t.RELATIONSHIPS),
        assets={
            t.COMMUNITIES: (t.ENTITIES, t.RELATIONSHIPS),
            t.COMMUNITY_MEMBERS: (t.COMMUNITIES,),
            t.COMMUNITY_LEVELS: (t.COMMUNITY_MEMBERS,),
            t.LAYOUT: (t.COMMUNITY_MEMBERS,),
        },
        beside=(t.CLUSTERING_STATE, t.COLD_START_EDGES, t.LAYOUT_STATE),
    ),
    Stage(
        "reports",
        reports,
        reads=(*(one for one in WRITTEN_FROM if one != t.CONTEXT_NODES), t.COMMUNITY_LEVELS),
        assets={
            t.ENTITY_EMBEDDINGS: (t.ENTITIES,),
            t.CONTEXT_NODES: (t.COMMUNITY_LEVELS, t.ENTITY_EMBEDDINGS),
            t.COMMUNITY_REPORTS: (t.COMMUNITY_LEVELS, t.MERGED_CLAIMS, t.CONTEXT_NODES),
            t.REPORT_FINDINGS: (t.COMMUNITY_REPORTS,),
            t.REPORT_EMBEDDINGS: (t.COMMUNITY_REPORTS,),
        },
        beside=(
            *(t.CONTEXT_CANDIDATES, t.CONTEXT_ACCOUNT, t.CONTEXT_VECTORS, t.WRITTEN_REPORTS),
            *(t.REPORT_REFERENCES, t.REPORT_CONTEXTS, t.REPORT_CONTEXT_ROWS),
        ),
    ),
    Stage(
        "coterag",
        coterag,
        reads=(t.ENTITIES, t.TRIPLES, t.COMMUNITY_LEVELS, t.TEXT_CHUNKS, t.TEXT_UNIT_EMBEDDINGS),
        assets={
            t.COTERAG_COMMUNITIES: (t.COMMUNITY_LEVELS, t.TEXT_UNIT_EMBEDDINGS),
            t.COTERAG_SUMMARIES: (t.COTERAG_COMMUNITIES,),
        },
        beside=(
            *(t.COTERAG_STORES, t.COTERAG_MEMBERS, t.COTERAG_DESCRIPTIONS, t.COTERAG_DESCRIPTION_VECTORS),
            *(t.COTERAG_QUOTES, t.COTERAG_TERMS, t.COTERAG_SUMMARY_VECTORS, t.COTERAG_THRESHOLDS),
        ),
    ),
    Stage(
        "marts",
        by_queries,
        assets={
            t.CORPUS_SUMMARY: (t.UNIT_LEDGER, t.IMPORT_ACCOUNT, t.COMMUNITY_REPORTS, t.LAYOUT),
            t.CONTEXT_SIZES: (t.COMMUNITY_REPORTS,),
        },
    ),
    Stage(
        "published_snapshot",
        published_snapshot,
        artifact=SNAPSHOT,
        made_of=(
            t.CORPUS_SUMMARY,
            t.CONTEXT_SIZES,
            t.REPORT_FINDINGS,
            t.REPORT_EMBEDDINGS,
            t.COTERAG_SUMMARIES,
        ),
        beside=(t.MODEL_USAGE, t.RUN_USAGE),
        group="marts",
    ),
)

_ON_REQUEST = (
    Stage(
        "questions",
        questions,
        reads=(t.TEXT_CHUNKS, t.ENTITIES, t.DOCUMENTS),
        assets={
            t.PERSONA_QUESTIONS: (t.TEXT_CHUNKS, t.ENTITIES),
            t.TESTSET_QUESTIONS: (t.DOCUMENTS,),
            t.QUESTIONS: (t.PERSONA_QUESTIONS, t.TESTSET_QUESTIONS),
        },
        beside=(t.CORPUS_DESCRIPTIONS, t.PERSONAS, t.PERSONA_TASKS, t.TESTSET_DOCUMENTS),
    ),
    Stage(
        "answers",
        answers,
        reads=(t.QUESTIONS,),
        assets={t.ANSWERS: (t.QUESTIONS, SNAPSHOT), t.ANSWER_CITATIONS: (t.ANSWERS,)},
        beside=(t.ANSWER_COSTS, t.ANSWER_CONTEXTS, t.ANSWER_STATEMENTS),
    ),
    Stage(
        "judgements",
        judgements,
        reads=(t.ANSWERS,),
        assets={
            t.JUDGEMENTS: (t.ANSWERS,),
            t.THEMES: (t.JUDGEMENTS,),
            t.WIN_RATES: (t.JUDGEMENTS,),
        },
        beside=(t.THEME_REASONS, t.COMPARISONS),
        group="evaluation",
    ),
    Stage(
        "measures",
        measures,
        reads=(t.ANSWERS, t.ANSWER_CONTEXTS, t.QUESTIONS),
        assets={
            t.ANSWER_CLAIMS: (t.ANSWERS,),
            t.QUALITY_SCORES: (t.ANSWERS,),
            t.ANSWER_MEASURES: (t.ANSWER_CLAIMS, t.QUALITY_SCORES),
        },
        beside=(t.ANSWER_SENTENCES, t.DIVERSITY_CLUSTERS, t.QUALITY_VERDICTS, t.CONDITION_COSTS),
        group="evaluation",
    ),
    Stage(
        "statistics",
        statistics,
        reads=(t.JUDGEMENTS, t.COMPARISONS, t.ANSWER_MEASURES),
        assets={
            t.CONDITION_MEANS: (t.WIN_RATES, t.ANSWER_MEASURES),
            t.SIGNIFICANCE: (t.WIN_RATES, t.ANSWER_MEASURES),
            t.VERDICTS: (t.SIGNIFICANCE,),
        },
        beside=(t.POSITION_BIAS, t.ALIGNMENT),
        group="evaluation",
    ),
    Stage(
        "extraction_study",
        extraction_study,
        reads=(t.DOCUMENTS, t.TEXT_CHUNKS),
        assets={t.EXTRACTION_COUNTS: (t.TEXT_CHUNKS,)},
        group="studies",
    ),
    Stage(
        "context_study",
        context_study,
        reads=(t.ENTITIES, t.RELATIONSHIPS, t.COMMUNITY_LEVELS, t.ENTITY_EMBEDDINGS),
        assets={t.CONTEXT_METRICS: (t.COMMUNITY_LEVELS, t.ENTITY_EMBEDDINGS)},
        group="studies",
    ),
    Stage(
        "window_study",
        window_study,
        reads=(t.QUESTIONS,),
        assets={t.WINDOW_ANSWERS: (t.QUESTIONS, SNAPSHOT), t.WINDOW_WIN_RATES: (t.WINDOW_ANSWERS,)},
        beside=(t.WINDOW_JUDGEMENTS,),
        group="studies",
    ),
    Stage(
        "path_study",
        paths,
        group="paths",
        assets={
            t.PATH_QUESTIONS: (SNAPSHOT,),
            t.PATH_ANSWERS: (t.PATH_QUESTIONS,),
            t.PATH_SUMMARY: (t.PATH_ANSWERS,),
        },
        beside=(
            *(t.RECALL_WINDOWS, t.PATH_SUBGRAPHS, t.PATHS_FOUND, t.PATH_COSTS),
            *(t.PATH_SCORES, t.PATH_JUDGEMENTS),
        ),
    ),
    Stage(
        "evaluation_report",
        report,
        artifact=REPORT,
        made_of=(t.CONDITION_MEANS, t.VERDICTS, t.THEMES),
        group="evaluation",
    ),
    Stage(
        "published_results",
        published_results,
        artifact=RESULTS,
        made_of=(
            *(SNAPSHOT, REPORT, t.ANSWER_CITATIONS, t.EXTRACTION_COUNTS, t.CONTEXT_METRICS),
            *(t.WINDOW_WIN_RATES, t.PATH_SUMMARY),
        ),
        beside=(t.MODEL_USAGE, t.RUN_USAGE),
        group="results",
    ),
)

#: Those of the index, then those with jobs of their own.
STAGES: Sequence[Stage] = (*_INDEX, *_ON_REQUEST)
INDEX_STAGES: Sequence[Stage] = _INDEX


def stage_of(table: Table) -> Stage:
    """Return the stage that makes a table."""
    return next(stage for stage in STAGES if table in stage.makes)


def groups() -> Mapping[str, str]:
    """Return the name of the group of each stage; numbered, since Dagster sorts groups by their names."""
    names = dict.fromkeys(stage.group or stage.name for stage in STAGES)
    numbered = {name: f"{number:02}_{name}" for number, name in enumerate(names, start=1)}
    return {stage.name: numbered[stage.group or stage.name] for stage in STAGES}
