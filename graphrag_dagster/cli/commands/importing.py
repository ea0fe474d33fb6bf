"""``graphrag-dagster import``."""

from pathlib import Path

from rich.markup import escape

from graphrag_dagster.apps.interchange.importing.proposing import propose
from graphrag_dagster.cli.output.console import OUT, print_json
from graphrag_dagster.kernel.documents.files.discovery import SETTINGS_FILE
from graphrag_dagster.kernel.storage.corpora import CorpusStore

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
        OUT.print(line, soft_wrap=True, markup=False)
    for file, columns in list(found.columns.items())[:_MOST_TOLD]:
        told = ", ".join(f"{role} {column}" for role, column in columns.items())
        OUT.print(f"  {file}: {told}", soft_wrap=True, markup=False)
    for file, why in list(found.problems.items())[:_MOST_TOLD]:
        OUT.print(f"[yellow]not read: {escape(file)}: {escape(why)}[/]", soft_wrap=True)
    settings = found.folder / SETTINGS_FILE
    done = f"wrote {settings}; change it where it is wrong" if found.written else f"{settings} stays as it is"
    OUT.print(f"{done}\nnow: graphrag-dagster index {found.name}", soft_wrap=True, markup=False)
