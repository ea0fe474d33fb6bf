"""The embedded property graph of a published snapshot (extra ``graph-db``)."""

from graphrag_dagster.apps.cypher.storage.making import graph_of

__all__ = ["graph_of"]
