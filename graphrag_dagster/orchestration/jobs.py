"""What can be run as a whole."""

from dagster import AssetSelection, define_asset_job

from graphrag_dagster.catalogue.registry import requested_with, stages_made
from graphrag_dagster.orchestration.conditions import ON_REQUEST, WITH_ALL_BELOW
from graphrag_dagster.orchestration.partitions import CORPUS

_PUBLISHED = AssetSelection.keys(["marts", "published_snapshot"])
_RESULTS = AssetSelection.keys(["marts", "published_results"])
_WITH_EVERY_RUN = AssetSelection.groups(*stages_made("run"))


def _requested(stage: str) -> AssetSelection:
    return AssetSelection.groups(*requested_with(stage)) | _WITH_EVERY_RUN | _RESULTS


INDEX = define_asset_job(
    "index",
    selection=AssetSelection.all() - AssetSelection.groups(*ON_REQUEST) - _RESULTS,
    tags=WITH_ALL_BELOW,
    partitions_def=CORPUS,
    description="From the corpus folder to graph, communities, reports and embeddings",
)
EMBED = define_asset_job(
    "embed",
    selection=AssetSelection.groups("embeddings") | _PUBLISHED,
    tags=WITH_ALL_BELOW,
    partitions_def=CORPUS,
    description="Embed text units, entities and reports again, for instance after a change of embedder",
)
ANSWER = define_asset_job(
    "answer",
    selection=_requested("answers"),
    partitions_def=CORPUS,
    description="Answer the corpus's questions in the chosen ways; what is still good is kept",
)
EVALUATE = define_asset_job(
    "evaluate",
    selection=_requested("evaluation"),
    partitions_def=CORPUS,
    description="Whether the graph helps on this corpus: questions, answers in the chosen ways, judgements, "
    "claims, statistics, report",
)
STUDY_EXTRACTION = define_asset_job(
    "study_extraction",
    selection=AssetSelection.keys(["studies", "extraction_counts"]) | _WITH_EVERY_RUN | _RESULTS,
    partitions_def=CORPUS,
    description="Entity records by chunk size and number of gleanings",
)
STUDY_WINDOWS = define_asset_job(
    "study_windows",
    selection=_requested("questions")
    | AssetSelection.keys(
        ["studies", "window_answers"], ["studies", "window_judgements"], ["studies", "window_win_rates"]
    ),
    partitions_def=CORPUS,
    description="Plain retrieval with context windows of different sizes, compared",
)
JOBS = [INDEX, EMBED, ANSWER, EVALUATE, STUDY_EXTRACTION, STUDY_WINDOWS]
