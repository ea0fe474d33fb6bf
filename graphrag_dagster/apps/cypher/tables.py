"""The property graph that Cypher queries run over: its node and relation tables, made from a snapshot's.

What a label is called is data: a relation may be ``$``, ``->`` or a word in any script, none of which can
name a table. So all relations between entities are of one table, with the label as a property.
"""

from collections.abc import Iterator
from dataclasses import dataclass

#: Raised with every change of what follows, so that older graphs are rebuilt.
FORMAT = 1

_TYPES = {
    "VARCHAR": "STRING",
    "VARCHAR[]": "STRING[]",
    "BIGINT": "INT64",
    "DOUBLE": "DOUBLE",
    "BOOLEAN": "BOOL",
}


@dataclass(frozen=True)
class GraphProperty:
    """A property of nodes or relations: its DuckDB type and its meaning."""

    name: str
    type: str
    meaning: str

    @property
    def engine_type(self) -> str:
        """Its type in a property graph."""
        return _TYPES[self.type]

    @property
    def declared(self) -> str:
        """Its declaration in a property graph."""
        return f"{self.name} {self.engine_type}"


@dataclass(frozen=True)
class GraphTable:
    """Nodes of a label, or relations of a type.

    Attributes:
        name: the label, or the type.
        meaning: what a node or a relation is, in one line.
        properties: the first property of a node is its key.
        rows: select over the tables of a snapshot, with the keys of both ends before the properties.
        needs: the tables that it reads, as ``schema.table``; without them the table has no rows.
        ends: labels of the nodes that a relation leads from and to; none for nodes.
    """

    name: str
    meaning: str
    properties: tuple[GraphProperty, ...]
    rows: str
    needs: tuple[str, ...]
    ends: tuple[str, str] | None = None

    @property
    def statement(self) -> str:
        """The statement of Cypher that declares it."""
        declared = [one.declared for one in self.properties]
        if self.ends is None:
            return f"CREATE NODE TABLE {self.name}({', '.join(declared)}, PRIMARY KEY({self.properties[0].name}))"
        return f"CREATE REL TABLE {self.name}({', '.join([f'FROM {self.ends[0]} TO {self.ends[1]}', *declared])})"

    @property
    def pattern(self) -> str:
        """Its pattern in a query."""
        if self.ends is None:
            return f"(:{self.name})"
        return f"(:{self.ends[0]})-[:{self.name}]->(:{self.ends[1]})"


ENTITY = GraphTable(
    "Entity",
    "An entity of the merged graph",
    (
        GraphProperty("entity_id", "VARCHAR", "Hash of the name"),
        GraphProperty("name", "VARCHAR", "Normalised title, in capitals"),
        GraphProperty("title", "VARCHAR", "Most frequent full name"),
        GraphProperty("names", "VARCHAR[]", "All spellings, most frequent first"),
        GraphProperty("type", "VARCHAR", "Type by majority, upper case"),
        GraphProperty("description", "VARCHAR", "Merged description"),
        GraphProperty("degree", "BIGINT", "Number of distinct neighbours"),
        GraphProperty("frequency", "BIGINT", "Number of text units that mention it"),
    ),
    'select entity_id, name, title, names, "type", description, degree::bigint, frequency::bigint '
    "from graph.entities order by entity_id",
    ("graph.entities",),
)

COMMUNITY = GraphTable(
    "Community",
    "A community of the hierarchical clustering",
    (
        GraphProperty("community_id", "VARCHAR", "Hash of level and members"),
        GraphProperty("level", "BIGINT", "0 = root communities of the clustering; below 0: levels above C0"),
        GraphProperty("size", "BIGINT", "Number of member entities"),
        GraphProperty("is_leaf", "BOOLEAN", "Not split further"),
    ),
    "select community_id, level::bigint, size::bigint, is_leaf from graph.communities order by community_id",
    ("graph.communities",),
)

REPORT = GraphTable(
    "Report",
    "A report on a community",
    (
        GraphProperty("report_id", "VARCHAR", "The community's id"),
        GraphProperty("title", "VARCHAR", "Short name of the subject"),
        GraphProperty("summary", "VARCHAR", "Summary in a few sentences"),
        GraphProperty("rating", "DOUBLE", "Importance, 0–10"),
    ),
    "select report_id, title, summary, rating from reports.community_reports order by report_id",
    ("reports.community_reports",),
)

