"""The tables of how good the instances of LEGO-GraphRAG are by gold answers (second paper, B.4)."""

from graphrag_dagster.kernel.tables.declaration import ENGINE, Column, Table, column

_QUESTION = column("question_id", "VARCHAR", "Question", ref="paths.questions.question_id")
_INSTANCE = column(
    "instance", "VARCHAR", "Instance; -lex behind it: rules stood in for the model of one of its modules"
)


def _measure(name: str, meaning: str) -> Column:
    return column(name, "DOUBLE", f"{meaning}; null without gold answers", nullable=True)


def _of_answer(suffix: str, who: str) -> tuple[Column, ...]:
    return (
        _measure(f"hits_at_1{suffix}", f"1: the answer {who} holds a gold answer; 0: none"),
        _measure(f"answer_f1{suffix}", f"F1 of the answer {who} as one prediction"),
        _measure(f"list_f1{suffix}", f"F1 of the items that the answer {who} lists"),
    )


def _of_paths(cut: int) -> tuple[Column, ...]:
    first = f"first {cut} paths" if cut > 1 else "first path"
    return (
        _measure(f"path_precision_at_{cut}", f"Share of the {first} that hold a gold answer"),
        _measure(f"path_recall_at_{cut}", f"Share of the gold answers that the {first} hold"),
        _measure(f"path_f1_at_{cut}", f"F1 of the {first}"),
        _measure(f"path_hit_at_{cut}", f"1: the {first} hold a gold answer; 0: none"),
    )


PATH_SCORES = Table(
    "paths",
    "scores",
    "paths",
    "What each instance made of each question, measured by its gold answers (second paper B.4)",
    ("question_id", "instance"),
    (
        _QUESTION,
        _INSTANCE,
        *_of_answer("", "of a model"),
        *_of_answer("_lex", "made by rule"),
        *(one for cut in (1, 4, 8, 16, 32) for one in _of_paths(cut)),
        _measure("subgraph_recall", "Share of the gold answers among the labels of the subgraph's nodes"),
        _measure("subgraph_f1", "F1 of the subgraph's nodes as predictions"),
        column("answers", "INTEGER", "Different gold answers"),
        column("unmatchable", "INTEGER", "Gold answers that no text can be said to hold, such as `$`"),
        column("paths", "INTEGER", "Paths that were found"),
        column("subgraph_nodes", "INTEGER", "Nodes of the subgraph"),
        column("subgraph_edges", "INTEGER", "Edges of the subgraph"),
        column("wcc", "INTEGER", "Weakly connected components of the subgraph"),
    ),
)

PATH_JUDGEMENTS = Table(
    "paths",
    "judgements",
    "paths",
    "Whether a model takes the answer of an instance for correct (second paper B.4)",
    ("question_id", "instance"),
    (
        _QUESTION,
        _INSTANCE,
        column("correct", "BOOLEAN", "Its verdict; null: no usable reply came", nullable=True),
        column("problem", "VARCHAR", "Why there is none", nullable=True),
        ENGINE,
    ),
)

PATH_SUMMARY = Table(
    "paths",
    "summary",
    "paths",
    "Mean of each measure over the questions, by instance and number of hops (second paper B.4)",
    ("instance", "hops", "measure"),
    (
        _INSTANCE,
        column("hops", "VARCHAR", "Hops of the questions; `all`: of all questions"),
        column(
            "measure",
            "VARCHAR",
            "Column of paths.scores; judge_at_1: share of the answers that a model takes for correct; "
            "judge_agreement: share of the answers of which it says what hits_at_1 says; or what a module cost, "
            "as calls_extraction",
        ),
        column("mean", "DOUBLE", "Over the questions; null without a value", nullable=True),
        column("low", "DOUBLE", "Lower end of its 95 % bootstrap interval", nullable=True),
        column("high", "DOUBLE", "Upper end", nullable=True),
        column("questions", "INTEGER", "Questions that have a value"),
        column("undefined", "INTEGER", "Questions that have none"),
    ),
)

RECALL_WINDOWS = Table(
    "paths",
    "recall_windows",
    "paths",
    "Which size of the subgraph is chosen so that enough answers are in it, by class of questions (second "
    "paper B.5)",
    ("class",),
    (
        column(
            "class",
            "VARCHAR",
            "Questions alike: complex or simple, then dense, medium or sparse by their seeds' edges; `all`: "
            "all of them",
        ),
        column("threshold", "DOUBLE", "Least recall that is wanted, 0–1"),
        column("why", "VARCHAR", "What the threshold is made of"),
        column(
            "best", "INTEGER", "Window of the highest F1 whose recall is enough; null: none is", nullable=True
        ),
        column("smallest", "INTEGER", "Smallest window whose recall is enough; null: none is", nullable=True),
        column("chosen", "INTEGER", "Window that is used: the smallest, or the one of highest recall"),
        column("recall", "DOUBLE", "Recall of the window that is used, on the questions for tuning"),
        column("f1", "DOUBLE", "F1 of that window"),
        column("questions", "INTEGER", "Questions for tuning"),
    ),
)

TABLES = (
    PATH_SCORES,
    PATH_JUDGEMENTS,
    PATH_SUMMARY,
    RECALL_WINDOWS,
)
