"""Tables of LEGO-GraphRAG: questions with gold answers, and the results of every instance (spec_lego §5)."""

from graphrag_dagster.kernel.tables.declaration import ENGINE, Table, column

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
