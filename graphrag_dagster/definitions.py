"""The code location: gathers assets, checks, jobs, sensors and resources. No logic."""

from dagster import Definitions

from graphrag_dagster.assets import ASSETS
from graphrag_dagster.assets.checks import CHECKS
from graphrag_dagster.automation import SCHEDULES, SENSORS
from graphrag_dagster.operations.evaluating.scope import EvaluationScope
from graphrag_dagster.orchestration.executors import chosen_executor
from graphrag_dagster.orchestration.jobs import JOBS
from graphrag_dagster.resources.clustering import ClusteringStart
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.io_manager import WarehouseIOManager
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.warehouse import Warehouse

_warehouse = Warehouse()

defs = Definitions(
    assets=ASSETS,
    asset_checks=CHECKS,
    jobs=JOBS,
    schedules=SCHEDULES,
    sensors=SENSORS,
    resources={
        "corpora": CorpusStore(),
        "warehouse": _warehouse,
        "io_manager": WarehouseIOManager(warehouse=_warehouse),
        "clustering": ClusteringStart.configure_at_launch(),
        "scope": EvaluationScope.configure_at_launch(),
        "language": Language.configure_at_launch(),
    },
    executor=chosen_executor(),
)
