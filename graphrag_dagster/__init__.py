"""GraphRAG as an orchestrated data pipeline: documents in, a graph, reports and cited answers out."""

from typing import Any

__version__ = "0.1.0"
__all__ = ["Filters", "GraphRagComponent", "Index", "__version__", "export", "write_back"]


def __getattr__(name: str) -> Any:
    # Imported lazily, to keep the import of the package light.
    if name == "Index":
        from graphrag_dagster.index import Index

        return Index
    if name == "export":
        from graphrag_dagster.apps.interchange.exporting.graph_export import export

        return export
    if name == "write_back":
        from graphrag_dagster.apps.interchange.write_back import write_back

        return write_back
    if name == "Filters":
        from graphrag_dagster.kernel.questions.document_filters import Filters

        return Filters
    if name == "GraphRagComponent":
        from graphrag_dagster.component import GraphRagComponent

        return GraphRagComponent
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    # Dagster looks here for components, and loads everything it finds.
    return sorted({*globals(), "GraphRagComponent"})
