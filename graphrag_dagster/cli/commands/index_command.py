"""Options of ``graphrag-dagster index``, apart from its work, whose packages take long to load."""

from typing import Annotated

import typer

from graphrag_dagster.cli.options import MaxTokens, MaxUsd, Target
from graphrag_dagster.cli.result import Result


def index(
    target: Target,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    cold: Annotated[
        bool, typer.Option("--cold", help="Find communities from scratch, with new ids.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Run even if nothing has changed.")] = False,
    name: Annotated[str | None, typer.Option(help="Name of a new corpus; default: the folder's.")] = None,
    accept_removals: Annotated[
        bool, typer.Option("--accept-removals", help="Index even if nearly all files are gone.")
    ] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Publish although another machine published last.")
    ] = False,
) -> Result:
    """Index a corpus; see :func:`~graphrag_dagster.cli.commands.indexing.index_corpus`."""
    from graphrag_dagster.kernel.documents.reader_process import prestart_reader_process

    # Its start takes as long as what is loaded here.
    prestart_reader_process()
    from graphrag_dagster.cli.commands.indexing import IndexOptions, index_corpus
    from graphrag_dagster.cli.run_budget import RunBudget

    budget = RunBudget(max_tokens, max_usd)
    return index_corpus(target, IndexOptions(budget, name, cold, again, accept_removals, take_over))
