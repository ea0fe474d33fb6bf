"""``graphrag-dagster init`` and ``import``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from graphrag_dagster.apps.interchange.import_proposal import Proposal, propose
from graphrag_dagster.cli.result import Result
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE
from graphrag_dagster.kernel.pipeline.corpus_deletion import derived_paths
from graphrag_dagster.kernel.storage.corpus_names import check_name
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_TEMPLATE = """\
# Settings of this corpus. Every key has a default; docs/reference/settings.md lists them all.
# description: What these documents are about, in a sentence or two.

# engine: extractive        # no model, no key; or llm: any OpenAI-compatible endpoint
# model:
#   name: gpt-4.1-mini
#   base_url: http://127.0.0.1:8080/v1    # the key comes from the variable OPENAI_API_KEY

# profile: paper            # all that the paper fixes as it has it; single keys override it

# text_units: {strategy: tokens, size: 600, overlap: 100}

# tables:                   # which columns of table-like files mean what
#   "*.csv": {text: body, title: headline, id: id, date: published}
"""


def init_corpus(
    name: Annotated[str, typer.Argument(help="Name of the new corpus.")],
) -> Result:
    """Make the folder of a new corpus with a commented settings file.

    Raises:
        CorpusError: the name is not allowed, or there is a corpus of that name already.
    """
    store, warehouse = CorpusStore(), Warehouse()
    folder = store.path / check_name(name)
    path = folder / SETTINGS_FILE
    if folder.is_dir() and any(folder.iterdir()):
        raise CorpusError(
            f"{folder} exists already, and stays as it is: put settings into its {SETTINGS_FILE}, and "
            f"documents beside it, then 'graphrag-dagster index {name}'; or choose another name"
        )
    if name in store.names() and not folder.is_dir():
        raise CorpusError(
            f"{name!r} is the name of the corpus that {store.path / name}.path leads to; choose another name"
        )
    if derived_paths(warehouse, name):
        raise CorpusError(
            f"there are tables of a corpus {name!r}, whose folder is gone: {warehouse.file(name)}; put its "
            f"folder back, choose another name, or delete them with 'graphrag-dagster delete {name}'"
        )
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(_TEMPLATE, encoding="utf-8")
    text = f"made {path}\nput documents into {folder}, then: graphrag-dagster index {name}"
    return Result({"corpus": name, "folder": folder, "settings": path}, [text])


_MOST_SHOWN = 10


def import_graph(
    paths: Annotated[
        list[Path],
        typer.Argument(help="File or folder of a graph; with --out, question files.", metavar="PATH..."),
    ],
    name: Annotated[str | None, typer.Option(help="Name of the corpus; default: the path's.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Only write the triples of question files to this new JSON lines file."),
    ] = None,
) -> Result:
    """Make a corpus of the graphs in a file or folder, or a graph of those in question files.

    Raises:
        CorpusError: they cannot become a corpus; says why.
        SettingsError: the folder's ``corpus.yaml`` cannot be used.
        GraphragError: a question file cannot be used.
    """
    if out is not None:
        from graphrag_dagster.systems.lego.studies.benchmark_forms import write_triples

        triples, rows = write_triples(paths, out)
        text = f"{out}: {triples:,} triples of {rows:,} questions"
        return Result({"file": out, "triples": triples, "questions": rows}, [text])
    if len(paths) > 1:
        raise typer.BadParameter("give one file or folder; several question files need --out")
    found = propose(CorpusStore(), paths[0], name)
    facts = {
        "corpus": found.name,
        "folder": found.folder,
        "files": {file.path: file.format for graph in found.graphs for file in graph.files},
        "columns": found.columns,
        "not_read": found.problems,
        "settings": found.settings,
    }
    return Result(facts, _proposal(found))


def _proposal(found: Proposal) -> Iterator[str | Text]:
    yield from found.formats()
    for file, columns in list(found.columns.items())[:_MOST_SHOWN]:
        yield f"  {file}: {', '.join(f'{role} {column}' for role, column in columns.items())}"
    for file, why in list(found.problems.items())[:_MOST_SHOWN]:
        yield Text(f"not read: {file}: {why}", "yellow")
    settings = found.folder / SETTINGS_FILE
    yield f"wrote {settings}; change it where it is wrong" if found.written else f"{settings} stays as it is"
    yield f"now: graphrag-dagster index {found.name}"
