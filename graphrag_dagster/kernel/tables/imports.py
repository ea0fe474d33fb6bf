"""The tables of graphs that come from elsewhere: what their files, or a database, hold, row by row."""

from dataclasses import replace

from graphrag_dagster.kernel.tables.declaration import Column, Table, column
from graphrag_dagster.kernel.tables.index import FILES

#: What becomes of a row.
OUTCOMES = ("read", "duplicate", "loop", "dangling", "repaired", "malformed")

_PLACE = (
    column("path", "VARCHAR", "File it stands in, below the corpus folder; or the database it was asked of"),
    column("row", "BIGINT", "Its place there: the line of a file of lines, else its row, 1…"),
)
_GRAPH = column(
    "graph", "VARCHAR", "Graph it is of, within which keys are unique: a file, or a folder of files"
)
_ATTRIBUTES = column(
    "attributes", "VARCHAR", "What else is said of it, as a JSON object, values as they stand"
)
_UNITS = column("text_unit_keys", "VARCHAR[]", "Keys of the text units that state it")


def _records(name: str, meaning: str, *columns: Column) -> Table:
    return Table(
        "imports", name, "imports", meaning, ("path", "row"), (*_PLACE, _GRAPH, *columns, _ATTRIBUTES)
    )


def _key(meaning: str) -> Column:
    return column("key", "VARCHAR", meaning)


IMPORTED_FILES = replace(
    FILES,
    schema="imports",
    group="imports",
    meaning="Every file found below the folder of a graph, and what became of it",
)
IMPORTED_DOCUMENTS = _records(
    "documents",
    "Documents that come with a graph",
    _key("Id in the graph"),
    column("title", "VARCHAR", "Title"),
    column("text", "VARCHAR", "Text; blank where the graph holds its text units alone"),
)
IMPORTED_TEXT_UNITS = _records(
    "text_units",
    "Text units that come with a graph",
    _key("Id in the graph"),
    column("document_keys", "VARCHAR[]", "Documents that it is of"),
    column("text", "VARCHAR", "Text"),
    column(
        "text_unit_id", "VARCHAR", "Hash of graph, key and text: its id among the text units of the corpus"
    ),
)
IMPORTED_ENTITIES = _records(
    "entities",
    "Entities that a graph declares; several rows may be of one",
    _key("Id in the graph, by which relations name it"),
    column(
        "name",
        "VARCHAR",
        "Title, which makes it the same entity as others of that title elsewhere; with the key in brackets where "
        "its graph has several of that title",
    ),
    column("title", "VARCHAR", "Title as written"),
    column("type", "VARCHAR", "Type, UNKNOWN where none is given"),
    column("description", "VARCHAR", "Description, blank where none is given"),
    _UNITS,
)
IMPORTED_RELATIONS = _records(
    "relations",
    "Relations of a graph, loops and repeated ones included",
    column("key", "VARCHAR", "Id in the graph", nullable=True),
    column("head_key", "VARCHAR", "Key of the entity it begins at"),
    column("tail_key", "VARCHAR", "Key of the entity it leads to"),
    column("head", "VARCHAR", "Name of the entity it begins at"),
    column("tail", "VARCHAR", "Name of the entity it leads to"),
    column("label", "VARCHAR", "Label as written; blank where it has none"),
    column(
        "relation",
        "VARCHAR",
        "The label's words in lower case joined by _; the label where it has none; related_to where it is blank",
    ),
    column("weight", "DOUBLE", "Weight, 1 where none is given"),
    column("description", "VARCHAR", "Description, blank where none is given"),
    column(
        "said", "VARCHAR", "What it says in words: its description, else its ends with the label between them"
    ),
    _UNITS,
    column(
        "outcome",
        "VARCHAR",
        "read; duplicate: a row before it says the same; loop: it leads to where it begins; dangling: its graph "
        "declares entities, and one of its ends is none of them. Duplicates and loops are left out of the graph",
        values=OUTCOMES[:4],
    ),
)
IMPORTED_CLAIMS = _records(
    "claims",
    "Claims (covariates) that come with a graph",
    _key("Id in the graph"),
    column("subject", "VARCHAR", "Name of the entity it is about"),
    column("object", "VARCHAR", "Name of the other entity", nullable=True),
    column("type", "VARCHAR", "Kind of claim"),
    column("status", "VARCHAR", "TRUE, FALSE or SUSPECTED", values=("TRUE", "FALSE", "SUSPECTED")),
    column("description", "VARCHAR", "The claim"),
    column("start_date", "VARCHAR", "From when, ISO 8601", nullable=True),
    column("end_date", "VARCHAR", "Until when, ISO 8601", nullable=True),
    column("quote", "VARCHAR", "The words it rests on, blank where none are given"),
    column("text_unit_key", "VARCHAR", "Text unit that makes it", nullable=True),
)
IMPORTED_COMMUNITIES = _records(
    "communities",
    "Communities that come with a graph",
    _key("Number or id in the graph"),
    column("parent_key", "VARCHAR", "Community it was split from; null at the top", nullable=True),
    column("level", "INTEGER", "Level, 0 = top"),
    column("title", "VARCHAR", "Title"),
    column("entity_keys", "VARCHAR[]", "Keys of its members"),
)
IMPORTED_REPORTS = _records(
    "reports",
    "Reports of communities that come with a graph",
    _key("Id in the graph"),
    column("community_key", "VARCHAR", "Community that it is of"),
    column("level", "INTEGER", "Level of the community"),
    column("title", "VARCHAR", "Title"),
    column("summary", "VARCHAR", "Summary"),
    column("content", "VARCHAR", "The whole report as Markdown"),
    column("rating", "DOUBLE", "Importance, 0–10; 0 where none is given"),
    column("rating_explanation", "VARCHAR", "What the rating rests on"),
    column("findings", "VARCHAR", "Its findings, as a JSON list of objects with summary and explanation"),
)

#: What is read of a graph.
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
    "What became of the rows of every file: each is counted once",
    ("path", "record", "outcome"),
    (
        _PLACE[0],
        column("record", "VARCHAR", "What the rows hold", values=(*RECORDS, "rows")),
        column("outcome", "VARCHAR", "What became of them", values=OUTCOMES),
        column("rows", "BIGINT", "How many"),
        column("first_row", "BIGINT", "The first of them"),
        column("reason", "VARCHAR", "Why the first of them is not simply read", nullable=True),
    ),
)
IMPORT_QUARANTINE = Table(
    "imports",
    "quarantine",
    "imports",
    "Rows of graphs that could not be used, each with its reason",
    ("path", "row", "record"),
    (
        *_PLACE,
        column("record", "VARCHAR", "What the row should hold", values=(*RECORDS, "rows")),
        column("reason", "VARCHAR", "Why it cannot be used"),
        column("raw", "VARCHAR", "The row as it stands, its first 1,000 characters"),
    ),
)
