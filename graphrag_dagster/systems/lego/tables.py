"""The tables of paths: questions with gold answers, and what every instance made of them (spec_lego §5)."""

from graphrag_dagster.kernel.tables.declaration import ENGINE, Table, column

_QUESTION = column("question_id", "VARCHAR", "Question", ref="paths.questions.question_id")
_INSTANCE = column(
    "instance", "VARCHAR", "Instance; -lex behind it: rules stood in for the model of one of its modules"
)

PATH_QUESTIONS = Table(
    "paths",
    "questions",
    "paths",
    "The questions of the corpus's question files, and the entities that they begin from",
    ("question_id",),
    (
        column(
            "question_id",
            "VARCHAR",
            "Hash of the question and the entities given with it, and of how often they came before",
        ),
        column("position", "INTEGER", "Place in the files, 0…"),
        column("file", "VARCHAR", "File below the corpus folder"),
        column("row", "INTEGER", "Line or row in it, 1…"),
        column("question", "VARCHAR", "The question, without marks of its entities"),
        column("seeds", "VARCHAR[]", "Entities that paths begin from, the surest first"),
        column(
            "linked_by",
            "VARCHAR",
            "How they were found: given with the question by their label, or by its words alone; names that "
            "stand in the question; names that are like it by vectors; or not at all",
            values=("label", "normalised", "words", "vectors", "none"),
        ),
        column("answers", "VARCHAR[]", "Gold answers, each once"),
        column("hops", "INTEGER", "Edges to the answers, where the file tells", nullable=True),
        column("unknown", "VARCHAR[]", "Entities given with the question that the graph does not have"),
        column("sampled", "BOOLEAN", "It is asked; else it is not of the sample, or cannot be asked"),
        column(
            "development",
            "BOOLEAN",
            "Windows of the subgraph are chosen by it; it is not asked",
        ),
        column(
            "problem",
            "VARCHAR",
            "What is the matter with it, the gravest first; it is asked unless it has no text",
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
    "The part of the graph that an instance looks for paths in, by question",
    ("question_id", "instance"),
    (
        _QUESTION,
        _INSTANCE,
        column("nodes", "INTEGER", "Its nodes"),
        column("edges", "INTEGER", "Its edges"),
        column("components", "INTEGER", "Its weakly connected components; a seed without an edge is one"),
        column("paths", "INTEGER", "Paths that were found"),
        column("reason", "VARCHAR", "Why there is nothing, such as no_seed; blank where there is"),
        column("cut", "BOOLEAN", "More paths were there than are looked at"),
        column("snapshot", "VARCHAR", "Published index that was read"),
        column("options", "VARCHAR", "Hash of the settings and code that decide what it gives"),
    ),
)

PATHS_FOUND = Table(
    "paths",
    "found",
    "paths",
    "The paths that answers were made from, the best first",
    ("question_id", "instance", "rank"),
    (
        _QUESTION,
        _INSTANCE,
        column("rank", "INTEGER", "1…"),
        column("text", "VARCHAR", "label -> relation -> label …; ~ before a relation against its direction"),
        column("entity_ids", "VARCHAR[]", "Its nodes, the seed first"),
        column("relations", "VARCHAR[]", "Its relations, ~ before those against their direction"),
        column("score", "DOUBLE", "By which they are ordered; 0 where nothing scores"),
        column("length", "INTEGER", "Edges"),
    ),
)

PATH_ANSWERS = Table(
    "paths",
    "answers",
    "paths",
    "What an instance answers, by question",
    ("question_id", "instance"),
    (
        _QUESTION,
        _INSTANCE,
        column("text", "VARCHAR", "The answer as people read it"),
        column("named", "VARCHAR[]", "What it names as answers, best first; null by a model", nullable=True),
        column("cited", "INTEGER[]", "For each of these the rank of the path that it rests on"),
        ENGINE,
        column("shown", "INTEGER", "Paths that it was made from"),
        column("reports", "INTEGER", "Reports that were read beside them"),
        column("problem", "VARCHAR", "Why there is no usable reply", nullable=True),
    ),
)

PATH_COSTS = Table(
    "paths",
    "costs",
    "paths",
    "What each module of an instance took, by question, whether or not replies were remembered",
    ("question_id", "instance", "module"),
    (
        _QUESTION,
        _INSTANCE,
        column(
            "module",
            "VARCHAR",
            "Part of the instance",
            values=("extraction", "retrieval", "answer"),
        ),
        column("seconds", "DOUBLE", "As they were measured when it was made"),
        column("calls", "INTEGER", "Calls of a model"),
        column("input_tokens", "INTEGER", "Tokens sent"),
        column("output_tokens", "INTEGER", "Tokens received"),
        column("scored", "INTEGER", "Texts that a scorer compared with the question"),
        column("scored_tokens", "INTEGER", "Tokens of these that a model of vectors read"),
        column("empty", "INTEGER", "Selections of which nothing was left"),
        column("problems", "VARCHAR", "Replies that could not be used, with reasons", nullable=True),
    ),
)

TABLES = (
    PATH_QUESTIONS,
    PATH_SUBGRAPHS,
    PATHS_FOUND,
    PATH_ANSWERS,
    PATH_COSTS,
)
