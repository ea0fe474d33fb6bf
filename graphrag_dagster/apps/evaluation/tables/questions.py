"""The tables of questions: who might ask, for what task, and what."""

from graphrag_dagster.kernel.tables.declaration import ENGINE, Table, column, repaired

CORPUS_DESCRIPTIONS = Table(
    "questions",
    "corpus_descriptions",
    "questions",
    "What the corpus is about, as the questions are written from it (paper §4.1.2)",
    ("source",),
    (
        column(
            "source", "VARCHAR", "Given in corpus.yaml, or made from a sample", values=("given", "sample")
        ),
        column("description", "VARCHAR", "The description"),
        column("sampled_units", "INTEGER", "Text units that a sample consisted of"),
        repaired(what="Replies that were mended for it, the personas, tasks and questions"),
        ENGINE,
    ),
)

PERSONAS = Table(
    "questions",
    "personas",
    "questions",
    "Invented people who use the corpus: K of them (paper §4.1.2)",
    ("persona_id",),
    (
        column("persona_id", "VARCHAR", "Hash of name and description"),
        column("position", "INTEGER", "Place, 0…"),
        column("name", "VARCHAR", "Who it is"),
        column("description", "VARCHAR", "What the person wants of the corpus"),
        ENGINE,
    ),
)

PERSONA_TASKS = Table(
    "questions",
    "persona_tasks",
    "questions",
    "What they use it for: N tasks for each persona",
    ("task_id",),
    (
        column("task_id", "VARCHAR", "Hash of persona and task"),
        column("persona_id", "VARCHAR", "Persona", ref="questions.personas.persona_id"),
        column("position", "INTEGER", "Place among the tasks of its persona, 0…"),
        column("task", "VARCHAR", "The task"),
        ENGINE,
    ),
)

PERSONA_QUESTIONS = Table(
    "questions",
    "persona_questions",
    "questions",
    "What they ask of the whole corpus: M questions for each task",
    ("question_id",),
    (
        column("question_id", "VARCHAR", "Hash of the question"),
        column("task_id", "VARCHAR", "Task", ref="questions.persona_tasks.task_id"),
        column("position", "INTEGER", "Place among the questions of its task, 0…"),
        column("question", "VARCHAR", "The question"),
        column("repeats", "INTEGER", "How often it was asked for again, because it was there already"),
        ENGINE,
    ),
)

TESTSET_DOCUMENTS = Table(
    "questions",
    "testset_documents",
    "questions",
    "Documents that questions with reference answers were to be written from: a seeded sample",
    ("document_id",),
    (
        column("document_id", "VARCHAR", "Document", ref="corpus.documents.document_id"),
        column("position", "INTEGER", "Place in the sample, 0…"),
        column("title", "VARCHAR", "Its title"),
        column("characters", "INTEGER", "Length of its text"),
        column("shown", "INTEGER", "Characters of these that were shown, from the beginning"),
        column("wanted", "INTEGER", "Questions that were wanted"),
        column("written", "INTEGER", "Questions that came of it"),
        column("repeats", "INTEGER", "How often it was asked for more, because some were of no use"),
        column("rejected", "INTEGER", "Drafts that were of no use"),
        column("problem", "VARCHAR", "Why there are fewer than wanted, or drafts of no use", nullable=True),
        repaired(what="Replies that were mended for its questions"),
        ENGINE,
    ),
)

TESTSET_QUESTIONS = Table(
    "questions",
    "testset_questions",
    "questions",
    "Questions with reference answers, each written from one document of the sample",
    ("question_id",),
    (
        column("question_id", "VARCHAR", "Hash of the question"),
        column("document_id", "VARCHAR", "Document", ref="questions.testset_documents.document_id"),
        column("position", "INTEGER", "Place among the questions of its document, 0…"),
        column("question", "VARCHAR", "The question"),
        column("reference", "VARCHAR", "The right answer by the document"),
        column(
            "evidence",
            "VARCHAR",
            "Words of the document that say so; null where none were found",
            nullable=True,
        ),
        column("start_char", "INTEGER", "Where they begin in the document's text", nullable=True),
        column("end_char", "INTEGER", "Where they end", nullable=True),
        ENGINE,
    ),
)

QUESTIONS = Table(
    "questions",
    "questions",
    "questions",
    "The questions that are answered: those of corpus.yaml and of its file, the testset, then the written ones",
    ("question_id",),
    (
        column("question_id", "VARCHAR", "Hash of the question"),
        column("position", "INTEGER", "Place in the list, 0…"),
        column("question", "VARCHAR", "The question"),
        column(
            "origin",
            "VARCHAR",
            "From corpus.yaml, from its file, written from a document, or written from the description",
            values=("settings", "file", "testset", "written"),
        ),
        column(
            "reference", "VARCHAR", "The right answer, where the file or the testset gives one", nullable=True
        ),
    ),
)

TABLES = (
    CORPUS_DESCRIPTIONS,
    PERSONAS,
    PERSONA_TASKS,
    PERSONA_QUESTIONS,
    TESTSET_DOCUMENTS,
    TESTSET_QUESTIONS,
    QUESTIONS,
)
