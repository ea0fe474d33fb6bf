"""Tables of the studies of chunk size, gleanings and context window."""

from graphrag_dagster.apps.evaluation.tables.evaluation import CRITERIA, judgement_table
from graphrag_dagster.kernel.tables.declaration import ENGINE, Table, column

EXTRACTION_COUNTS = Table(
    "studies",
    "extraction_counts",
    "studies",
    "Entity records by chunk size and number of gleanings (paper Figure 3)",
    ("chunk_size", "mode", "gleanings"),
    (
        column("chunk_size", "INTEGER", "Tokens of a text unit"),
        column(
            "mode",
            "VARCHAR",
            "Ask before each continuation whether something is missing, or always continue",
            values=("checked", "forced"),
        ),
        column("gleanings", "INTEGER", "Continuations after the first reply"),
        column("text_units", "INTEGER", "Text units"),
        column("entities", "INTEGER", "Entity records of all rounds so far: the paper's entity references"),
        column(
            "distinct_entities",
            "INTEGER",
            "Distinct names among them, as merged in the graph; null for rows of an older version",
            nullable=True,
        ),
        column("relationships", "INTEGER", "Relationship records of all rounds so far"),
        column("quarantined", "INTEGER", "Replies and records of all rounds so far that could not be used"),
        ENGINE,
    ),
)


WINDOW_ANSWERS = Table(
    "studies",
    "window_answers",
    "studies",
    "Answers of plain retrieval with different context windows (paper Appendix C)",
    ("question_id", "window"),
    (
        column("question_id", "VARCHAR", "Question", ref="questions.questions.question_id"),
        column("window", "INTEGER", "Tokens of the context"),
        column("question", "VARCHAR", "The question"),
        column("text", "VARCHAR", "The answer"),
        column("refused", "BOOLEAN", "No answer was found in the context"),
        column("context_rows", "INTEGER", "Rows read"),
        column("context_tokens", "INTEGER", "Tokens read"),
        column("snapshot", "VARCHAR", "Published index that was read"),
        column("options", "VARCHAR", "Hash of the settings that decide the answer"),
        ENGINE,
    ),
)

WINDOW_JUDGEMENTS = judgement_table(
    "studies",
    "window_judgements",
    "One verdict on two answers with different context windows (paper Appendix C)",
)

WINDOW_WIN_RATES = Table(
    "studies",
    "window_win_rates",
    "studies",
    "Mean score of a context window against all others (paper Appendix C)",
    ("criterion", "window"),
    (
        column("criterion", "VARCHAR", "Criterion of the comparison", values=CRITERIA),
        column("window", "VARCHAR", "Tokens of the context"),
        column("win_rate", "DOUBLE", "0–100, mean over the other windows"),
        column("questions", "INTEGER", "Questions that were judged"),
    ),
    sql=True,
)

TABLES = (
    EXTRACTION_COUNTS,
    WINDOW_ANSWERS,
    WINDOW_JUDGEMENTS,
    WINDOW_WIN_RATES,
)
