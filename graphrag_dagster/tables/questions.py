"""The tables of questions: who might ask, for what task, and what."""

from graphrag_dagster.tables.declaration import ENGINE, Table, column, repaired

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

QUESTIONS = Table(
    "questions",
    "questions",
    "questions",
    "The questions that are answered: those of corpus.yaml and of its file, then the written ones",
    ("question_id",),
    (
        column("question_id", "VARCHAR", "Hash of the question"),
        column("position", "INTEGER", "Place in the list, 0…"),
        column("question", "VARCHAR", "The question"),
        column(
            "origin",
            "VARCHAR",
            "From corpus.yaml, from its file, or written from the description",
            values=("settings", "file", "written"),
        ),
        column("reference", "VARCHAR", "The right answer, where the file gives one", nullable=True),
    ),
)
