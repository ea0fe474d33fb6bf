"""The commands and their options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from graphrag_dagster.cli.command_help import Commands, MethodCommand, Panel

app = typer.Typer(
    name="graphrag-dagster",
    cls=Commands,
    help="From a folder of documents to a graph, communities, reports and cited answers.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


def _name_of(target: str) -> str:
    from graphrag_dagster.kernel.storage.corpus_store import CorpusStore

    return CorpusStore().name_of(target)


Name = Annotated[
    str,
    typer.Argument(help="Name of the corpus, or its folder.", callback=_name_of, show_default=False),
]
Yes = Annotated[
    bool,
    typer.Option("--yes", help="Ask the model without asking you first; needed where there is no terminal."),
]

Target = Annotated[
    str,
    typer.Argument(help="Name of a corpus, or path of any folder.", metavar="NAME|PATH", show_default=False),
]

# What they say of the search methods, `Asking` puts in.
Method = Annotated[
    str | None, typer.Option(help="{methods}; default: that of corpus.yaml.", show_default=False)
]
Level = Annotated[
    str | None,
    typer.Option(
        help="Community level of {levelled}, C0 (coarse) to C3 and deeper, C-1 and above in large "
        "corpora; default: as the settings say.",
        show_default=False,
    ),
]
Documents = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        help="Title, path, file name or id of a document to answer from; several times for any of several.",
        metavar="NAME",
        show_default=False,
    ),
]
Folders = Annotated[
    list[str] | None,
    typer.Option(
        "--folder",
        help="Folder of documents to answer from; several times for any of several.",
        metavar="NAME",
        show_default=False,
    ),
]
DateFrom = Annotated[
    str | None,
    typer.Option(
        "--from", help="First day or period of documents, such as 2019-07 or 'FY24 Q2'.", metavar="PERIOD"
    ),
]
DateTo = Annotated[
    str | None, typer.Option("--to", help="Last day or period of documents.", metavar="PERIOD")
]
Date = Annotated[
    str | None, typer.Option("--date", help="Day or period of documents: --from and --to.", metavar="PERIOD")
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Condition on metadata, such as 'year>=2020' or speaker=Anna; several times for all of several.",
        metavar="KEY=VALUE",
        show_default=False,
    ),
]
Soft = Annotated[
    bool | None,
    typer.Option(
        "--soft-filters/--no-soft-filters",
        help="Favour documents and periods that the question names; default: the settings'.",
        show_default=False,
    ),
]
MaxUsd = Annotated[float | None, typer.Option(min=0, help="Spending limit of the run, in US dollars.")]
MaxTokens = Annotated[
    int | None,
    typer.Option(min=0, help="Token limit of the run, input plus output."),
]


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


@app.command(rich_help_panel=Panel.START)
def demo(
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the documents; default: harbour, beside the other corpora.", show_default=False
        ),
    ] = None,
) -> None:
    """Write a sample corpus, index it and ask it three questions. Needs no model and no network."""
    from graphrag_dagster.cli.commands.demo_commands import demo as run_demo

    if code := run_demo(folder):
        raise typer.Exit(code)


@app.command(rich_help_panel=Panel.START)
def init(
    name: Annotated[str, typer.Argument(help="Name of the new corpus.", show_default=False)],
) -> None:
    """Make a corpus folder with a commented corpus.yaml; put your documents into it."""
    from graphrag_dagster.cli.commands.corpus.create_commands import init_corpus

    init_corpus(name)


@app.command(name="import", rich_help_panel=Panel.GRAPHS)
def import_(
    path: Annotated[Path, typer.Argument(help="File or folder of a graph.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="Name of the corpus; default: the path's.")] = None,
    as_json: Json = False,
) -> None:
    """Make a corpus of a graph: triples, RDF, GraphML, or of Microsoft GraphRAG, LightRAG or Neo4j."""
    from graphrag_dagster.cli.commands.corpus.create_commands import import_graph

    import_graph(path, name, as_json=as_json)


@app.command(rich_help_panel=Panel.START)
def index(
    target: Target,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    cold: Annotated[
        bool, typer.Option("--cold", help="Detect communities from scratch, with new ids.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Run even if nothing has changed.")] = False,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the corpus in a folder; default: made of the folder's name."),
    ] = None,
    accept_removals: Annotated[
        bool,
        typer.Option(
            "--accept-removals",
            help="Index even if (nearly) all files are gone: no shrink guard.",
        ),
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over", help="Publish on the object store although another machine published last."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Index a corpus: graph, communities, reports and embeddings. Does nothing if nothing changed.

    Exit codes: 0 done; 1 an error; 3 done, but some model results are missing; 4 stopped at a token
    or spending limit; 5 waiting for a batch.
    """
    from graphrag_dagster.kernel.documents.reader_process import prestart_reader_process

    # Its start takes as long as what is loaded here.
    prestart_reader_process()
    from graphrag_dagster.cli.commands.index_commands import IndexOptions, index_corpus
    from graphrag_dagster.cli.run_budget import RunBudget

    wanted = IndexOptions(RunBudget(max_tokens, max_usd), name, cold, again, accept_removals, take_over)
    if code := index_corpus(target, wanted, as_json=as_json):
        raise typer.Exit(code)


