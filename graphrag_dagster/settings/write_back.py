"""The section ``write_back``: what is found of a graph, written onto the nodes of a graph server."""

from typing import Annotated

from pydantic import Field

from graphrag_dagster.settings.graph_server import ServerSettings, ServerUri
from graphrag_dagster.settings.section import PositiveInt

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]


class WriteBackSettings(ServerSettings):
    """Communities and summaries as properties of a Neo4j server's nodes, by the command write-back."""

    uri: ServerUri | None = Field(
        None,
        description="neo4j: address of the server, such as bolt://localhost:7687; default: with all that "
        "says who logs in, that of imports.neo4j",
    )
    prefix: Identifier = Field(
        "graphrag_", description="begins the name of every property that is written, so that it is told apart"
    )
    level: Annotated[int, Field(ge=0, le=100)] = Field(
        1, description="level k of Ck whose community and summary a node has; the list has all levels"
    )
    summaries: bool = Field(True, description="write the summary of its community's report on each node")
    label: str | None = Field(
        None,
        min_length=1,
        description="label of the nodes; default: any of a graph that came from a server, Entity of an "
        "exported one",
    )
    key: str | None = Field(
        None,
        min_length=1,
        description="property that holds what imports.neo4j.nodes gives as key; default: it is the element "
        "id; of exported nodes it is the id",
    )
    batch: Annotated[PositiveInt, Field(le=100_000)] = Field(
        1_000, description="nodes that are written in a transaction"
    )
