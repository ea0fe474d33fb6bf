"""The Dagster code location: the pipeline with the file locations and executor of the environment."""

from dagster import Definitions

from graphrag_dagster.kernel.pipeline.orchestration.executors import chosen_executor
from graphrag_dagster.orchestration.composition import compose

defs = Definitions.merge(compose(), Definitions(executor=chosen_executor()))
