"""Tables of LEGO-GraphRAG: gold questions, the results of every instance, their measures."""

from graphrag_dagster.kernel.tables.table_declaration import ENGINE, Column, Table, column

_QUESTION = column("question_id", "VARCHAR", "Question", ref="paths.questions.question_id")
_INSTANCE = column(
    "instance", "VARCHAR", "Instance; the suffix -lex: rules replaced the model of one of its modules"
)

PATH_QUESTIONS = Table(
    "paths",
    "questions",
    "paths",
    "Questions of the corpus's question files, and the entities they start from",
    ("question_id",),
    (
        column(
            "question_id",
            "VARCHAR",
            "Hash of the question and its given entities, and of how many identical ones precede it",
        ),
        column("position", "INTEGER", "Position in the files, from 0"),
        column("file", "VARCHAR", "File below the corpus folder"),
        column("row", "INTEGER", "Line or row in it, from 1"),
        column("question", "VARCHAR", "The question, without entity markup"),
        column("seeds", "VARCHAR[]", "Entities that paths start from, most certain first"),
        column(
            "linked_by",
            "VARCHAR",
            "How they were found: given with the question by label, or only by words; names in the "
            "question; names similar to it by vectors; or not at all",
            values=("label", "normalised", "words", "vectors", "none"),
        ),
        column("answers", "VARCHAR[]", "Gold answers, each once"),
        column("hops", "INTEGER", "Edges to the answers, if the file gives them", nullable=True),
        column("domain", "VARCHAR", "Domain of Freebase, if the file tells its relations", nullable=True),
        column("unknown", "VARCHAR[]", "Entities given with the question that are not in the graph"),
        column(
            "sampled", "BOOLEAN", "The question is asked; false if it is not in the sample or cannot be asked"
        ),
        column(
            "development",
            "BOOLEAN",
            "Reserved for choosing the size of the subgraph; it is not asked",
        ),
        column(
            "problem",
            "VARCHAR",
            "Problems with the question, the most serious first; it is asked unless it has no text",
            nullable=True,
            values=(
                *("no_question", "no_bracket", "no_answers", "answers_blank", "repeated", "hops_unreadable"),
                *("unknown_entities", "no_seed"),
            ),
        ),
    ),
)

PATH_SUBGRAPHS = Table(
    "paths",
    "subgraphs",
    "paths",
    "The part of the graph that an instance searches for paths, by question",
    ("question_id", "instance"),
    (
        _QUESTION,
        _INSTANCE,
        column("nodes", "INTEGER", "Its nodes"),
        column("edges", "INTEGER", "Its edges"),
        column(
            "components", "INTEGER", "Its weakly connected components; a seed without an edge counts as one"
        ),
        column("paths", "INTEGER", "Paths that were found"),
        column("reason", "VARCHAR", "Why nothing was found, such as no_seed; blank if something was"),
        column("cut", "BOOLEAN", "There were more paths than the limit"),
        column("snapshot", "VARCHAR", "Published index that was read"),
        column("options", "VARCHAR", "Hash of the settings and code that decide the result"),
    ),
)

PATHS_FOUND = Table(
    "paths",
    "found",
    "paths",
    "The paths that answers were made from, best first",
    ("question_id", "instance", "rank"),
    (
        _QUESTION,
        _INSTANCE,
        column("rank", "INTEGER", "1…"),
        column(
            "text",
            "VARCHAR",
            "label -> relation -> label …; ~ marks a relation traversed against its direction",
        ),
        column("entity_ids", "VARCHAR[]", "Its nodes, the seed first"),
        column("relations", "VARCHAR[]", "Its relations, ~ before those traversed against their direction"),
        column("score", "DOUBLE", "Score that orders them; 0 without a scorer"),
        column("length", "INTEGER", "Edges"),
    ),
)

