"""``graphrag-dagster init`` and ``import``."""

from pathlib import Path

from graphrag_dagster.apps.interchange.import_proposal import propose
from graphrag_dagster.cli.console import OUT, print_json
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


def init_corpus(name: str) -> None:
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
    told = f"made {path}\nput documents into {folder}, then: graphrag-dagster index {name}"
    OUT.say(told, markup=False)


_MOST_TOLD = 10


def import_graph(path: Path, name: str | None, *, as_json: bool) -> None:
    """Make a corpus of the graphs in a file or folder, and say what they hold.

    Raises:
        CorpusError: they cannot become a corpus; says why.
        SettingsError: the folder's ``corpus.yaml`` cannot be used.
    """
    found = propose(CorpusStore(), path, name)
    if as_json:
        print_json(
            {
                "corpus": found.name,
                "folder": str(found.folder),
                "files": {file.path: file.format for graph in found.graphs for file in graph.files},
                "columns": found.columns,
                "not_read": found.problems,
                "settings": found.settings,
            }
        )
        return
    for line in found.formats():
        OUT.say(line, markup=False)
    for file, columns in list(found.columns.items())[:_MOST_TOLD]:
        told = ", ".join(f"{role} {column}" for role, column in columns.items())
        OUT.say(f"  {file}: {told}", markup=False)
    for file, why in list(found.problems.items())[:_MOST_TOLD]:
        OUT.warn(f"not read: {file}: {why}")
    settings = found.folder / SETTINGS_FILE
    done = f"wrote {settings}; change it where it is wrong" if found.written else f"{settings} stays as it is"
    OUT.say(f"{done}\nnow: graphrag-dagster index {found.name}", markup=False)
