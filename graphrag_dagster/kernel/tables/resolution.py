"""The tables of entity resolution: which names were compared, what was decided, and whose they are."""

from graphrag_dagster.kernel.tables.declaration import DECIDING, Table, column

_DOCUMENT = column(
    "document_id",
    "VARCHAR",
    "Document in which the two were compared; null for the full names of all documents",
    nullable=True,
    ref="corpus.documents.document_id",
)
_PAIR = (
    column("pair_id", "VARCHAR", "Hash of document, names and types"),
    _DOCUMENT,
    column("one", "VARCHAR", "A name as written"),
    column("one_type", "VARCHAR", "Its type"),
    column("other", "VARCHAR", "Another name"),
    column("other_type", "VARCHAR", "Its type"),
)
_SCORE = "Probability that they are one, by the shipped weights"

CANDIDATES = Table(
    "resolution",
    "candidates",
    "resolution",
    "Pairs of names that were compared, with all that speaks for and against them",
    ("pair_id",),
    (
        *_PAIR,
        column("rule", "VARCHAR", "What they share, so that they were compared; the first that found them"),
        column("features", "VARCHAR", "What of it is not zero, as a JSON object of numbers from 0 to 1"),
        column("score", "DOUBLE", _SCORE),
        column("veto", "VARCHAR", "Why they cannot be one", nullable=True),
        column("band", "VARCHAR", "What follows for the pair alone", values=("merge", "ask", "apart")),
    ),
)

DECISIONS = Table(
    "resolution",
    "decisions",
    "resolution",
    "What was decided of pairs of names, by whom and why; pairs that nothing spoke for are left out",
    ("pair_id",),
    (
        *_PAIR,
        column(
            "verdict",
            "VARCHAR",
            "One entity, an open question, or two; unused: a person spoke of names that no text has",
            values=("merge", "ask", "apart", "unused"),
        ),
        column("decided_by", "VARCHAR", "Who decided", values=("rule", "model", "person")),
        column("reason", "VARCHAR", "Why"),
        column("score", "DOUBLE", _SCORE + "; null where a person decided", nullable=True),
        column("decision_id", "VARCHAR", "Id by which a person takes the decision back", nullable=True),
        column("who", "VARCHAR", "The person, where known", nullable=True),
        column("decided_at", "VARCHAR", "When the person decided, ISO 8601", nullable=True),
        column("problem", "VARCHAR", "Why a model's reply on the pair could not be used", nullable=True),
        column("repaired", "INTEGER", "Replies of a model on the pair that had to be mended"),
    ),
)

ALIASES = Table(
    "resolution",
    "aliases",
    "resolution",
    "Which entity each name of each document is a name of",
    ("document_id", "name"),
    (
        column("document_id", "VARCHAR", "Document", ref="corpus.documents.document_id"),
        column("name", "VARCHAR", "Normalised name, as in the instances"),
        column("surface", "VARCHAR", "Its commonest spelling in the document"),
        column("type", "VARCHAR", "Its commonest type in the document"),
        column("full_name", "VARCHAR", "The name that it stands for in the document"),
        column("entity", "VARCHAR", "Normalised name of the entity"),
        column("title", "VARCHAR", "Title of the entity: the commonest of its full names"),
        column("mentions", "INTEGER", "How often the name stands in the document"),
        column("since", "INTEGER", "Where it first stands: character of the document's text", nullable=True),
        column("places", "VARCHAR", "Hash of all places where it stands"),
    ),
)

RESOLUTION_STATE = Table(
    "resolution",
    "resolution_state",
    "resolution",
    "What decided how names were compared: where it is the same again, pairs are not compared anew",
    ("part",),
    DECIDING,
)
