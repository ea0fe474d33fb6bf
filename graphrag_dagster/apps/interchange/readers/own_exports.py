"""Exports of ours among the files of a corpus: what in them is a graph, and what was made of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from graphrag_dagster.kernel.documents.files.discovery import FoundFile, opened

_MANIFEST, _LARGEST = "export.json", 10_000_000
_MADE_BY = "graphrag_dagster"
_BESIDE = "; the form microsoft brings it back"
#: Form → the files of it that are read.
_READ: Mapping[str, Sequence[str]] = {
    "neo4j": ("Entity.csv", "Entity-STATED-Entity.csv"),
    "rdf": ("statements.nt",),
    "parquet": (),
}
#: Form → why others are not.
_WHY: Mapping[str, str] = {
    "neo4j": f"an export tells of texts, communities and reports there{_BESIDE}",
    "rdf": "an export tells the same there in words of its own: statements.nt has what came",
    "parquet": "a table of an index, in an export of the form parquet, which is no graph; export the corpus "
    "again with --to microsoft, and import that",
}


@dataclass(frozen=True, slots=True)
class _Export:
    folder: PurePosixPath
    form: str
    files: frozenset[str]


class OwnExports:
    """The exports among some files.

    Args:
        found: the files of a corpus.
    """

    def __init__(self, found: Sequence[FoundFile]) -> None:
        told = (file for file in found if PurePosixPath(file.path).name == _MANIFEST and file.problem is None)
        self._exports = [export for file in told if (export := _export(file))]

    def left_out(self, path: str) -> str | None:
        """Return why a file of an export is not read; None of all others."""
        for export in self._exports:
            if not PurePosixPath(path).is_relative_to(export.folder):
                continue
            inside = str(PurePosixPath(path).relative_to(export.folder))
            read = export.files.intersection(_READ[export.form])
            if inside in export.files and inside not in read and (read or export.form == "parquet"):
                return _WHY[export.form]
        return None


def _export(manifest: FoundFile) -> _Export | None:
    try:
        with opened(manifest.location) as stream:
            told = json.loads(stream.read(_LARGEST))
        if told["made_by"] != _MADE_BY or told["to"] not in _READ:
            return None
        files = frozenset(str(one["path"]) for one in told["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return _Export(PurePosixPath(manifest.path).parent, told["to"], files)
