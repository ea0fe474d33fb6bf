"""The section ``cypher``: queries over the graph, and where it is."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from graphrag_dagster.core.search.context.queries import MOST_ROWS
from graphrag_dagster.settings.credentials import CREDENTIAL, VariableName, looks_like_a_key
from graphrag_dagster.settings.section import Section

_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


def _uri(uri: str) -> str:
    try:
        parts = urlsplit(uri)
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not uri.isprintable() or " " in uri:
        raise ValueError(
            f"is no address such as bolt://localhost:7687; it begins with one of {', '.join(_SCHEMES)}"
        )
    if "@" in parts.netloc or looks_like_a_key(uri):
        raise PydanticCustomError(
            CREDENTIAL,
            "holds a user, a password or a key; put them into environment variables, and the names of these "
            "into cypher.user_variable and cypher.password_variable",
        )
    return uri


class CypherSettings(Section):
    """Queries in Cypher over the graph."""

    backend: Literal["embedded", "neo4j"] = Field(
        "embedded",
        description="where the graph is: a database made of the published snapshot (extra graph-db), or a "
        "Neo4j server (extra neo4j), whose graph is taken as it is",
    )
    uri: Annotated[str, AfterValidator(_uri)] | None = Field(
        None, description="neo4j: address of the server, such as bolt://localhost:7687"
    )
    database: str | None = Field(None, description="neo4j: name of the database; default: the server's")
    user_variable: VariableName = Field(
        "NEO4J_USER", description="neo4j: environment variable with the user; without it, nobody logs in"
    )
    password_variable: VariableName = Field(
        "NEO4J_PASSWORD", description="neo4j: environment variable with the password"
    )
    queries: Literal["templates", "model"] = Field(
        "templates",
        description="who makes the query of a question in plain words: templates, or a model first, for "
        "which the engine of search must be one",
    )
    seconds: Annotated[float, Field(ge=0.5, le=600)] = Field(
        5, description="a query is stopped after so long"
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
