"""All commands: where each is, and what it does."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from graphrag_dagster.cli.lazy_commands import LazyCommand
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.catalogue.plugins import system_entry_points

_OURS = "graphrag_dagster."
_MODELS, _ADDED = "Models and cost", "Of other packages"

#: Exit codes of a run that may ask models.
_CODES = (
    "Exit codes: 0 done; 1 an error; 3 done, but some model results are missing; 4 stopped at a token or "
    "spending limit"
)
#: Heading, name, module and function below ``graphrag_dagster.cli.commands``, and what the command does.
_TABLE: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Start": {
        "demo": ("demo_commands:demo", "Index a sample corpus and ask it three questions, without a model."),
        "init": ("corpus.create_commands:init_corpus", "Make a corpus folder with a commented corpus.yaml."),
        "index": (
            "index_command:index",
            "Index a corpus: graph, communities, reports and embeddings. Does nothing if nothing changed.\n\n"
            f"{_CODES}; 5 waiting for a batch.",
        ),
        "corpora": ("corpus.show_commands:list_corpora", "List the corpora and what each index contains."),
        "status": (
            "corpus.status_commands:show_status",
            "Show what changed since a corpus was published, what an index would redo, and its cost.\n\n"
            "Exit codes: 0 up to date; 1 an error; 6 out of date.",
        ),
    },
    "Ask": {
        "ask": (
            "ask_commands:ask_corpus",
            "Answer a question, citing file, character range and quoted words.",
        ),
        "answer": (
            "studies.answer_commands:answer_corpus",
            "Answer the corpus's questions with the search methods in corpus.yaml. Reuses answers that "
            f"still hold.\n\n{_CODES}.",
        ),
        "sql": ("sql_commands:run_sql", "Query a corpus's tables, read-only, without files or the network."),
        "cypher": (
            "cypher_commands:run_cypher",
            "Query a corpus's graph in Cypher (read-only), or ask in natural language.",
        ),
        "paths": (
            "studies.lego_commands:paths",
            "Find graph paths that answer a question, by one instance or several beside each other, or "
            f"measure instances on questions with gold answers.\n\n{_CODES}.",
        ),
    },
    "Look": {
        "show": ("corpus.show_commands:show_corpus", "Show an index: counts, files not read, communities."),
        "why": (
            "lineage_commands:show_why",
            "Show the provenance of a row, down to the words of the documents.",
        ),
        "entities": ("entity_commands:show_entities", "List entities and their names, or show one."),
        "explore": ("explore_commands:explore", "Open the explorer in a browser: map, questions, sources."),
    },
    "Evaluate": {
        "evaluate": (
            "studies.evaluation_commands:evaluate_corpus",
            "Evaluate the search methods on a corpus: questions, answers, judgements, claims, tests, "
            f"report.\n\nReuses earlier results. {_CODES}; 5 waiting for a batch.",
        ),
        "study": (
            "studies.study_commands:run_study",
            "Study what a setting does on a sample of the corpus.",
        ),
        "train-paths": (
            "studies.lego_commands:train_paths",
            "Learn from the question files which paths answer: fine-tune the scorer, or write a "
            "selector's file.",
        ),
    },
    "Serve": {
        "serve": (
            "serve_commands:serve",
            "Serve the corpora over HTTP, for OpenAI clients too; $GRAPHRAG_DAGSTER_TOKEN guards them.",
        ),
        "mcp": ("serve_commands:mcp", "Serve the corpora as tools of the Model Context Protocol, on stdio."),
    },
    _MODELS: {
        "doctor": (
            "doctor_commands:doctor",
            "Probe the model endpoint with a dozen small calls and report what works and what falls "
            "back; list installed plug-ins and any that failed to load.\n\n"
            "Only calls endpoints that the corpus uses or the variable names. Exit codes: 0 the "
            "endpoint is usable or not needed; 1 it is not usable, or a plug-in is not.",
        ),
        "plan": (
            "plan_commands:show_plan",
            "Estimate the calls, tokens and cost of the next index from its text units. Sends nothing.",
        ),
        "batches": (
            "cache_commands:batches",
            "Show the status of provider batches and collect finished ones.",
        ),
    },
    "Graphs from and for other tools": {
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
    "Names of entities": {
        "merge": ("entity_commands:merge_names", "Decide that names are one entity, for the next index."),
        "split": ("entity_commands:split_names", "Decide that names are different entities."),
        "undo": ("entity_commands:undo_decision", "Undo a decision on names, for the next index."),
    },
    "Care": {
        "impact": (
            "lineage_commands:show_impact",
            "Show what removing a document would delete and change.",
        ),
        "snapshots": ("corpus.snapshot_commands:show_snapshots", "List the published snapshots of a corpus."),
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

#: Where what a command of that name did is now.
_MOVED = {
    "trace": "ask NAME QUESTION --trace",
    "compare": "paths NAME QUESTION --instance 1,2,12",
    "report": "evaluate NAME --out FILE",
    "purge": "delete NAME --history",
    "plugins": "doctor",
    "question-graph": "import FILES --out FILE",
}


class _Commands(TyperGroup):
    """Our commands, then those of systems of other packages."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for heading, commands in _TABLE.items():
            for name, command in commands.items():
                self.add_command(_ours(name, *command, heading))
        self.add_command(
            TyperGroup(
                name="cache",
                help="Inspect, prune, export and copy the LLM cache.",
                commands=[_ours(name, *command, _MODELS) for name, command in _CACHE.items()],
                no_args_is_help=True,
                rich_markup_mode=None,
                rich_help_panel=_MODELS,
            )
        )
        for name, target in _commands_of_systems().items():
            # None takes the place of ours.
            if name not in self.commands:
                self.add_command(LazyCommand(name, target, _ADDED))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name; None where there is none.

        Raises:
            GraphragError: another command does that now.
        """
        if cmd_name in _MOVED and cmd_name not in self.commands:
            raise GraphragError(f"{cmd_name} is now: graphrag-dagster {_MOVED[cmd_name]}")
        return super().get_command(ctx, cmd_name)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write what each command does, heading by heading."""
        for heading in (*_TABLE, _ADDED):
            under = [
                one for one in self.commands.values() if getattr(one, "rich_help_panel", None) == heading
            ]
            if under:
                with formatter.section(heading):
                    formatter.write_dl([(one.name, (one.help or "").partition("\n\n")[0]) for one in under])


def _ours(name: str, target: str, about: str, heading: str) -> LazyCommand:
    return LazyCommand(name, f"{_OURS}cli.commands.{target}", heading, about)


def _commands_of_systems() -> dict[str, str]:
    # Ours have none, and take long to load.
    if all(point.value.startswith(_OURS) for point in system_entry_points()):
        return {}
    from graphrag_dagster.kernel.catalogue.registry import systems

    return {name: target for system in systems().values() for name, target in system.commands.items()}


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
