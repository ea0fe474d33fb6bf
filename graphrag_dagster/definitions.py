"""The Dagster code location: the pipeline with the file locations and executor of the environment."""

from dagster import Definitions

from graphrag_dagster.component import compose
from graphrag_dagster.kernel.storage.home import PREVIEWS, RESEARCH, is_on
from graphrag_dagster.resources.executors import chosen_executor

defs = Definitions.merge(
    compose(research=is_on(RESEARCH), previews=is_on(PREVIEWS)), Definitions(executor=chosen_executor())
)
