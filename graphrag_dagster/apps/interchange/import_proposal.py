"""What a file or folder holds of graphs, and the settings under which it becomes a corpus."""

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from graphrag_dagster.apps.interchange.readers.graph_files import FileGraph, graph_files, proposed_columns
from graphrag_dagster.apps.interchange.readers.graph_formats import BOTH, MICROSOFT, NEO4J, STORE
from graphrag_dagster.apps.interchange.readers.network_lines import EDGE_LIST
from graphrag_dagster.apps.interchange.settings import ImportSettings
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE, discover
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.documents.file_records import RefusedError, UnreadableError, error_line
from graphrag_dagster.kernel.settings.corpus_settings import load_settings_file
from graphrag_dagster.kernel.storage.corpus_names import check_name, name_from_folder
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore

KIND = "graph"
#: Beside the tables in a project folder of Microsoft GraphRAG.
_OF_MICROSOFT = (
    "input",
    "cache",
    "logs",
    "reporting",
    "prompts",
    "lancedb",
    "*.json",
    "*.yaml",
    "*.yml",
    "*.zip",
)
_MICROSOFT_OUTPUT = "output"
_LARGEST = 2**62
#: Formats whose weights have no columns that could be chosen; where there are none, each counts as 1.
_WEIGHTED = (MICROSOFT, NEO4J, STORE, EDGE_LIST)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A corpus of graphs.

    Attributes:
        name: of the corpus.
        folder: of its files.
        graphs: that its files are of.
        columns: what the columns of tables hold, by path.
        problems: why files cannot be read, by path.
        settings: as ``corpus.yaml`` has them.
        written: whether ``corpus.yaml`` was written now.
    """

    name: str
    folder: Path
    graphs: tuple[FileGraph, ...]
    columns: Mapping[str, Mapping[str, str]]
    problems: Mapping[str, str]
    settings: Mapping[str, Any]
    written: bool

    def formats(self) -> list[str]:
        """What was found, in words."""
        found = Counter((graph.format, file.record) for graph in self.graphs for file in graph.files)
        return [
            f"{plural(n, 'file')} of format {kind} with {record}"
            for (kind, record), n in sorted(found.items())
        ]


def propose(corpora: CorpusStore, path: Path, name: str | None = None) -> Proposal:
    """Make a corpus of the graphs in a folder, where they stay, or of a single file, which is copied.

    ``corpus.yaml`` is written where there is none; one that says ``kind: graph`` stays as it is.

    Args:
        corpora: where corpora lie.
        path: the folder, for instance Microsoft GraphRAG's or its ``output``, or a file.
        name: of the corpus; default: that of the folder, or of the file without its ending.

    Raises:
        CorpusError: there is no such path, it holds no graph, it is a corpus of documents, or the name is
            taken or not allowed.
        SettingsError: its ``corpus.yaml`` cannot be used.
    """
    if not path.exists():
        raise CorpusError(f"{path} does not exist; name a file or folder that holds a graph")
    before = load_settings_file(path) if path.is_dir() and (path / SETTINGS_FILE).exists() else None
    if before is not None and before.kind != KIND:
        raise CorpusError(
            f"{path / SETTINGS_FILE} says that this is a corpus of {before.kind}; set kind: {KIND} there, "
            "or import the graph's files from a folder of their own"
        )
    ignored = list(before.files.ignore) if before else _ignored(path)
    found = discover(path if path.is_dir() else path.parent, max_bytes=_LARGEST, ignore=ignored)
    if not path.is_dir():
        found = [file for file in found if file.location == path.resolve()]
    given = before.section(ImportSettings).columns_of([file.path for file in found]) if before else {}
    files = graph_files(found, given)
    columns, problems = _columns(files.graphs)
    if not any(file.path not in problems for graph in files.graphs for file in graph.files):
        told = [f"  {at}: {why}" for at, why in {**problems, **files.left_out}.items()][:5]
        raise CorpusError("\n".join([f"{path} holds no graph that can be read", *told]))
    folder, called = _place_folder(corpora, path, name)
    settings = _settings(files.graphs, columns, ignored) if before is None else {}
    if before is None:
        _write(folder / SETTINGS_FILE, settings)
    return Proposal(
        called, folder, files.graphs, columns, {**problems, **files.left_out}, settings, before is None
    )


def _ignored(path: Path) -> list[str]:
    """What is no graph in a project folder of Microsoft GraphRAG."""
    project = path.is_dir() and (path / _MICROSOFT_OUTPUT).is_dir() and any(path.glob("settings.y*ml"))
    return list(_OF_MICROSOFT) if project else []


def _columns(graphs: tuple[FileGraph, ...]) -> tuple[dict[str, Mapping[str, str]], dict[str, str]]:
    columns: dict[str, Mapping[str, str]] = {}
    problems: dict[str, str] = {}
    for graph in graphs:
        for file in graph.files:
            try:
                if held := proposed_columns(file):
                    columns[file.path] = held
            except (OSError, RefusedError, UnreadableError) as error:
                problems[file.path] = error_line(error)
    return columns, problems


def _place_folder(corpora: CorpusStore, path: Path, name: str | None) -> tuple[Path, str]:
    """The folder of the corpus, known under its name; a single file is copied into one of its own."""
    if path.is_dir():
        return path, corpora.register(path, name)
    called = check_name(name) if name else name_from_folder(path.stem)
    folder = corpora.path / called
    if called in corpora.names():
        raise CorpusError(f"there is a corpus {called!r} already; give another name with --name")
    folder.mkdir(parents=True)
    shutil.copyfile(path, folder / path.name)
    return folder, called


def _settings(
    graphs: tuple[FileGraph, ...], columns: Mapping[str, Mapping[str, str]], ignored: list[str]
) -> dict[str, Any]:
    settings: dict[str, Any] = {"kind": KIND}
    if ignored:
        settings["files"] = {"ignore": ignored}
    if columns:
        settings["imports"] = {"columns": {path: dict(held) for path, held in sorted(columns.items())}}
    if any("weight" in held for held in columns.values()) or any(
        one.format in _WEIGHTED or any(file.record == BOTH for file in one.files) for one in graphs
    ):
        settings["graph"] = {"weight": "strength_sum"}
    return settings


def _write(path: Path, settings: Mapping[str, Any]) -> None:
    text = yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True)
    with path.open("x", encoding="utf-8") as file:
        file.write(f"# What the graph was found to hold; docs/reference/graph-files.md says more.\n{text}")
