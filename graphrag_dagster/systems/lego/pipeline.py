"""The step of LEGO-GraphRAG: questions with gold answers."""

from graphrag_dagster.kernel.pipeline.step import Step
from graphrag_dagster.kernel.pipeline.steps import SNAPSHOT
from graphrag_dagster.systems.lego.studies.step import paths
from graphrag_dagster.systems.lego.studies.tables import (
    PATH_JUDGEMENTS,
    PATH_SCORES,
    PATH_SUMMARY,
    RECALL_WINDOWS,
)
from graphrag_dagster.systems.lego.tables import (
    PATH_ANSWERS,
    PATH_COSTS,
    PATH_QUESTIONS,
    PATH_SUBGRAPHS,
    PATHS_FOUND,
)

STEPS = (
    Step(
        "path_study",
        paths,
        group="paths",
        assets={
            PATH_QUESTIONS: (SNAPSHOT,),
            PATH_ANSWERS: (PATH_QUESTIONS,),
            PATH_SUMMARY: (PATH_ANSWERS,),
        },
        beside=(
            *(RECALL_WINDOWS, PATH_SUBGRAPHS, PATHS_FOUND, PATH_COSTS),
            *(PATH_SCORES, PATH_JUDGEMENTS),
        ),
        requested=True,
    ),
)
