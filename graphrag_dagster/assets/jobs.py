"""What can be run as a whole."""

from collections.abc import Iterable, Sequence
from typing import Any

from dagster import AssetSelection, ExecutorDefinition, define_asset_job

from graphrag_dagster.kernel.catalogue.registry import requested_with, stages, systems
from graphrag_dagster.kernel.pipeline.orchestration.conditions import WITH_ALL_BELOW
from graphrag_dagster.kernel.pipeline.step import Step
from graphrag_dagster.kernel.pipeline.steps import INDEX_STEPS, RESULTS, STEPS

#: The job that automation requests.
INDEX = "index"


def of_the_index() -> AssetSelection:
    """What is made of a corpus without being asked for by itself."""
    return _made_by(INDEX_STEPS)


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
    for one in (one for system in systems().values() for one in system.jobs):
        whole = [name for name in one.makes if name in stages()]
        wanted = {name for part in whole for name in requested_with(part)}
        chosen = [
            step
            for step in STEPS
            if (step.requested and not wanted.isdisjoint(_parts(step))) or step.name in {*one.makes} - wanted
        ]
        made.append(job(one.name, _made_by(chosen) | results, one.description))
    return made


def _parts(step: Step) -> Sequence[str]:
    """The stages of the catalogue whose tables, or page, a step makes."""
    return step.parts if step.assets else [step.artifact.split("/")[0]]


def _made_by(steps: Iterable[Step]) -> AssetSelection:
    # By their keys: a project may have other assets, also in groups of the same names.
    chosen = list(steps)
    keys = [table.asset_key for step in chosen for table in step.assets]
    keys += [step.artifact.split("/") for step in chosen if step.artifact]
    return AssetSelection.assets(*keys)
