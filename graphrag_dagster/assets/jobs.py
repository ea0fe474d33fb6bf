"""What can be run as a whole."""

from collections.abc import Iterable, Sequence
from typing import Any

from dagster import AssetSelection, ExecutorDefinition, define_asset_job

from graphrag_dagster.catalogue.registry import requested_with
from graphrag_dagster.orchestration.conditions import WITH_ALL_BELOW
from graphrag_dagster.pipeline.stage import Stage
from graphrag_dagster.pipeline.stages import INDEX_STAGES, RESULTS, STAGES

#: The job that automation requests.
INDEX = "index"
#: Further jobs, by the stage of the catalogue that each makes with all that it reads.
_REQUESTED = {
    "answer": ("answers", "Answer the corpus's questions in the chosen ways; what is still good is kept"),
    "evaluate": (
        "evaluation",
        "Whether the graph helps on this corpus: questions, answers in the chosen ways, judgements, claims, "
        "statistics, report",
    ),
    "paths": (
        "paths",
        "Paths of the graph that answer the corpus's questions with gold answers, measured",
    ),
}
#: And by the stages of the pipeline that each makes.
_STUDIES = {
    "study_extraction": (("extraction_study",), "Entity records by chunk size and number of gleanings"),
    "study_context": (("context_study",), "What context nodes are worth beside random ones"),
    "study_windows": (
        ("questions", "window_study"),
        "Plain retrieval with context windows of different sizes, compared",
    ),
}


def of_the_index() -> AssetSelection:
    """What is made of a corpus without being asked for by itself."""
    return _made_by(INDEX_STAGES)


def jobs(executor: ExecutorDefinition | None = None) -> Sequence[Any]:
    """All jobs, each over our assets of one corpus.

    Args:
        executor: carries them out; default: that of the definitions they become part of.
    """

    def job(name: str, selection: AssetSelection, description: str, **tags: str) -> Any:
        return define_asset_job(
            name, selection=selection, tags=tags, description=description, executor_def=executor
        )

    results = AssetSelection.assets(RESULTS.split("/"))
    made = [
        job(
            INDEX,
            of_the_index(),
            "From the corpus folder to graph, communities, reports and embeddings",
            **WITH_ALL_BELOW,
        ),
        job(
            "embed",
            of_the_index(),
            "Embed text units, entities and reports again, as after a change of embedder; what else still "
            "holds is taken over",
            **WITH_ALL_BELOW,
        ),
    ]
    for name, (part, description) in _REQUESTED.items():
        wanted = set(requested_with(part))
        stages = [stage for stage in STAGES if not wanted.isdisjoint(_parts(stage))]
        made.append(job(name, _made_by(stages) | results, description))
    for name, (names, description) in _STUDIES.items():
        made.append(job(name, _made_by(one for one in STAGES if one.name in names) | results, description))
    return made


def _parts(stage: Stage) -> Sequence[str]:
    """The stages of the catalogue whose tables, or page, a stage makes."""
    return stage.parts if stage.assets else [stage.artifact.split("/")[0]]


def _made_by(stages: Iterable[Stage]) -> AssetSelection:
    # By their keys: a project may have other assets, also in groups of the same names.
    chosen = list(stages)
    keys = [table.asset_key for stage in chosen for table in stage.assets]
    keys += [stage.artifact.split("/") for stage in chosen if stage.artifact]
    return AssetSelection.assets(*keys)