PATH_ANSWERS = Table(
    "paths",
    "answers",
    "paths",
    "Answers of the instances, by question",
    ("question_id", "instance"),
    (
        _QUESTION,
        _INSTANCE,
        column("text", "VARCHAR", "The answer in words"),
        column(
            "named", "VARCHAR[]", "The answers it names, best first; null if a model wrote it", nullable=True
        ),
        column("cited", "INTEGER[]", "For each of these, the rank of the path it is based on"),
        ENGINE,
        column("shown", "INTEGER", "Paths it was made from"),
        column("reports", "INTEGER", "Reports that were read in addition"),
        column("problem", "VARCHAR", "Why there is no usable reply", nullable=True),
    ),
)

PATH_COSTS = Table(
    "paths",
    "costs",
    "paths",
    "Cost of each module of an instance, by question, whether or not replies came from the LLM cache",
    ("question_id", "instance", "module"),
    (
        _QUESTION,
        _INSTANCE,
        column(
            "module",
            "VARCHAR",
            "Module of the instance",
            values=("extraction", "retrieval", "answer"),
        ),
        column("seconds", "DOUBLE", "Seconds as measured when it was made"),
        column("calls", "INTEGER", "Model calls"),
        column("input_tokens", "INTEGER", "Tokens sent"),
        column("output_tokens", "INTEGER", "Tokens received"),
        column("scored", "INTEGER", "Texts that a scorer compared with the question"),
        column("scored_tokens", "INTEGER", "Tokens of these that an embedding model read"),
        column("empty", "INTEGER", "Selections that left nothing"),
        column("problems", "VARCHAR", "Unusable replies, with reasons", nullable=True),
    ),
)

TABLES = (
    PATH_QUESTIONS,
    PATH_SUBGRAPHS,
    PATHS_FOUND,
    PATH_ANSWERS,
    PATH_COSTS,
)


def _measure(name: str, meaning: str) -> Column:
    return column(name, "DOUBLE", f"{meaning}; null without gold answers", nullable=True)


def _answer_measures(suffix: str, who: str) -> tuple[Column, ...]:
    return (
        _measure(f"hits_at_1{suffix}", f"1: the answer {who} contains a gold answer; 0: it does not"),
        _measure(f"answer_f1{suffix}", f"F1 of the answer {who} as one prediction"),
        _measure(f"list_f1{suffix}", f"F1 of the items that the answer {who} lists"),
    )


def _path_measures(cut: int) -> tuple[Column, ...]:
    first = f"first {cut} paths" if cut > 1 else "first path"
    return (
        _measure(f"path_precision_at_{cut}", f"Share of the {first} that contain a gold answer"),
        _measure(f"path_recall_at_{cut}", f"Share of the gold answers that the {first} contain"),
        _measure(f"path_f1_at_{cut}", f"F1 of the {first}"),
        _measure(f"path_hit_at_{cut}", f"1: the {first} contain a gold answer; 0: they do not"),
    )


