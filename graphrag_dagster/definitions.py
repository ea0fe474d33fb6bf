"""The code location: the pipeline alone, in the places and with the executor that the environment says."""

from dagster import Definitions

from graphrag_dagster.kernel.pipeline.orchestration.executors import chosen_executor
from graphrag_dagster.orchestration.composition import compose

defs = Definitions.merge(compose(), Definitions(executor=chosen_executor()))
