"""All commands: where each is, and what it does."""

from collections.abc import Mapping
from typing import Annotated

import typer
from typer.core import TyperGroup

from graphrag_dagster.cli.lazy_commands import LazyGroup, Panel, our_command

_TABLE: Mapping[Panel, Mapping[str, tuple[str, str]]] = {
    Panel.START: {
        "demo": (
            "demo_commands:demo",
            "Write a sample corpus, index it and ask it three questions. Needs no model and no network.",
        ),
        "init": (
            "corpus.create_commands:init_corpus",
            "Make a corpus folder with a commented corpus.yaml; put your documents into it.",
        ),
        "index": (
            "index_command:index",
            "Index a corpus: graph, communities, reports and embeddings. Does nothing if nothing "
            "changed.\n\n"
            "Exit codes: 0 done; 1 an error; 3 done, but some model results are missing; 4 stopped at a "
            "token or spending limit; 5 waiting for a batch.",
        ),
        "corpora": (
            "corpus.show_commands:list_corpora",
            "List the corpora and what each index contains.",
        ),
        "status": (
            "corpus.status_commands:show_status",
            "Show what changed since a corpus was published, what an index would redo, and its cost.\n\n"
            "Exit codes: 0 up to date; 1 an error; 6 out of date.",
        ),
    },
    Panel.ASK: {
        "ask": (
            "ask_commands:ask_corpus",
            "Answer a question, citing file, character range and quoted words.",
        ),
        "answer": (
            "studies.answer_commands:answer_corpus",
            "Answer the corpus's questions with the search methods in corpus.yaml. Reuses answers that "
            "still hold.\n\n"
            "Exit codes: 0 done; 1 an error; 3 done, but some model results are missing; 4 stopped at a "
            "token or spending limit. Losslessly repaired replies are counted and do not change the "
            "exit code.",
        ),
        "sql": (
            "sql_commands:run_sql",
            "Query a corpus's tables, read-only, without access to files, extensions or the network.",
        ),
        "cypher": (
            "cypher_commands:run_cypher",
            "Query a corpus's graph in Cypher (read-only), or ask in natural language.",
        ),
        "paths": (
            "studies.lego_commands:paths",
            "Find graph paths that answer a question, by one instance or several beside each other, or "
            "measure instances on questions with gold answers.\n\n"
            "Exit codes: 0 done; 1 an error; 3 done, but some model results are missing; 4 stopped at a "
            "token or spending limit.",
        ),
    },
    Panel.LOOK: {
        "show": (
            "corpus.show_commands:show_corpus",
            "Show an index on a screen: counts, files that were not read, largest communities.",
        ),
        "why": (
            "lineage_commands:show_why",
            "Show the provenance of a row, down to the words of the documents.",
        ),
        "entities": (
            "entity_commands:show_entities",
            "List entities and their names, or show one with the decisions on its names.",
        ),
        "explore": (
            "explore_commands:explore",
            "Open the explorer in a browser: map, questions, and the text that answers cite.",
        ),
    },
    Panel.EVALUATE: {
        "evaluate": (
            "studies.evaluation_commands:evaluate_corpus",
            "Evaluate the search methods on a corpus: questions, answers, judgements, claims, tests, "
            "report.\n\n"
            "Reuses earlier results. Exit codes: 0 done; 1 an error; 3 done, but some model results are "
            "missing; 4 stopped at a token or spending limit; 5 waiting for a batch.",
        ),
        "study": (
            "studies.study_commands:run_study",
            "Study what a setting does, on a sample of the corpus.",
        ),
        "train-paths": (
            "studies.lego_commands:train_paths",
            "Learn from the question files which paths answer: fine-tune the scorer, or write a "
            "selector's file.",
        ),
    },
    Panel.SERVE: {
        "serve": (
            "serve_commands:serve",
            "Serve the corpora over HTTP, for OpenAI clients too; $GRAPHRAG_DAGSTER_TOKEN guards them.",
        ),
        "mcp": (
            "serve_commands:mcp",
            "Serve the corpora as tools of the Model Context Protocol, on standard input and output.",
        ),
    },
    Panel.MODELS: {
        "doctor": (
            "doctor_commands:doctor",
            "Probe the model endpoint with a dozen small calls and report what works and what falls "
            "back; list installed plug-ins and any that failed to load.\n\n"
            "Only calls endpoints that the corpus uses or the variable names. Exit codes: 0 the "
            "endpoint is usable or not needed; 1 it is not usable, or a plug-in is not.",
        ),
        "plan": (
            "plan_commands:show_plan",
            "Estimate the calls, tokens and cost of the next index from the actual text units. Sends "
            "nothing.",
        ),
        "batches": (
            "cache_commands:batches",
            "Show the status of provider batches and collect finished ones.",
        ),
    },
    Panel.GRAPHS: {
        "import": (
            "corpus.create_commands:import_graph",
            "Make a corpus of a graph: triples, RDF, GraphML, or of Microsoft GraphRAG, LightRAG or Neo4j.",
        ),
        "export": (
            "export_commands:export_corpus",
            "Export the published snapshot of a corpus for other tools. Replaces files of an earlier export.",
        ),
        "write-back": (
            "export_commands:write_back_corpus",
            "Write communities and summaries onto the nodes of the Neo4j server of a graph.",
        ),
    },
    Panel.NAMES: {
        "merge": (
            "entity_commands:merge_names",
            "Record that names are one entity, overriding the rules. The next index applies it.",
        ),
        "split": (
            "entity_commands:split_names",
            "Record that names are different entities. The next index applies it.",
        ),
        "undo": (
            "entity_commands:undo_decision",
            "Undo a decision on names. The next index runs as if it had never been made.",
        ),
    },
    Panel.CARE: {
        "impact": (
            "lineage_commands:show_impact",
            "Show what removing a document would delete and change.",
        ),
        "snapshots": (
            "corpus.snapshot_commands:show_snapshots",
            "List the published snapshots of a corpus. Readers use the current one.",
        ),
        "rollback": (
            "corpus.snapshot_commands:roll_back",
            "Roll readers back to an older snapshot until the next index publishes a new one.",
        ),
        "delete": (
            "corpus.delete_commands:delete_corpus",
            "Delete everything made from a corpus: tables, snapshots, report, replies, runs. Keeps its "
            "folder.",
        ),
    },
}
_CACHE = {
    "stats": ("cache_commands:show_stats", "Show the size of the LLM cache and what uses it."),
    "prune": (
        "cache_commands:prune",
        "Delete cached replies that a corpus no longer uses, including text of deleted documents.",
    ),
    "export": ("cache_commands:export", "Export every cached reply and its uses to a file."),
    "copy": ("cache_commands:copy", "Copy the LLM cache into another, which keeps what it has."),
}


_MOVED = {
    "trace": "ask NAME QUESTION --trace",
    "compare": "paths NAME QUESTION --instance 1,2,12",
    "report": "evaluate NAME --out FILE",
    "purge": "delete NAME --history",
    "plugins": "doctor",
    "question-graph": "import FILES --out FILE",
}


class _Commands(LazyGroup):
    table, moved = _TABLE, _MOVED

    def __init__(self, **given: object) -> None:
        super().__init__(**given)
        self.add_command(
            TyperGroup(
                name="cache",
                help="Inspect, prune, export and copy the LLM cache.",
                commands=[our_command(name, *told, Panel.MODELS) for name, told in _CACHE.items()],
                no_args_is_help=True,
                rich_markup_mode=None,
                rich_help_panel=Panel.MODELS,
            )
        )


app = typer.Typer(
    name="graphrag-dagster",
    cls=_Commands,
    help="From a folder of documents to a graph, communities, reports and cited answers.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from graphrag_dagster import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options that stand before a command; without one, say what to do next."""
    if context.invoked_subcommand is None:
        from graphrag_dagster.cli.welcome import say_what_next

        say_what_next()
