"""GraphRAG as an orchestrated data pipeline: documents in, a graph, reports and cited answers out."""

__version__ = "0.1.0"
