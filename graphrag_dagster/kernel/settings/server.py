"""Settings of a graph server, such as Neo4j."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from graphrag_dagster.kernel.settings.credentials import CREDENTIAL, VariableName, looks_like_a_key
from graphrag_dagster.kernel.settings.section import Section

_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


def _uri(uri: str) -> str:
    try:
        parts = urlsplit(uri)
        usable = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not uri.isprintable() or " " in uri:
        raise ValueError(
            f"is not an address such as bolt://localhost:7687; start it with one of {', '.join(_SCHEMES)}"
        )
    if "@" in parts.netloc or looks_like_a_key(uri):
        raise PydanticCustomError(
            CREDENTIAL,
            "holds a user, a password or a key; put them into environment variables, and name these in "
            "user_variable and password_variable",
        )
    return uri


#: Address of a graph server, without credentials.
ServerUri = Annotated[str, AfterValidator(_uri)]


class ServerSettings(Section):
    """A graph server and its login."""

    uri: ServerUri | None = Field(
        None, description="neo4j: address of the server, such as bolt://localhost:7687"
    )
    database: str | None = Field(None, description="neo4j: name of the database; default: the server's")
    user_variable: VariableName = Field(
        "NEO4J_USER", description="neo4j: environment variable with the user; if it is not set, no login"
    )
    password_variable: VariableName = Field(
        "NEO4J_PASSWORD", description="neo4j: environment variable with the password"
    )


Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]
