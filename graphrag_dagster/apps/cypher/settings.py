"""The section ``cypher``: where the graph is that is asked, and within which limits."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from graphrag_dagster.kernel.questions.context.queries import MOST_ROWS
from graphrag_dagster.kernel.settings.server import ServerSettings


class CypherSettings(ServerSettings):
    """Queries in Cypher over the graph."""

    backend: Literal["embedded", "neo4j"] = Field(
        "embedded",
        description="where the graph is: a database made of the published snapshot (extra graph-db), or a "
        "Neo4j server (extra neo4j), whose graph is taken as it is",
    )
    queries: Literal["templates", "model"] = Field(
        "templates",
        description="who makes the query of a question in plain words: templates, or a model first, for "
        "which the engine of search must be one",
    )
    seconds: Annotated[float, Field(ge=0.5, le=600)] = Field(
        5.0, description="a query is stopped after so long"
    )
    megabytes: Annotated[int, Field(ge=100, le=100_000)] = Field(
        500, description="embedded: a query that needs more memory is stopped"
    )
    most_rows: Annotated[int, Field(ge=1, le=10_000)] = Field(
        MOST_ROWS, description="most rows of a query; a LIMIT that is missing or larger becomes this one"
    )

    @model_validator(mode="after")
    def _a_server_has_an_address(self) -> "CypherSettings":
        if self.backend == "neo4j" and self.uri is None:
            raise ValueError(
                "backend is neo4j: give the address of the server in uri, such as bolt://localhost:7687"
            )
        return self
