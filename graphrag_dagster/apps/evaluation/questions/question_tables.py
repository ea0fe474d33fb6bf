"""Tables of questions: personas, their tasks, and the questions they ask."""

from graphrag_dagster.kernel.tables.table_declaration import ENGINE, Table, column, repaired

CORPUS_DESCRIPTIONS = Table(
    "questions",
    "corpus_descriptions",
    "questions",
    "Description of the corpus that questions are written from (From Local to Global, §4.1.2)",
    ("source",),
    (
        column(
            "source", "VARCHAR", "Given in corpus.yaml, or made from a sample", values=("given", "sample")
        ),
        column("description", "VARCHAR", "The description"),
        column("sampled_units", "INTEGER", "Text units in the sample"),
        repaired(what="Replies that were repaired for it, the personas, tasks and questions"),
        ENGINE,
    ),
)

PERSONAS = Table(
    "questions",
    "personas",
    "questions",
    "Personas: K invented people who use the corpus (From Local to Global, §4.1.2)",
    ("persona_id",),
    (
        column("persona_id", "VARCHAR", "Hash of name and description"),
        column("position", "INTEGER", "Position, from 0"),
        column("name", "VARCHAR", "Description of the person"),
        column("description", "VARCHAR", "What the person wants from the corpus"),
        ENGINE,
    ),
)

PERSONA_TASKS = Table(
    "questions",
    "persona_tasks",
    "questions",
    "N tasks for each persona",
    ("task_id",),
    (
        column("task_id", "VARCHAR", "Hash of persona and task"),
        column("persona_id", "VARCHAR", "Persona", ref="questions.personas.persona_id"),
        column("position", "INTEGER", "Position among the tasks of its persona, from 0"),
        column("task", "VARCHAR", "The task"),
        ENGINE,
    ),
)

PERSONA_QUESTIONS = Table(
    "questions",
    "persona_questions",
    "questions",
    "M questions about the whole corpus for each task",
    ("question_id",),
    (
        column("question_id", "VARCHAR", "Hash of the question"),
        column("task_id", "VARCHAR", "Task", ref="questions.persona_tasks.task_id"),
        column("position", "INTEGER", "Position among the questions of its task, from 0"),
        column("question", "VARCHAR", "The question"),
        column("repeats", "INTEGER", "Repeated requests because the question already existed"),
        ENGINE,
    ),
)

TESTSET_DOCUMENTS = Table(
    "questions",
    "testset_documents",
    "questions",
    "Documents sampled for questions with reference answers, by a fixed seed",
    ("document_id",),
    (
        column("document_id", "VARCHAR", "Document", ref="corpus.documents.document_id"),
        column("position", "INTEGER", "Position in the sample, from 0"),
        column("title", "VARCHAR", "Its title"),
        column("characters", "INTEGER", "Length of its text"),
        column("shown", "INTEGER", "Characters that were shown to the model, from the beginning"),
        column("wanted", "INTEGER", "Questions that were requested"),
        column("written", "INTEGER", "Questions that were written"),
        column("repeats", "INTEGER", "Repeated requests because some drafts were unusable"),
        column("rejected", "INTEGER", "Drafts that were unusable"),
        column("problem", "VARCHAR", "Why there are fewer than requested, or unusable drafts", nullable=True),
        repaired(what="Replies that were repaired for its questions"),
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
        column("position", "INTEGER", "Position among the questions of its document, from 0"),
        column("question", "VARCHAR", "The question"),
        column("reference", "VARCHAR", "The correct answer according to the document"),
        column(
            "evidence",
            "VARCHAR",
            "Supporting words of the document; null if none were found",
            nullable=True,
        ),
        column("start_char", "INTEGER", "First character of the words in the document's text", nullable=True),
        column("end_char", "INTEGER", "One past their last character", nullable=True),
        ENGINE,
    ),
)

QUESTIONS = Table(
    "questions",
    "questions",
    "questions",
    "The questions that are answered: those of corpus.yaml and of its file, the testset, then the generated "
    "ones",
    ("question_id",),
    (
        column("question_id", "VARCHAR", "Hash of the question"),
        column("position", "INTEGER", "Position in the list, from 0"),
        column("question", "VARCHAR", "The question"),
        column(
            "origin",
            "VARCHAR",
            "From corpus.yaml, from its file, written from a document, or written from the description",
            values=("settings", "file", "testset", "written"),
        ),
        column(
            "reference", "VARCHAR", "The correct answer, if the file or the testset gives one", nullable=True
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