TEXT_UNIT = GraphTable(
    "TextUnit",
    "A passage of a document",
    (
        GraphProperty("text_unit_id", "VARCHAR", "Hash of document, position and text"),
        GraphProperty("position", "BIGINT", "Position among the units of its document, from 0"),
        GraphProperty("text", "VARCHAR", "Its text"),
    ),
    'select text_unit_id, "position"::bigint, text from corpus.text_chunks order by text_unit_id',
    ("corpus.text_chunks",),
)

DOCUMENT = GraphTable(
    "Document",
    "A document",
    (
        GraphProperty("document_id", "VARCHAR", "Hash of the content"),
        GraphProperty(
            "title", "VARCHAR", "Title given by the file, else the heading it begins with, else the file name"
        ),
        GraphProperty("path", "VARCHAR", "File it was read from"),
        GraphProperty("date", "VARCHAR", "Date given by the file; null if it gives none"),
    ),
    'select document_id, title, path, "date" from corpus.documents order by document_id',
    ("corpus.documents",),
)

RELATED = GraphTable(
    "RELATED",
    "A statement about two entities, each label once",
    (
        GraphProperty(
            "relation",
            "VARCHAR",
            "Label from the first to the second: co_occurs for entities that share a sentence, related_to "
            "if nothing more is known",
        ),
        GraphProperty("strength", "DOUBLE", "Sum of the strengths"),
        GraphProperty("instances", "BIGINT", "Number of relation records"),
        GraphProperty("text_unit_id", "VARCHAR", "Unit that states it"),
    ),
    "select head_id, tail_id, relation, strength, instances::bigint, evidence_unit_id from graph.triples "
    "where head_id in (select entity_id from graph.entities) "
    "and tail_id in (select entity_id from graph.entities) order by triple_id",
    ("graph.triples", "graph.entities"),
    ("Entity", "Entity"),
)

IN_COMMUNITY = GraphTable(
    "IN_COMMUNITY",
    "The entity is a member of the community",
    (GraphProperty("level", "BIGINT", "Level of the community"),),
    "select entity_id, community_id, level::bigint from graph.community_members "
    "where community_id in (select community_id from graph.communities) "
    "and entity_id in (select entity_id from graph.entities) order by all",
    ("graph.community_members", "graph.communities", "graph.entities"),
    ("Entity", "Community"),
)

SPLIT_FROM = GraphTable(
    "SPLIT_FROM",
    "The first community is a part of the second",
    (),
    "select community_id, parent_id from graph.communities "
    "where parent_id in (select community_id from graph.communities) order by all",
    ("graph.communities",),
    ("Community", "Community"),
)

REPORTS_ON = GraphTable(
    "REPORTS_ON",
    "The report is on the community",
    (),
    "select report_id, report_id from reports.community_reports "
    "where report_id in (select community_id from graph.communities) order by all",
    ("reports.community_reports", "graph.communities"),
    ("Report", "Community"),
)

MENTIONED_IN = GraphTable(
    "MENTIONED_IN",
    "The text unit mentions the entity",
    (),
    "select entity_id, text_unit_id from (select entity_id, unnest(text_unit_ids) as text_unit_id "
    "from graph.entities) where text_unit_id in (select text_unit_id from corpus.text_chunks) order by all",
    ("graph.entities", "corpus.text_chunks"),
    ("Entity", "TextUnit"),
)

PART_OF = GraphTable(
    "PART_OF",
    "The text unit was cut from the document",
    (),
    "select text_unit_id, document_id from corpus.text_chunks "
    "where document_id in (select document_id from corpus.documents) order by all",
    ("corpus.text_chunks", "corpus.documents"),
    ("TextUnit", "Document"),
)

#: Nodes first: a relation needs both ends.
GRAPH_TABLES = (
    *(ENTITY, COMMUNITY, REPORT, TEXT_UNIT, DOCUMENT),
    *(RELATED, IN_COMMUNITY, SPLIT_FROM, REPORTS_ON, MENTIONED_IN, PART_OF),
)


def schema_lines() -> Iterator[str]:
    """Yield the contents of the graph and their meaning, one line each."""
    for table in GRAPH_TABLES:
        yield f"{table.pattern}: {table.meaning}"
        for one in table.properties:
            yield f"  {one.name} {one.engine_type}: {one.meaning}"
