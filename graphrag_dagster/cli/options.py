"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer


def _name_of(target: str) -> str:
    from graphrag_dagster.kernel.storage.corpus_store import CorpusStore

    return CorpusStore().name_of(target)


Name = Annotated[str, typer.Argument(help="Name of the corpus, or its folder.", callback=_name_of)]
Yes = Annotated[
    bool, typer.Option("--yes", help="Do not ask before models are asked; needed without a terminal.")
]

Target = Annotated[str, typer.Argument(help="Name of a corpus, or path of any folder.", metavar="NAME|PATH")]

# The names of the search methods are put in where the help is shown.
Method = Annotated[str | None, typer.Option(help="{methods}; default: that of corpus.yaml.")]
Level = Annotated[
    str | None,
    typer.Option(help="Level of {levelled}: C0 (coarse), C1, …, or C-1 and above; default: the settings'."),
]
Documents = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        help="Title, path, file name or id of a document to answer from; repeatable.",
        metavar="NAME",
    ),
]
Folders = Annotated[
    list[str] | None,
    typer.Option("--folder", help="Folder of documents to answer from; repeatable.", metavar="NAME"),
]
DateFrom = Annotated[
    str | None,
    typer.Option("--from", help="First day or period, such as 2019-07 or 'FY24 Q2'.", metavar="PERIOD"),
]
DateTo = Annotated[str | None, typer.Option("--to", help="Last day or period.", metavar="PERIOD")]
Date = Annotated[str | None, typer.Option("--date", help="Day or period: --from and --to.", metavar="PERIOD")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Condition on metadata, such as 'year>=2020'; all of several hold.",
        metavar="KEY=VALUE",
    ),
]
Soft = Annotated[
    bool | None,
    typer.Option(
        "--soft-filters/--no-soft-filters", help="Favour documents and periods that the question names."
    ),
]
MaxUsd = Annotated[float | None, typer.Option(min=0, help="Spending limit of the run, in US dollars.")]
MaxTokens = Annotated[int | None, typer.Option(min=0, help="Token limit of the run, input plus output.")]
Csv = Annotated[Path | None, typer.Option(help="Write the whole result to this CSV file.")]
FormulaSafe = Annotated[
    bool, typer.Option("--formula-safe", help="Quote cells that a spreadsheet would run.")
]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Only estimate the model calls; send nothing.")]
Everything = Annotated[bool, typer.Option("--all", help="Show everything.")]
