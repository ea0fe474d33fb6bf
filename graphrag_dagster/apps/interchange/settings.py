"""The sections ``imports`` and ``write_back``: graphs from elsewhere."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field

from graphrag_dagster.apps.interchange.readers.tabular.columns import GraphColumns
from graphrag_dagster.kernel.documents.files.discovery import below, first_match
from graphrag_dagster.kernel.settings.section import PositiveInt, Section
from graphrag_dagster.kernel.settings.server import Identifier, ServerSettings, ServerUri


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

    def with_columns_of(self, corpus: str, given: Self) -> Self:
        """Return these settings with the columns of another corpus, for the files below its name."""
        columns = {below(corpus, pattern): named for pattern, named in given.columns.items()}
        return self.model_copy(update={"columns": {**self.columns, **columns}})


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
