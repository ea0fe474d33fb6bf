"""Tables of answers."""

from graphrag_dagster.kernel.catalogue.engines import VERDICTS
from graphrag_dagster.kernel.tables.table_declaration import ENGINE, Table, column, repaired

#: Kinds of context rows. Summaries and triples belong to CoTeRAG-S; ``own`` is a context that a model wrote
#: without documents.
RECORDS = ("report", "entity", "relationship", "claim", "source", "summary", "triple", "own_context")
_ANSWER = column("answer_id", "VARCHAR", "Answer", ref="answers.answers.answer_id")

ANSWERS = Table(
    "answers",
    "answers",
    "answers",
    "One answer per question of the corpus's list and search method (From Local to Global, §4.1)",
    ("answer_id",),
    (
        column("answer_id", "VARCHAR", "Hash of question and method"),
        column("question_id", "VARCHAR", "Question", ref="questions.questions.question_id"),
        column("position", "INTEGER", "Position of the question in the list, from 0"),
        column("question", "VARCHAR", "The question"),
        column("method", "VARCHAR", "Condition or search method that was requested"),
        column(
            "answered_by", "VARCHAR", "Search method that answered; differs from method for auto and global"
        ),
        column("level", "INTEGER", "Community level that was read", nullable=True),
        column("text", "VARCHAR", "The answer, with marks [1]"),
        ENGINE,
        column("refused", "BOOLEAN", "No answer was found in the context"),
        column(
            "why", "VARCHAR", "Why this search method was chosen, or what the choice saved", nullable=True
        ),
        column("statements", "INTEGER", "Sentences of the answer"),
        column("partly_supported", "INTEGER", "Sentences that the cited words support in part"),
        column("unsupported", "INTEGER", "Sentences that no passage of the documents supports"),
        column("calls", "INTEGER", "Requests to the answerer"),
        column("dropped", "INTEGER", "Partial answers that held nothing useful"),
        column("removed_citations", "INTEGER", "Cited ids that are not in the context"),
        column("problems", "VARCHAR", "Unusable replies, with reasons", nullable=True),
        repaired(),
        column("context_rows", "INTEGER", "Rows shown to the answerer"),
        column("context_tokens", "INTEGER", "Tokens of these rows"),
        column("snapshot", "VARCHAR", "Published index that was read"),
        column("options", "VARCHAR", "Hash of the settings that decide the answer"),
        column(
            "query",
            "VARCHAR",
            "Query that returned the rows of the answer, with its parameters, as JSON",
            nullable=True,
        ),
        column("filters", "VARCHAR", "Filters in force, as JSON; null: none", nullable=True),
        column(
            "trace",
            "VARCHAR",
            "Trace of the search method as JSON: sections with title, columns, rows and links",
        ),
    ),
)

ANSWER_COSTS = Table(
    "answers",
    "answer_costs",
    "answers",
    "Cost of each answer when it was made, as if no reply had come from the LLM cache; seconds are measured",
    ("answer_id",),
    (
        _ANSWER,
        column("calls", "INTEGER", "Model calls"),
        column("input_tokens", "BIGINT", "Tokens sent"),
        column("output_tokens", "BIGINT", "Tokens received"),
        column("usd", "DOUBLE", "US dollars; null if a price is unknown", nullable=True),
        column("seconds", "DOUBLE", "Seconds from question to answer", nullable=True),
    ),
)

ANSWER_CONTEXTS = Table(
    "answers",
    "answer_contexts",
    "answers",
    "Rows that each answer was given as context",
    ("answer_id", "position"),
    (
        _ANSWER,
        column("position", "INTEGER", "Position in the context, from 0"),
        column(
            "kind",
            "VARCHAR",
            "Kind of row",
            values=RECORDS,
        ),
        column(
            "record_id",
            "VARCHAR",
            "Id of the report, entity, relationship, claim, text unit, community or triple, or of a context "
            "that a model wrote",
        ),
        column("title", "VARCHAR", "Title of the row"),
        column("chunk", "INTEGER", "Chunk that held it, from 0"),
        column("tokens", "INTEGER", "Its tokens in that chunk"),
        column("used", "BOOLEAN", "The partial answer of its chunk became part of the answer"),
        column("text", "VARCHAR", "Its text, if no table of the index holds it", nullable=True),
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
        column("position", "INTEGER", "Position in the answer, from 0"),
        column("text", "VARCHAR", "The sentence, without marks"),
        column("citations", "INTEGER[]", "Numbers n of the marks [n] that apply to it"),
        column("similarity", "DOUBLE", "Similarity to the nearest words that it cites, 0–1"),
        column(
            "verdict",
            "VARCHAR",
            "Whether the words support it; null for a model's general knowledge",
            nullable=True,
            values=VERDICTS,
        ),
        column(
            "score",
            "DOUBLE",
            "Estimated probability that a person would call it supported, 0–1",
            nullable=True,
        ),
        column("reason", "VARCHAR", "Why it is not fully supported", nullable=True),
    ),
)

ANSWER_CITATIONS = Table(
    "answers",
    "answer_citations",
    "answers",
    "Target of each mark [n] of an answer, down to the words of the documents",
    ("answer_id", "number"),
    (
        _ANSWER,
        column("number", "INTEGER", "n of the mark [n]"),
        column(
            "kind",
            "VARCHAR",
            "Kind of the cited row",
            values=(*RECORDS, "row"),
        ),
        column("record_id", "VARCHAR", "Id of the cited row"),
        column(
            "finding", "INTEGER", "Number of the report's finding, from 0; -1 for its summary", nullable=True
        ),
        column(
            "via_kind", "VARCHAR", "Kind of the record that the words were reached through", nullable=True
        ),
        column("via_id", "VARCHAR", "Its id", nullable=True),
        column(
            "text_unit_id",
            "VARCHAR",
            "Text unit that holds the words",
            nullable=True,
            ref="corpus.text_chunks.text_unit_id",
        ),
        column("document_id", "VARCHAR", "Its document", nullable=True, ref="corpus.documents.document_id"),
        column("start_char", "INTEGER", "First character of the words in the document's text", nullable=True),
        column("end_char", "INTEGER", "One past their last character", nullable=True),
        column("quotation", "VARCHAR", "The words, verbatim", nullable=True),
        column(
            "similarity", "DOUBLE", "Similarity to the nearest statement that cites them, 0–1", nullable=True
        ),
        column("row", "VARCHAR", "The cited row as JSON: table, key and values", nullable=True),
    ),
)

TABLES = (ANSWERS, ANSWER_COSTS, ANSWER_CONTEXTS, ANSWER_STATEMENTS, ANSWER_CITATIONS)