PATH_SCORES = Table(
    "paths",
    "scores",
    "paths",
    "Scores of each instance on each question, by gold answers (LEGO-GraphRAG, B.4)",
    ("question_id", "instance"),
    (
        _QUESTION,
        _INSTANCE,
        *_answer_measures("", "of a model"),
        *_answer_measures("_lex", "made by rules"),
        *(one for cut in (1, 4, 8, 16, 32) for one in _path_measures(cut)),
        _measure("subgraph_recall", "Share of the gold answers among the labels of the subgraph's nodes"),
        _measure("subgraph_f1", "F1 of the subgraph's nodes as predictions"),
        column("answers", "INTEGER", "Different gold answers"),
        column("unmatchable", "INTEGER", "Gold answers that no text can be said to contain, such as `$`"),
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
    "Whether a model accepts the answer of an instance as correct (LEGO-GraphRAG, B.4)",
    ("question_id", "instance"),
    (
        _QUESTION,
        _INSTANCE,
        column("correct", "BOOLEAN", "Its verdict; null: no usable reply", nullable=True),
        column("problem", "VARCHAR", "Why there is no verdict", nullable=True),
        ENGINE,
    ),
)

PATH_SUMMARY = Table(
    "paths",
    "summary",
    "paths",
    "Mean of each measure over the questions, by instance and number of hops (LEGO-GraphRAG, B.4)",
    ("instance", "hops", "measure"),
    (
        _INSTANCE,
        column("hops", "VARCHAR", "Hops of the questions; `all`: all questions"),
        column(
            "measure",
            "VARCHAR",
            "Column of paths.scores; judge_at_1: share of the answers that a model accepts as correct; "
            "judge_agreement: share of the answers on which it agrees with hits_at_1; or the cost of a "
            "module, such as calls_extraction",
        ),
        column("mean", "DOUBLE", "Mean over the questions; null without a value", nullable=True),
        column("low", "DOUBLE", "Lower end of its 95 % bootstrap interval", nullable=True),
        column("high", "DOUBLE", "Upper end", nullable=True),
        column("questions", "INTEGER", "Questions with a value"),
        column("undefined", "INTEGER", "Questions without a value"),
    ),
)

RECALL_WINDOWS = Table(
    "paths",
    "recall_windows",
    "paths",
    "Chosen size of the subgraph for enough recall, by class of questions (LEGO-GraphRAG, B.5)",
    ("class",),
    (
        column(
            "class",
            "VARCHAR",
            "Class of similar questions: complex or simple, then dense, medium or sparse by their seeds' "
            "edges; `all`: all questions",
        ),
        column("threshold", "DOUBLE", "Required recall, 0–1"),
        column("why", "VARCHAR", "Source of the threshold"),
        column(
            "best",
            "INTEGER",
            "Window with the highest F1 whose recall is sufficient; null: none",
            nullable=True,
        ),
        column(
            "smallest", "INTEGER", "Smallest window whose recall is sufficient; null: none", nullable=True
        ),
        column("chosen", "INTEGER", "Window in use: the smallest, or the one with the highest recall"),
        column("recall", "DOUBLE", "Recall of the window in use, on the tuning questions"),
        column("f1", "DOUBLE", "F1 of that window"),
        column("questions", "INTEGER", "Tuning questions"),
    ),
)

PATH_STUDY = Table(
    "paths",
    "study",
    "paths",
    "What recall is worth, and what acceleration and additional steps cost (LEGO-GraphRAG, B.5 to B.9)",
    ("part", "variant", "measure"),
    (
        column(
            "part",
            "VARCHAR",
            "recall: subgraphs of the same extraction that grow; acceleration: other extractions; switches: "
            "additional steps",
            values=("recall", "acceleration", "switches"),
        ),
        column("variant", "VARCHAR", "What is measured; the suffix -lex: rules replaced the model"),
        column(
            "measure",
            "VARCHAR",
            "Column of paths.scores; calls of a model, and seconds, for a question; preparation_seconds: "
            "before the first question",
        ),
        column("mean", "DOUBLE", "Mean over the questions; null without a value", nullable=True),
        column("low", "DOUBLE", "Lower end of its 95 % bootstrap interval", nullable=True),
        column("high", "DOUBLE", "Upper end", nullable=True),
        column("added", "DOUBLE", "What a step adds to what it is added to, by question", nullable=True),
        column("added_low", "DOUBLE", "Lower end of its 95 % bootstrap interval", nullable=True),
        column("added_high", "DOUBLE", "Upper end", nullable=True),
        column("questions", "INTEGER", "Questions with a value"),
        column("paper", "VARCHAR", "What the paper prints, on other graphs and with a model", nullable=True),
    ),
)

STUDY_TABLES = (
    PATH_SCORES,
    PATH_JUDGEMENTS,
    PATH_SUMMARY,
    RECALL_WINDOWS,
    PATH_STUDY,
)
