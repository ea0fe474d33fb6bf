"""Tables of entity resolution: compared names, decisions, and the entity of each name."""

from graphrag_dagster.kernel.tables.table_declaration import DECIDING, Table, column

_DOCUMENT = column(
    "document_id",
    "VARCHAR",
    "Document in which the two were compared; null for full names compared across all documents",
    nullable=True,
    ref="corpus.documents.document_id",
)
_PAIR = (
    column("pair_id", "VARCHAR", "Hash of document, names and types"),
    _DOCUMENT,
    column("one", "VARCHAR", "A name as written"),
    column("one_type", "VARCHAR", "Its type"),
    column("other", "VARCHAR", "The other name"),
    column("other_type", "VARCHAR", "Its type"),
)
_SCORE = "Probability that the two are one entity, by the shipped weights"

CANDIDATES = Table(
    "resolution",
    "candidates",
    "resolution",
    "Pairs of names that were compared, with all evidence for and against a match",
    ("pair_id",),
    (
        *_PAIR,
        column("rule", "VARCHAR", "What the names share that made them candidates; the first reason found"),
        column("features", "VARCHAR", "Features that are not zero, as a JSON object of numbers from 0 to 1"),
        column("score", "DOUBLE", _SCORE),
        column("veto", "VARCHAR", "Why they cannot be one entity", nullable=True),
        column("band", "VARCHAR", "Decision for the pair alone", values=("merge", "ask", "apart")),
    ),
)

DECISIONS = Table(
    "resolution",
    "decisions",
    "resolution",
    "Decisions on pairs of names, by whom and why; pairs without any evidence are left out",
    ("pair_id",),
    (
        *_PAIR,
        column(
            "verdict",
            "VARCHAR",
            "One entity, an open question, or two; unused: a person decided on names that no text contains",
            values=("merge", "ask", "apart", "unused"),
        ),
        column("decided_by", "VARCHAR", "Who decided", values=("rule", "model", "person")),
        column("reason", "VARCHAR", "Why"),
        column("score", "DOUBLE", _SCORE + "; null where a person decided", nullable=True),
        column("decision_id", "VARCHAR", "Id with which a person undoes the decision", nullable=True),
        column("who", "VARCHAR", "The person, if known", nullable=True),
        column("decided_at", "VARCHAR", "When the person decided, ISO 8601", nullable=True),
        column("problem", "VARCHAR", "Why a model's reply on the pair could not be used", nullable=True),
        column("repaired", "INTEGER", "Replies of a model on the pair that had to be repaired"),
    ),
)

ALIASES = Table(
    "resolution",
    "aliases",
    "resolution",
    "The entity that each name of each document stands for",
    ("document_id", "name"),
    (
        column("document_id", "VARCHAR", "Document", ref="corpus.documents.document_id"),
        column("name", "VARCHAR", "Normalised name, as in the instances"),
        column("surface", "VARCHAR", "Its most common spelling in the document"),
        column("type", "VARCHAR", "Its most common type in the document"),
        column("full_name", "VARCHAR", "The name it stands for in the document"),
        column("entity", "VARCHAR", "Normalised name of the entity"),
        column("title", "VARCHAR", "Title of the entity: the most common of its full names"),
        column("mentions", "INTEGER", "Occurrences of the name in the document"),
        column("since", "INTEGER", "First occurrence: character of the document's text", nullable=True),
        column("places", "VARCHAR", "Hash of all its positions"),
    ),
)

RESOLUTION_STATE = Table(
    "resolution",
    "resolution_state",
    "resolution",
    "Fingerprint of the comparison of names: while it stays the same, pairs are not compared again",
    ("part",),
    DECIDING,
)

TABLES = (CANDIDATES, DECISIONS, ALIASES, RESOLUTION_STATE)