@app.command(rich_help_panel=Panel.MODELS)
def doctor(
    target: Annotated[
        str | None,
        typer.Argument(
            help="Corpus or folder whose settings are used; default: the endpoint at $OPENAI_BASE_URL.",
            metavar="NAME|PATH",
            show_default=False,
        ),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Write the recommended settings into corpus.yaml.")
    ] = False,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Print what a bug report needs: versions, settings, counts, the last run; no keys or texts. "
            "Sends nothing.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Probe the model endpoint with a dozen small calls and report what works and what falls back.

    Only calls endpoints that the corpus uses or the variable names. Exit codes: 0 the endpoint is usable or
    not needed; 1 it is not usable.
    """
    if report:
        from graphrag_dagster.cli.bug_report import print_report

        if fix:
            raise typer.BadParameter("--report writes nothing; drop --fix")
        print_report(target, as_json=as_json)
        return
    from graphrag_dagster.cli.commands.doctor_commands import doctor as probe

    if code := probe(target, fix=fix, as_json=as_json):
        raise typer.Exit(code)


@app.command(rich_help_panel=Panel.MODELS)
def plan(target: Target, as_json: Json = False) -> None:
    """Estimate the calls, tokens and cost of the next index from the actual text units. Sends nothing."""
    from graphrag_dagster.cli.commands.plan_commands import show_plan

    show_plan(target, as_json=as_json)


@app.command(cls=MethodCommand, rich_help_panel=Panel.ASK)
def ask(
    name: Name,
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    method: Method = None,
    level: Level = None,
    response_type: Annotated[
        str | None,
        typer.Option(help="Length and layout, such as 'single sentence'; default: the settings'."),
    ] = None,
    general_knowledge: Annotated[
        bool | None,
        typer.Option(
            "--general-knowledge/--no-general-knowledge",
            help="Let the model add general knowledge, marked as such; default: from the settings.",
        ),
    ] = None,
    document: Documents = None,
    folder: Folders = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    date: Date = None,
    where: Where = None,
    soft: Soft = None,
    as_json: Json = False,
) -> None:
    """Answer a question, citing file, character range and quoted words."""
    from graphrag_dagster.cli.commands.ask_commands import ask_corpus, filters_of
    from graphrag_dagster.kernel.questions.question import Question

    filters = filters_of(document, folder, date_from, date_to, date, where, soft)
    asked = Question(question, method, level, filters, (), response_type, general_knowledge)
    ask_corpus(name, asked, as_json=as_json)


@app.command(cls=MethodCommand, rich_help_panel=Panel.ASK)
def trace(
    name: Name,
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    method: Method = None,
    level: Level = None,
    document: Documents = None,
    folder: Folders = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    date: Date = None,
    where: Where = None,
    soft: Soft = None,
) -> None:
    """Answer a question and show the provenance of each sentence as a tree."""
    from graphrag_dagster.cli.commands.ask_commands import ask_corpus, filters_of
    from graphrag_dagster.kernel.questions.question import Question

    filters = filters_of(document, folder, date_from, date_to, date, where, soft)
    ask_corpus(name, Question(question, method, level, filters), as_json=False, tree=True)


@app.command(rich_help_panel=Panel.ASK)
def answer(
    name: Name,
    document: Documents = None,
    folder: Folders = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    date: Date = None,
    where: Where = None,
    soft: Soft = None,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Answer the corpus's questions with the search methods in corpus.yaml. Reuses answers that still hold.

    Exit codes: 0 done; 1 an error; 3 done, but some model results are missing; 4 stopped at a token
    or spending limit. Losslessly repaired replies are counted and do not change the exit code.
    """
    from graphrag_dagster.cli.commands.ask_commands import filters_of
    from graphrag_dagster.cli.commands.studies.answer_commands import answer_corpus
    from graphrag_dagster.cli.run_budget import RunBudget

    filters = filters_of(document, folder, date_from, date_to, date, where, soft)
    if code := answer_corpus(name, filters, RunBudget(max_tokens, max_usd), yes=yes, as_json=as_json):
        raise typer.Exit(code)


@app.command(rich_help_panel=Panel.EVALUATE)
def evaluate(
    name: Name,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Evaluate only this many of the questions.")
    ] = None,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Only estimate the model calls; send nothing.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Evaluate the search methods on a corpus: questions, answers, judgements, claims, tests, report.

    Reuses earlier results. Exit codes: 0 done; 1 an error; 3 done, but some model results are
    missing; 4 stopped at a token or spending limit; 5 waiting for a batch.
    """
    from graphrag_dagster.cli.commands.studies.evaluation_commands import evaluate_corpus
    from graphrag_dagster.cli.run_budget import RunBudget

    code = evaluate_corpus(
        name,
        sample=sample,
        budget=RunBudget(max_tokens, max_usd),
        plan_only=plan_only,
        yes=yes,
        as_json=as_json,
    )
    if code:
        raise typer.Exit(code)


@app.command(rich_help_panel=Panel.EVALUATE)
def report(
    name: Name,
    out: Annotated[
        Path | None, typer.Option(help="Copy the report to this path.", show_default=False)
    ] = None,
) -> None:
    """Write the report of the last evaluation as one HTML page, and its figures as PNG."""
    from graphrag_dagster.cli.commands.studies.evaluation_commands import write_report

    write_report(name, out)


class Study(StrEnum):
    """What can be studied."""

    gleanings = "gleanings"
    windows = "windows"
    context = "context"
    paths = "paths"


@app.command(rich_help_panel=Panel.EVALUATE)
def study(
    name: Name,
    kind: Annotated[
        Study,
        typer.Argument(
            help="gleanings: entities by chunk size and gleanings; windows: plain retrieval by context size; "
            "context: what context nodes are worth beside random ones; paths: what recall of subgraphs is "
            "worth, and what acceleration and additional steps cost.",
            show_default=False,
        ),
    ],
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Study what a setting does, on a sample of the corpus."""
    from graphrag_dagster.cli.commands.studies.evaluation_commands import run_study
    from graphrag_dagster.cli.run_budget import RunBudget

    run_study(name, kind.value, RunBudget(max_tokens, max_usd), yes=yes, as_json=as_json)


@app.command(rich_help_panel=Panel.LOOK)
def show(
    name: Name,
    reports: Annotated[
        int | None, typer.Option(min=0, help="How many reports to print in full.", show_default=False)
    ] = None,
    level: Annotated[str, typer.Option(help="Level of the communities shown.")] = "C0",
    everything: Annotated[
        bool,
        typer.Option("--all", help="Every count, what was put aside and why, sizes of contexts, a report."),
    ] = False,
    files: Annotated[
        bool, typer.Option("--files", help="List every file with its status and the reason.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show an index on a screen: counts, files that were not read, largest communities."""
    from graphrag_dagster.cli.commands.corpus.show_commands import show_corpus

    show_corpus(name, reports, level, files=files, everything=everything, as_json=as_json)


@app.command(rich_help_panel=Panel.START)
def corpora(as_json: Json = False) -> None:
    """List the corpora and what each index contains."""
    from graphrag_dagster.cli.commands.corpus.show_commands import list_corpora

    list_corpora(as_json=as_json)


@app.command(rich_help_panel=Panel.ASK)
def sql(
    name: Name,
    query: Annotated[str, typer.Argument(help="One select statement.", show_default=False)],
    as_json: Json = False,
    csv: Annotated[Path | None, typer.Option(help="Write the whole result to this CSV file.")] = None,
    formula_safe: Annotated[
        bool,
        typer.Option(
            "--formula-safe", help="In the CSV, quote-prefix cells that a spreadsheet would run as formulas."
        ),
    ] = False,
    seconds: Annotated[float, typer.Option(min=0.1, max=86_400, help="Time limit of the query.")] = 60,
    memory_mb: Annotated[int, typer.Option(min=50, max=1_000_000, help="Memory limit of the query.")] = 1000,
) -> None:
    """Query a corpus's tables, read-only, without access to files, extensions or the network."""
    from graphrag_dagster.cli.commands.sql_commands import run_sql
    from graphrag_dagster.kernel.storage.sql_sandbox import QueryLimits

    limits = QueryLimits(seconds, memory_mb)
    run_sql(name, query, csv=csv, formula_safe=formula_safe, as_json=as_json, limits=limits)


@app.command(rich_help_panel=Panel.ASK)
def cypher(
    name: Name,
    query: Annotated[
        str | None, typer.Argument(help="One query in openCypher that only reads.", show_default=False)
    ] = None,
    ask: Annotated[
        str | None,
        typer.Option(help="Natural-language question instead of a query, such as 'Who is connected to X?'."),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            help="A value of a $name: a number, true, false, null, a list of JSON, else a text.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    as_json: Json = False,
    csv: Annotated[Path | None, typer.Option(help="Write the rows to this CSV file.")] = None,
    formula_safe: Annotated[
        bool,
        typer.Option(
            "--formula-safe", help="In the CSV, quote-prefix cells that a spreadsheet would run as formulas."
        ),
    ] = False,
) -> None:
    """Query a corpus's graph in Cypher (read-only), or ask in natural language."""
    from graphrag_dagster.cli.commands.cypher_commands import CypherOptions, run_cypher

    given = CypherOptions(query, ask, tuple(param or ()))
    run_cypher(name, given, csv=csv, formula_safe=formula_safe, as_json=as_json)


Entities = Annotated[
    list[str] | None,
    typer.Option(
        "--entity",
        help="Label of an entity that the question is about; several times for several. Default: those in "
        "[brackets], else those that it names.",
        metavar="LABEL",
        show_default=False,
    ),
]


@app.command(rich_help_panel=Panel.ASK)
def paths(
    name: Name,
    question: Annotated[
        str | None,
        typer.Argument(help="One question; default: all of the corpus's question files.", show_default=False),
    ] = None,
    instance: Annotated[
        str, typer.Option(help="Instance that is asked the question: 1 to 15, GRAG-M, or a custom one.")
    ] = "12",
    entity: Entities = None,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    plan_only: Annotated[
        bool,
        typer.Option("--plan", help="Only estimate the model calls; send nothing."),
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Find graph paths that answer a question, or measure instances on questions with gold answers.

    Exit codes: 0 done; 1 an error; 3 done, but some model results are missing; 4 stopped at a token
    or spending limit.
    """
    if question is not None:
        from graphrag_dagster.cli.commands.studies.lego_commands import ask_paths

        if plan_only:
            raise typer.BadParameter("--plan covers the question files; drop the question")
        ask_paths(name, question, [instance], entity or (), as_json=as_json)
        return
    from graphrag_dagster.cli.commands.studies.lego_study_commands import run_paths
    from graphrag_dagster.cli.run_budget import RunBudget

    budget = RunBudget(max_tokens, max_usd)
    if code := run_paths(name, budget, plan_only=plan_only, yes=yes, as_json=as_json):
        raise typer.Exit(code)


@app.command(rich_help_panel=Panel.ASK)
def compare(
    name: Name,
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    instances: Annotated[
        str, typer.Option(help="Names of instances, with commas between.", metavar="NAMES")
    ] = "1,2,6,10,12,14",
    entity: Entities = None,
    shown: Annotated[int, typer.Option("--paths", min=1, help="Paths of each that are printed.")] = 5,
    as_json: Json = False,
) -> None:
    """Compare the paths and answers of several instances."""
    from graphrag_dagster.cli.commands.studies.lego_commands import compare_paths

    compare_paths(name, question, instances, entity or (), paths=shown, as_json=as_json)


@app.command(name="train-paths", rich_help_panel=Panel.EVALUATE)
def train_paths(
    name: Name,
    folder: Annotated[
        Path | None,
        typer.Option(help="New folder for the scorer that is fine-tuned.", show_default=False),
    ] = None,
    selector_file: Annotated[
        Path | None,
        typer.Option(help="File of JSON lines, chats that a selector learns from.", show_default=False),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Questions at most, those held out among them.")] = 1000,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="With --folder: how often each pair is seen; default: once.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="With --folder: device of torch, such as cuda; default: cpu.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn from the question files which paths answer: fine-tune the scorer, or write a selector's file."""
    from graphrag_dagster.cli.commands.studies.lego_commands import tune_scorer, write_selector_file

    if (folder is None) == (selector_file is None):
        raise typer.BadParameter("give one of --folder and --selector-file")
    if folder is not None:
        tune_scorer(name, folder, most, epochs=epochs or 1, device=device or "cpu", as_json=as_json)
    elif selector_file is not None:
        if epochs or device:
            raise typer.BadParameter("--epochs and --device need --folder")
        write_selector_file(name, selector_file, most, as_json=as_json)


@app.command(name="question-graph", rich_help_panel=Panel.GRAPHS)
def question_graph(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Question files with a graph in each row: json, jsonl, parquet.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(help="New file of JSON lines.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Write the subgraphs of question files as one graph of triples, each once."""
    from graphrag_dagster.cli.commands.studies.lego_commands import write_question_graph

    write_question_graph(files, out, as_json=as_json)


@app.command(rich_help_panel=Panel.MODELS)
def batches(
    name: Annotated[str | None, typer.Argument(help="Only those of this corpus.", show_default=False)] = None,
    cancel: Annotated[str | None, typer.Option(help="Stop the batch of this id.", metavar="ID")] = None,
    as_json: Json = False,
) -> None:
    """Show the status of provider batches and collect finished ones."""
    from graphrag_dagster.cli.commands.cache_commands import cancel_batch, list_batches

    if cancel:
        cancel_batch(cancel)
    list_batches(name, as_json=as_json)


cache = typer.Typer(help="Inspect, prune, export and copy the LLM cache.", no_args_is_help=True)
app.add_typer(cache, name="cache", rich_help_panel=Panel.MODELS)


@cache.command()
def stats(as_json: Json = False) -> None:
    """Show the size of the LLM cache and what uses it."""
    from graphrag_dagster.cli.commands.cache_commands import show_stats

    show_stats(as_json=as_json)


@cache.command()
def prune(
    corpus: Annotated[str, typer.Option(help="The corpus to prune.", show_default=False)],
    everything: Annotated[
        bool, typer.Option("--everything", help="Delete everything that only this corpus uses.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Delete cached replies that a corpus no longer uses, including text of deleted documents."""
    from graphrag_dagster.cli.commands.cache_commands import prune as prune_corpus

    prune_corpus(corpus, everything=everything, as_json=as_json)


@cache.command()
def export(
    file: Annotated[Path, typer.Argument(help="File of JSON lines to write.", show_default=False)],
    corpus: Annotated[str | None, typer.Option(help="Only what this corpus uses.")] = None,
) -> None:
    """Export every cached reply and its uses to a file."""
    from graphrag_dagster.cli.commands.cache_commands import export as export_replies

    export_replies(file, corpus)


@cache.command()
def copy(
    to: Annotated[
        str,
        typer.Option(help="A file, or postgresql://user@host/database.", metavar="CACHE", show_default=False),
    ],
    as_json: Json = False,
) -> None:
    """Copy the LLM cache into another, which keeps what it has."""
    from graphrag_dagster.cli.commands.cache_commands import copy as copy_replies

    copy_replies(to, as_json=as_json)


@app.command(rich_help_panel=Panel.LOOK)
def why(
    name: Name,
    kind: Annotated[
        str,
        typer.Argument(
            help="entity, relationship, report, claim, answer, triple or summary.", show_default=False
        ),
    ],
    row: Annotated[
        str,
        typer.Argument(
            help="Its id, the beginning of that, its human_readable_id, or what it is called.",
            metavar="ID",
            show_default=False,
        ),
    ],
    everything: Annotated[bool, typer.Option("--all", help="Show everything.")] = False,
    as_json: Json = False,
) -> None:
    """Show the provenance of a row, down to the words of the documents."""
    from graphrag_dagster.cli.commands.lineage_commands import show_why

    show_why(name, kind, row, everything=everything, as_json=as_json)


@app.command(rich_help_panel=Panel.LOOK)
def entities(
    name: Name,
    entity: Annotated[
        str | None,
        typer.Argument(help="Any name of one entity, or its id; default: all.", show_default=False),
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="List which names may be one, and the commands that decide it.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show everything.")] = False,
    as_json: Json = False,
) -> None:
    """List entities and their names, or show one with the decisions on its names."""
    from graphrag_dagster.cli.commands.entity_commands import list_entities, show_entity, show_questions

    if ask and entity:
        raise typer.BadParameter("--ask lists all entities; drop the name")
    if ask:
        show_questions(name, everything=everything, as_json=as_json)
    elif entity:
        show_entity(name, entity, everything=everything, as_json=as_json)
    else:
        list_entities(name, everything=everything, as_json=as_json)


Said = Annotated[
    list[str],
    typer.Argument(help="Two names or more, as the corpus has them.", metavar="NAME...", show_default=False),
]
OfDocument = Annotated[
    str | None,
    typer.Option(
        "--document", help="Path, id or title of the one document of which it is said; default: all."
    ),
]
Who = Annotated[str | None, typer.Option(help="Who decides; default: the user of this system.")]


@app.command(rich_help_panel=Panel.NAMES)
def merge(
    name: Name, names: Said, document: OfDocument = None, who: Who = None, as_json: Json = False
) -> None:
    """Record that names are one entity, overriding the rules. The next index applies it."""
    from graphrag_dagster.cli.commands.entity_commands import decide

    decide("same", name, names, document, who, as_json=as_json)


@app.command(rich_help_panel=Panel.NAMES)
def split(
    name: Name, names: Said, document: OfDocument = None, who: Who = None, as_json: Json = False
) -> None:
    """Record that names are different entities. The next index applies it."""
    from graphrag_dagster.cli.commands.entity_commands import decide

    decide("different", name, names, document, who, as_json=as_json)


@app.command(rich_help_panel=Panel.NAMES)
def undo(
    name: Name,
    decision: Annotated[
        str | None,
        typer.Argument(
            help="Id of a decision on names; default: the last.", metavar="ID", show_default=False
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the decisions without undoing any.")] = False,
    as_json: Json = False,
) -> None:
    """Undo a decision on names. The next index runs as if it had never been made."""
    from graphrag_dagster.cli.commands.entity_commands import list_decisions, undo_decision

    if listed:
        list_decisions(name, as_json=as_json)
    else:
        undo_decision(name, decision, as_json=as_json)


@app.command(rich_help_panel=Panel.CARE)
def impact(
    name: Name,
    document: Annotated[str, typer.Argument(help="Path, id or title of a document.", show_default=False)],
    everything: Annotated[bool, typer.Option("--all", help="Print all rows.")] = False,
    as_json: Json = False,
) -> None:
    """Show what removing a document would delete and change."""
    from graphrag_dagster.cli.commands.lineage_commands import show_impact

    show_impact(name, document, everything=everything, as_json=as_json)


@app.command(rich_help_panel=Panel.CARE)
def snapshots(name: Name, as_json: Json = False) -> None:
    """List the published snapshots of a corpus. Readers use the current one."""
    from graphrag_dagster.cli.commands.corpus.snapshot_commands import show_snapshots

    show_snapshots(name, as_json=as_json)


@app.command(rich_help_panel=Panel.CARE)
def rollback(
    name: Name,
    version: Annotated[
        str | None,
        typer.Argument(help="Snapshot version; default: the previous one.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Roll readers back to an older snapshot until the next index publishes a new one."""
    from graphrag_dagster.cli.commands.corpus.snapshot_commands import roll_back

    roll_back(name, version, as_json=as_json)


class Form(StrEnum):
    """What an export can be made for."""

    microsoft = "microsoft"
    graphml = "graphml"
    rdf = "rdf"
    neo4j = "neo4j"
    triples = "triples"
    parquet = "parquet"
    ducklake = "ducklake"


@app.command("export", rich_help_panel=Panel.GRAPHS)
def export_index(
    name: Name,
    to: Annotated[
        Form,
        typer.Option(
            help="A project of Microsoft GraphRAG, GraphML, N-Triples, Neo4j's CSV, lists of triples as CSV, "
            "all tables as Parquet, or these with a DuckLake catalogue."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder; default: NAME-FORM in the current folder.", show_default=False),
    ] = None,
    formula_safe: Annotated[
        bool,
        typer.Option(
            "--formula-safe",
            help="In the CSV of triples, put an apostrophe before texts that a spreadsheet would run.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Export the published snapshot of a corpus for other tools. Replaces files of an earlier export."""
    from graphrag_dagster.cli.commands.export_commands import export_corpus

    export_corpus(name, to.value, out, formula_safe=formula_safe, as_json=as_json)


@app.command("write-back", rich_help_panel=Panel.GRAPHS)
def write_back_to_server(
    name: Name,
    level: Annotated[
        str | None,
        typer.Option(
            help="Level whose community and summary a node gets; default: that of corpus.yaml.",
            show_default=False,
        ),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove everything written for the corpus.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done without writing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write communities and summaries onto the nodes of the Neo4j server of a graph."""
    from graphrag_dagster.cli.commands.export_commands import remove_written, write_back_corpus

    if remove:
        remove_written(name, dry_run=dry_run, as_json=as_json)
    else:
        write_back_corpus(name, level, dry_run=dry_run, as_json=as_json)


@app.command(rich_help_panel=Panel.CARE)
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
) -> None:
    """Delete everything made from a corpus: tables, snapshots, report, replies, runs. Keeps its folder."""
    from graphrag_dagster.cli.commands.corpus.delete_commands import delete_corpus

    delete_corpus(name, yes=yes, as_json=as_json)


@app.command(rich_help_panel=Panel.CARE)
def purge(
    name: Name,
    keep_last: Annotated[
        bool,
        typer.Option("--keep-last", help="Keep the newest successful run of the index, and what came after."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: Json = False,
) -> None:
    """Delete a corpus's runs from Dagster: records, events and logs, including sample rows."""
    from graphrag_dagster.cli.commands.corpus.delete_commands import purge_corpus

    purge_corpus(name, keep_last=keep_last, yes=yes, as_json=as_json)


@app.command(rich_help_panel=Panel.START)
def status(target: Target, as_json: Json = False) -> None:
    """Show what changed since a corpus was published, what an index would redo, and its cost.

    Exit codes: 0 up to date; 1 an error; 6 out of date.
    """
    from graphrag_dagster.cli.commands.corpus.status_commands import show_status

    if code := show_status(target, as_json=as_json):
        raise typer.Exit(code)


@app.command(rich_help_panel=Panel.CARE)
def plugins(as_json: Json = False) -> None:
    """List installed plug-ins: engines, embedders, search methods, readers; and any that failed to load.

    Exit codes: 0 all usable; 1 at least one is not.
    """
    from graphrag_dagster.cli.commands.plugin_commands import list_plugins

    if code := list_plugins(as_json=as_json):
        raise typer.Exit(code)


@app.command(rich_help_panel=Panel.SERVE)
def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than this machine's needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes any that is free.")] = 8000,
    concurrency: Annotated[int, typer.Option(min=1, help="Maximum concurrent questions.")] = 16,
) -> None:
    """Serve the corpora over HTTP, for OpenAI clients too; $GRAPHRAG_DAGSTER_TOKEN guards them."""
    from graphrag_dagster.service.http_server import run
    from graphrag_dagster.service.settings import ServiceSettings, token_from_environment

    settings = ServiceSettings(host=host, port=port, token=token_from_environment(), max_asks=concurrency)
    if number := run(settings, typer.echo):
        raise typer.Exit(128 + number)


@app.command(rich_help_panel=Panel.LOOK)
def explore(
    name: Name,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the page with the corpus in it to this file instead of serving it."),
    ] = None,
    max_mb: Annotated[
        float,
        typer.Option("--max-mb", min=1, help="Maximum file size; the rest is left out and reported."),
    ] = 5.0,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; default: 8000, or another that is free.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open it in a browser, where there is one.")] = True,
) -> None:
    """Open the explorer in a browser: map, questions, and the text that answers cite."""
    from graphrag_dagster.cli.commands.explore_commands import explore_corpus, export_explorer

    if export:
        export_explorer(name, export, max_mb)
    elif number := explore_corpus(name, port, opens=browser):
        raise typer.Exit(128 + number)


@app.command(rich_help_panel=Panel.SERVE)
def mcp() -> None:
    """Serve the corpora as tools of the Model Context Protocol, on standard input and output."""
    from graphrag_dagster.service.mcp_server import run_stdio

    run_stdio()
