"""What can be run as a whole."""

from collections.abc import Iterable, Sequence
from typing import Any

from dagster import AssetsDefinition, AssetSelection, ExecutorDefinition, define_asset_job

from graphrag_dagster.catalogue.registry import requested_with, stages_made
from graphrag_dagster.orchestration.conditions import ON_REQUEST, WITH_ALL_BELOW

#: The job that automation requests.
INDEX = "index"
_PUBLISHED = AssetSelection.assets(["marts", "published_snapshot"])
_RESULTS = AssetSelection.assets(["marts", "published_results"])


def jobs(assets: Sequence[AssetsDefinition], executor: ExecutorDefinition | None = None) -> Sequence[Any]:
    """All jobs, each over our assets of one corpus.

    Args:
        assets: all of ours, in the groups of their tables.
        executor: carries them out; default: that of the definitions they become part of.
    """
    with_every_run = _in_groups(assets, stages_made("run"))

    def requested(stage: str) -> AssetSelection:
        return _in_groups(assets, requested_with(stage)) | with_every_run | _RESULTS

    return (
        define_asset_job(
            INDEX,
            selection=of_the_index(assets) - _RESULTS,
            tags=WITH_ALL_BELOW,
            description="From the corpus folder to graph, communities, reports and embeddings",
            executor_def=executor,
        ),
        define_asset_job(
            "embed",
            selection=_in_groups(assets, ["entity_embeddings", "context", "embeddings"]) | _PUBLISHED,
            tags=WITH_ALL_BELOW,
            description="Embed text units, entities and reports again, as after a change of embedder",
            executor_def=executor,
        ),
        define_asset_job(
            "answer",
            selection=requested("answers"),
            description="Answer the corpus's questions in the chosen ways; what is still good is kept",
            executor_def=executor,
        ),
        define_asset_job(
            "evaluate",
            selection=requested("evaluation"),
            description="Whether the graph helps on this corpus: questions, answers in the chosen ways, "
            "judgements, claims, statistics, report",
            executor_def=executor,
        ),
        define_asset_job(
            "study_extraction",
            selection=AssetSelection.assets(["studies", "extraction_counts"]) | with_every_run | _RESULTS,
            description="Entity records by chunk size and number of gleanings",
            executor_def=executor,
        ),
        define_asset_job(
            "study_context",
            selection=AssetSelection.assets(["studies", "context_metrics"]) | with_every_run | _RESULTS,
            description="What context nodes are worth beside random ones",
            executor_def=executor,
        ),
        define_asset_job(
            "paths",
            selection=requested("paths"),
            description="Paths of the graph that answer the corpus's questions with gold answers, measured",
            executor_def=executor,
        ),
        define_asset_job(
            "study_windows",
            selection=requested("questions")
            | AssetSelection.assets(
                ["studies", "window_answers"],
                ["studies", "window_judgements"],
                ["studies", "window_win_rates"],
            ),
            description="Plain retrieval with context windows of different sizes, compared",
            executor_def=executor,
        ),
    )


def of_the_index(assets: Iterable[AssetsDefinition]) -> AssetSelection:
    """What is made of a corpus without being asked for by itself."""
    groups = {spec.group_name for made in assets for spec in made.specs if spec.group_name}
    return _in_groups(assets, groups - set(ON_REQUEST))


def _in_groups(assets: Iterable[AssetsDefinition], groups: Iterable[str]) -> AssetSelection:
    # By their keys: a project may have other assets, also in groups of the same names.
    wanted = set(groups)
    specs = (spec for made in assets for spec in made.specs)
    return AssetSelection.assets(*(spec.key for spec in specs if spec.group_name in wanted))
