"""The tables of answers."""

from graphrag_dagster.kernel.catalogue.engines import VERDICTS
from graphrag_dagster.kernel.tables.declaration import ENGINE, Table, column, repaired

#: What may be shown to an answerer; a summary and a triple are those of CoTeRAG-S, an own context is what a
#: model wrote without documents.
RECORDS = ("report", "entity", "relationship", "claim", "source", "summary", "triple", "own_context")
_ANSWER = column("answer_id", "VARCHAR", "Answer", ref="answers.answers.answer_id")

ANSWERS = Table(
    "answers",
    "answers",
    "answers",
    "One answer per question of the corpus's list and way of answering (paper §4.1)",
    ("answer_id",),
    (
        column("answer_id", "VARCHAR", "Hash of question and method"),
        column("question_id", "VARCHAR", "Question", ref="questions.questions.question_id"),
        column("position", "INTEGER", "Place of the question in the list, 0…"),
        column("question", "VARCHAR", "The question"),
        column("method", "VARCHAR", "Condition or way of answering that was asked for"),
        column("way", "VARCHAR", "Way that answered: differs from method for auto and global"),
        column("level", "INTEGER", "Community level that was read", nullable=True),
        column("text", "VARCHAR", "The answer, with marks [1]"),
        ENGINE,
        column("refused", "BOOLEAN", "Nothing in the context was of use"),
        column("why", "VARCHAR", "Why the way was chosen, or what it saved", nullable=True),
        column("statements", "INTEGER", "Sentences of the answer"),
        column(
            "partly_supported",
            "INTEGER",
            "Sentences that the words they cite support in part; null in what was made before that was told",
            nullable=True,
        ),
        column("unsupported", "INTEGER", "Sentences that no words of the documents support"),
        column("calls", "INTEGER", "Things asked of the answerer"),
        column("dropped", "INTEGER", "Partial answers without use"),
        column("removed_citations", "INTEGER", "Cited ids that were not in the context"),
        column("problems", "VARCHAR", "Replies that could not be used, with reasons", nullable=True),
        repaired(),
        column("context_rows", "INTEGER", "Rows shown to the answerer"),
        column("context_tokens", "INTEGER", "Tokens of these rows"),
        column("snapshot", "VARCHAR", "Published index that was read"),
        column("options", "VARCHAR", "Hash of the settings that decide the answer"),
        column("query", "VARCHAR", "Query whose rows it tells, with its parameters, as JSON", nullable=True),
        column("filters", "VARCHAR", "What it was restricted to, as JSON; null: nothing", nullable=True),
        column(
            "trace",
            "VARCHAR",
            "How the search method came to it, as JSON: sections with title, columns, rows and links; null in "
            "what was made before they were told so",
            nullable=True,
        ),
    ),
)

ANSWER_COSTS = Table(
    "answers",
    "answer_costs",
    "answers",
    "What each answer took when it was made, as if no reply had been remembered; seconds are measured",
    ("answer_id",),
    (
        _ANSWER,
        column("calls", "INTEGER", "Calls of a model"),
        column("input_tokens", "BIGINT", "Tokens sent"),
        column("output_tokens", "BIGINT", "Tokens received"),
        column("usd", "DOUBLE", "US dollars; null where a price is unknown", nullable=True),
        column("seconds", "DOUBLE", "Seconds from question to answer", nullable=True),
    ),
)

ANSWER_CONTEXTS = Table(
    "answers",
    "answer_contexts",
    "answers",
    "Rows that were shown for each answer",
    ("answer_id", "position"),
    (
        _ANSWER,
        column("position", "INTEGER", "Place in the context, 0…"),
        column(
            "kind",
            "VARCHAR",
            "What the row is",
            values=RECORDS,
        ),
        column(
            "record_id",
            "VARCHAR",
            "Id of the report, entity, relationship, claim, text unit, community or triple, or of what a model "
            "wrote itself",
        ),
        column("title", "VARCHAR", "Title of the row"),
        column("chunk", "INTEGER", "Chunk it stood in, 0…"),
        column("tokens", "INTEGER", "Its tokens there"),
        column("used", "BOOLEAN", "The partial answer of its chunk went into the answer"),
        column("text", "VARCHAR", "Its words, where no table of the index has them", nullable=True),
    ),
)

ANSWER_STATEMENTS = Table(
    "answers",
    "answer_statements",
    "answers",
    "Sentences of the answers, and whether the words they cite support them",
    ("answer_id", "position"),
    (
        _ANSWER,
        column("position", "INTEGER", "Place in the answer, 0…"),
        column("text", "VARCHAR", "The sentence, without marks"),
        column("citations", "INTEGER[]", "n of the marks [n] that hold for it"),
        column("similarity", "DOUBLE", "0–1, to the nearest words that it cites"),
        column(
            "verdict",
            "VARCHAR",
            "Whether the words support it; null for general knowledge of a model",
            nullable=True,
            values=VERDICTS,
        ),
        column("score", "DOUBLE", "0–1, how probable it is that a person would say so", nullable=True),
        column("reason", "VARCHAR", "Why it is not wholly supported", nullable=True),
    ),
)

ANSWER_CITATIONS = Table(
    "answers",
    "answer_citations",
    "answers",
    "What each mark [n] of an answer stands for, down to the words of the documents",
    ("answer_id", "number"),
    (
        _ANSWER,
        column("number", "INTEGER", "n of the mark [n]"),
        column(
            "kind",
            "VARCHAR",
            "What is cited",
            values=(*RECORDS, "row"),
        ),
        column("record_id", "VARCHAR", "Id of the cited row"),
        column("finding", "INTEGER", "Finding of the report, 0…; -1 for its summary", nullable=True),
        column("via_kind", "VARCHAR", "Kind of the record that led to the words", nullable=True),
        column("via_id", "VARCHAR", "Its id", nullable=True),
        column(
            "text_unit_id",
            "VARCHAR",
            "Text unit of the words",
            nullable=True,
            ref="corpus.text_chunks.text_unit_id",
        ),
        column("document_id", "VARCHAR", "Its document", nullable=True, ref="corpus.documents.document_id"),
        column("start_char", "INTEGER", "First character of the words in the document's text", nullable=True),
        column("end_char", "INTEGER", "One past their last character", nullable=True),
        column("quotation", "VARCHAR", "The words, verbatim", nullable=True),
        column("similarity", "DOUBLE", "0–1, to the nearest statement that cites them", nullable=True),
        column("row", "VARCHAR", "The row that is cited: table, key and values, as JSON", nullable=True),
    ),
)
