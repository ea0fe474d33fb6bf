"""The sections ``imports`` and ``write_back``: imported graphs."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field

from graphrag_dagster.apps.interchange.graph_rows.graph_columns import GraphColumns
from graphrag_dagster.kernel.common.file_discovery import first_match, pattern_below
from graphrag_dagster.kernel.settings.section import (
    Identifier,
    PositiveInt,
    Section,
    ServerSettings,
    ServerUri,
)


class GraphFileColumns(Section):
    """Roles of the columns of a table of relations or entities; all others are kept as attributes."""

    head: str | None = Field(None, description="column with the key of the source entity")
    relation: str | None = Field(None, description="column with the label of the relation")
    tail: str | None = Field(None, description="column with the key of the target entity")
    weight: str | None = Field(None, description="column with the weight of the relation")
    description: str | None = Field(None, description="column with the description")
    key: str | None = Field(None, description="column with the id of the relation or entity")
    title: str | None = Field(None, description="column with the title of an entity")
    type: str | None = Field(None, description="column with the type of an entity")
    text_units: str | None = Field(None, description="column with the keys of text units, a list")


class ImportServer(ServerSettings):
    """A Neo4j server whose graph is imported in addition to files."""

    nodes: str = Field(
        "MATCH (n) RETURN elementId(n) AS key, labels(n) AS labels, properties(n) AS properties ORDER BY key",
        min_length=1,
        description="read-only query with the columns key, labels and properties; without ORDER BY a server "
        "may return the rows in another order each time, and all that is made of them is made anew",
    )
    relations: str = Field(
        "MATCH (a)-[r]->(b) RETURN elementId(r) AS key, elementId(a) AS head, elementId(b) AS tail, "
        "type(r) AS label, properties(r) AS properties ORDER BY key",
        min_length=1,
        description="read-only query with the columns head, tail and label, optionally key and properties; "
        "ordered like nodes",
    )
    most_rows: PositiveInt = Field(
        50_000_000, description="most rows of a query; a server that returns more is assumed never to stop"
    )


class ImportSettings(Section):
    """Importing graphs; for corpora of the kind graph."""

    columns: dict[str, GraphFileColumns] = Field(
        default_factory=dict,
        description="glob pattern (as in `files.ignore`) of tables → their columns; a table without column "
        "names has `column_1`, `column_2`, …; default: by the usual names",
    )
    neo4j: ImportServer = Field(default_factory=ImportServer)
    communities: Literal["kept", "made"] = Field(
        "kept", description="communities of an imported graph: keep them, or detect new ones"
    )
    reports: Literal["kept", "made"] = Field(
        "kept", description="reports of kept communities: keep them, or write new ones"
    )

    def columns_of(self, paths: Iterable[str]) -> dict[str, GraphColumns]:
        """Return the column settings by file path; for each file, the first matching pattern applies."""
        found = ((path, first_match(path, tuple(self.columns))) for path in paths)
        return {path: GraphColumns(**self.columns[by].model_dump()) for path, by in found if by is not None}

    def with_columns_of(self, corpus: str, given: Self) -> Self:
        """Return these settings with the column settings of another corpus, for the files below its name."""
        columns = {pattern_below(corpus, pattern): named for pattern, named in given.columns.items()}
        return self.model_copy(update={"columns": {**self.columns, **columns}})


class WriteBackSettings(ServerSettings):
    """Writing communities and summaries to the nodes of a Neo4j server, with the command write-back."""

    uri: ServerUri | None = Field(
        None,
        description="neo4j: address of the server, such as bolt://localhost:7687; default: server and login "
        "of imports.neo4j",
    )
    prefix: Identifier = Field(
        "graphrag_", description="prefix of the name of every property that is written, to tell it apart"
    )
    level: Annotated[int, Field(ge=0, le=100)] = Field(
        1, description="level k of Ck for the community and summary of a node; the list has all levels"
    )
    summaries: bool = Field(True, description="write the summary of its community's report to each node")
    label: str | None = Field(
        None,
        min_length=1,
        description="label of the nodes; default: any for a graph imported from a server, Entity for an "
        "exported one",
    )
    key: str | None = Field(
        None,
        min_length=1,
        description="property that matches the key of imports.neo4j.nodes; default: the element id; for "
        "exported nodes id",
    )
    batch: Annotated[PositiveInt, Field(le=100_000)] = Field(
        1_000, description="nodes written per transaction"
    )
