"""The sections ``imports``, ``cypher`` and ``write_back``: graphs from elsewhere, and graph servers."""

from collections.abc import Iterable
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from graphrag_dagster.core.corpus.graphs.columns import GraphColumns
from graphrag_dagster.core.files.discovery import first_match
from graphrag_dagster.core.search.context.queries import MOST_ROWS
from graphrag_dagster.settings.credentials import CREDENTIAL, VariableName, looks_like_a_key
from graphrag_dagster.settings.section import PositiveInt, Section

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
            "into user_variable and password_variable",
        )
    return uri


#: Address of a graph server, without credentials.
ServerUri = Annotated[str, AfterValidator(_uri)]


class ServerSettings(Section):
    """A graph server, and who logs in there."""

    uri: ServerUri | None = Field(
        None, description="neo4j: address of the server, such as bolt://localhost:7687"
    )
    database: str | None = Field(None, description="neo4j: name of the database; default: the server's")
    user_variable: VariableName = Field(
        "NEO4J_USER", description="neo4j: environment variable with the user; without it, nobody logs in"
    )
    password_variable: VariableName = Field(
        "NEO4J_PASSWORD", description="neo4j: environment variable with the password"
    )


class GraphFileColumns(Section):
    """Which columns of a table of relations or entities mean what; all others are kept as attributes."""

    head: str | None = Field(None, description="column with the key of the entity that a relation begins at")
    relation: str | None = Field(None, description="column with the label of the relation")
    tail: str | None = Field(None, description="column with the key of the entity that a relation leads to")
    weight: str | None = Field(None, description="column with the weight of the relation")
    description: str | None = Field(None, description="column with the description")
    key: str | None = Field(None, description="column with the id of the relation or entity")
    title: str | None = Field(None, description="column with the title of an entity")
    type: str | None = Field(None, description="column with the type of an entity")
    text_units: str | None = Field(None, description="column with the keys of text units, a list")


class ImportServer(ServerSettings):
    """A Neo4j server whose graph is taken in, beside files."""

    nodes: str = Field(
        "MATCH (n) RETURN elementId(n) AS key, labels(n) AS labels, properties(n) AS properties",
        min_length=1,
        description="query that only reads, with the columns key, labels and properties",
    )
    relations: str = Field(
        "MATCH (a)-[r]->(b) RETURN elementId(r) AS key, elementId(a) AS head, elementId(b) AS tail, "
        "type(r) AS label, properties(r) AS properties",
        min_length=1,
        description="query that only reads, with the columns head, tail and label, and, if there are any, "
        "key and properties",
    )
    most_rows: PositiveInt = Field(
        50_000_000, description="a server that gives more rows to a query is taken to give them for ever"
    )


class ImportSettings(Section):
    """Taking graphs in that come from elsewhere; for corpora of the kind graph."""

    columns: dict[str, GraphFileColumns] = Field(
        default_factory=dict,
        description="glob pattern, as in `files.ignore`, of tables → their columns; a table without column "
        "names has `column_1`, `column_2`, …; default: by their usual names",
    )
    neo4j: ImportServer = Field(default_factory=ImportServer)
    communities: Literal["kept", "made"] = Field(
        "kept", description="communities that come with the graph: kept as they are, or found anew"
    )
    reports: Literal["kept", "made"] = Field(
        "kept", description="reports that come with kept communities: kept as they are, or written anew"
    )

    def columns_of(self, paths: Iterable[str]) -> dict[str, GraphColumns]:
        """Return what is set for the columns of files, by path; for each the first pattern that fits."""
        found = ((path, first_match(path, tuple(self.columns))) for path in paths)
        return {path: GraphColumns(**self.columns[by].model_dump()) for path, by in found if by is not None}


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
