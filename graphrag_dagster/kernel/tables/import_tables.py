"""Tables of imported graphs: the contents of their files, or of a database, row by row."""

from dataclasses import replace

from graphrag_dagster.kernel.tables.core_tables import FILES
from graphrag_dagster.kernel.tables.table_declaration import Column, Table, column

#: Status of a row.
OUTCOMES = ("read", "duplicate", "loop", "dangling", "repaired", "malformed")

PLACE = (
    column(
        "path", "VARCHAR", "File that holds it, below the corpus folder; or the database it was read from"
    ),
    column("row", "BIGINT", "Its place there: the line in a file of lines, else the row, from 1"),
)
_GRAPH = column(
    "graph", "VARCHAR", "Graph it belongs to, within which keys are unique: a file or a folder of files"
)
_ATTRIBUTES = column(
    "attributes", "VARCHAR", "All other attributes as a JSON object, values as in the source"
)
_UNITS = column("text_unit_keys", "VARCHAR[]", "Keys of the text units that state it")


def _records(name: str, meaning: str, *columns: Column) -> Table:
    return Table(
        "imports", name, "imports", meaning, ("path", "row"), (*PLACE, _GRAPH, *columns, _ATTRIBUTES)
    )


def _key(meaning: str) -> Column:
    return column("key", "VARCHAR", meaning)


IMPORTED_FILES = replace(
    FILES,
    schema="imports",
    group="imports",
    meaning="Every file found below the folder of a graph, and its status",
)
IMPORTED_DOCUMENTS = _records(
    "documents",
    "Documents of an imported graph",
    _key("Id in the graph"),
    column("title", "VARCHAR", "Title"),
    column("text", "VARCHAR", "Text; blank if the graph holds only its text units"),
)
IMPORTED_TEXT_UNITS = _records(
    "text_units",
    "Text units of an imported graph",
    _key("Id in the graph"),
    column("document_keys", "VARCHAR[]", "Documents it belongs to"),
    column("text", "VARCHAR", "Text"),
    column(
        "text_unit_id", "VARCHAR", "Hash of graph, key and text: its id among the text units of the corpus"
    ),
)
IMPORTED_ENTITIES = _records(
    "entities",
    "Entities that a graph declares; several rows may describe one entity",
    _key("Id in the graph, which relations refer to"),
    column(
        "name",
        "VARCHAR",
        "Title, which merges it with entities of the same title from elsewhere; followed by the key in "
        "brackets if its graph has several entities of that title",
    ),
    column("title", "VARCHAR", "Title as written"),
    column("type", "VARCHAR", "Type, UNKNOWN if none is given"),
    column("description", "VARCHAR", "Description, blank if none is given"),
    _UNITS,
)
IMPORTED_RELATIONS = _records(
    "relations",
    "Relations of a graph, including loops and duplicates",
    column("key", "VARCHAR", "Id in the graph", nullable=True),
    column("head_key", "VARCHAR", "Key of the source entity"),
    column("tail_key", "VARCHAR", "Key of the target entity"),
    column("head", "VARCHAR", "Name of the source entity"),
    column("tail", "VARCHAR", "Name of the target entity"),
    column("label", "VARCHAR", "Label as written; blank if it has none"),
    column(
        "relation",
        "VARCHAR",
        "The label's words in lower case joined by _; the label itself if it has no words; related_to if it "
        "is blank",
    ),
    column("weight", "DOUBLE", "Weight, 1 if none is given"),
    column("description", "VARCHAR", "Description, blank if none is given"),
    column(
        "said", "VARCHAR", "The relation in words: its description, else its ends with the label between them"
    ),
    _UNITS,
    column(
        "outcome",
        "VARCHAR",
        "read; duplicate: an earlier row says the same; loop: both ends are the same entity; dangling: its "
        "graph declares entities, and one of its ends is not among them. Duplicates and loops are left out "
        "of the graph",
        values=OUTCOMES[:4],
    ),
)
IMPORTED_CLAIMS = _records(
    "claims",
    "Claims (covariates) of an imported graph",
    _key("Id in the graph"),
    column("subject", "VARCHAR", "Name of the entity it is about"),
    column("object", "VARCHAR", "Name of the other entity", nullable=True),
    column("type", "VARCHAR", "Kind of claim"),
    column("status", "VARCHAR", "TRUE, FALSE or SUSPECTED", values=("TRUE", "FALSE", "SUSPECTED")),
    column("description", "VARCHAR", "The claim"),
    column("start_date", "VARCHAR", "Start, ISO 8601", nullable=True),
    column("end_date", "VARCHAR", "End, ISO 8601", nullable=True),
    column("quote", "VARCHAR", "The supporting words, blank if none are given"),
    column("text_unit_key", "VARCHAR", "Text unit that states it", nullable=True),
)
IMPORTED_COMMUNITIES = _records(
    "communities",
    "Communities of an imported graph",
    _key("Number or id in the graph"),
    column("parent_key", "VARCHAR", "Parent community; null at the top", nullable=True),
    column("level", "INTEGER", "Level, 0 = top"),
    column("title", "VARCHAR", "Title"),
    column("entity_keys", "VARCHAR[]", "Keys of its members"),
)
IMPORTED_REPORTS = _records(
    "reports",
    "Reports on communities of an imported graph",
    _key("Id in the graph"),
    column("community_key", "VARCHAR", "Community it reports on"),
    column("level", "INTEGER", "Level of the community"),
    column("title", "VARCHAR", "Title"),
    column("summary", "VARCHAR", "Summary"),
    column("content", "VARCHAR", "The whole report as Markdown"),
    column("rating", "DOUBLE", "Importance, 0–10; 0 if none is given"),
    column("rating_explanation", "VARCHAR", "Reason for the rating"),
    column("findings", "VARCHAR", "Its findings, as a JSON list of objects with summary and explanation"),
)

#: Kinds of rows that are imported from a graph.
RECORD_TABLES = (
    IMPORTED_DOCUMENTS,
    IMPORTED_TEXT_UNITS,
    IMPORTED_ENTITIES,
    IMPORTED_RELATIONS,
    IMPORTED_CLAIMS,
    IMPORTED_COMMUNITIES,
    IMPORTED_REPORTS,
)
RECORDS = tuple(table.name for table in RECORD_TABLES)

IMPORT_ACCOUNT = Table(
    "imports",
    "account",
    "imports",
    "Status of the rows of every file: each row is counted once",
    ("path", "record", "outcome"),
    (
        PLACE[0],
        column("record", "VARCHAR", "Kind of rows", values=(*RECORDS, "rows")),
        column("outcome", "VARCHAR", "Status of the rows", values=OUTCOMES),
        column("rows", "BIGINT", "Number of rows"),
        column("first_row", "BIGINT", "The first of them"),
        column("reason", "VARCHAR", "Why the first of them has this status", nullable=True),
    ),
)
