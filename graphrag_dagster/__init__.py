"""GraphRAG as an orchestrated data pipeline: documents in, a graph, reports and cited answers out."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["Filters", "GraphRagComponent", "Index", "__version__", "export", "write_back"]


#: Imported lazily, to keep the import of the package light.
_MODULES = {
    "Filters": "graphrag_dagster.kernel.questions.document_filters",
    "GraphRagComponent": "graphrag_dagster.component",
    "Index": "graphrag_dagster.index",
    "export": "graphrag_dagster.apps.interchange.exporting.graph_export",
    "write_back": "graphrag_dagster.apps.interchange.write_back",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    # Dagster looks here for components, and loads everything it finds.
    return sorted({*globals(), "GraphRagComponent"})
