"""The section ``cypher``: the graph backend of Cypher queries, and their limits."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from graphrag_dagster.kernel.questions.context.index_snapshot import MOST_ROWS
from graphrag_dagster.kernel.settings.section import ServerSettings


class CypherSettings(ServerSettings):
    """Cypher queries over the graph."""

    backend: Literal["embedded", "neo4j"] = Field(
        "embedded",
        description="graph to query: a database made from the published snapshot (extra graph-db), or the "
        "graph of a Neo4j server (extra neo4j), used as it is",
    )
    queries: Literal["templates", "model"] = Field(
        "templates",
        description="source of the query for a question in plain words: templates, or a model first, which "
        "requires an engine of search with a model",
    )
    seconds: Annotated[float, Field(ge=0.5, le=600)] = Field(
        5.0, description="time limit of a query, in seconds"
    )
    megabytes: Annotated[int, Field(ge=100, le=100_000)] = Field(
        500, description="embedded: memory limit of a query"
    )
    most_rows: Annotated[int, Field(ge=1, le=10_000)] = Field(
        MOST_ROWS, description="most rows of a query; a missing or larger LIMIT becomes this one"
    )

    @model_validator(mode="after")
    def _check_address(self) -> "CypherSettings":
        if self.backend == "neo4j" and self.uri is None:
            raise ValueError(
                "backend is neo4j: set uri to the address of the server, such as bolt://localhost:7687"
            )
        return self
