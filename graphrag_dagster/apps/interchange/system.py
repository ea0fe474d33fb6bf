"""What the exchange of graphs declares of itself."""

from types import MappingProxyType

from graphrag_dagster.kernel.catalogue.system import Stage, System

_STAGES = (Stage("imports", version=2, sections=("imports",), kinds=("graph",)),)

SYSTEM = System(
    "interchange",
    "graphrag_dagster.apps.interchange",
    builds_on=("graphrag",),
    sections=MappingProxyType(
        {
            "imports": "graphrag_dagster.apps.interchange.settings:ImportSettings",
            "write_back": "graphrag_dagster.apps.interchange.settings:WriteBackSettings",
        }
    ),
    tables=("graphrag_dagster.apps.interchange.tables:TABLES",),
    stages=_STAGES,
    pipeline="graphrag_dagster.apps.interchange.pipeline:STEPS",
)
