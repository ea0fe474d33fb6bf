"""What was read off the sources of a package, kept in a file for as long as none of them changes."""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphrag_dagster.core.files.own_folders import write_whole

_COMPILED = "__pycache__"
#: As old as a file has to be for its times to tell whether it was written since.
_SETTLED = 2_000_000_000


class Remembered:
    """What JSON can hold, by name, in groups.

    They hold as long as every file of the package has the size, times and number that it had, or else the
    same content: looking at a thousand files takes a hundredth of a second, reading them a tenth.
    """

    def __init__(self, root: Path, folders: Iterable[Path]) -> None:
        """Nothing is read before a group is asked for.

        Args:
            root: the folder of the package.
            folders: where the file may lie; the first one is used that can be written to, none needs be.
        """
        self._root = root
        place = hashlib.sha256(bytes(root)).hexdigest()[:16]
        self._files = [folder / f"{place}.json" for folder in folders]
        self._groups: dict[str, dict[str, Any]] | None = None
        self._seen = self._content = ""

    def group(self, name: str) -> Mapping[str, Any]:
        """Return what is known by a name of a group; empty where nothing is."""
        if self._groups is None:
            self._groups = self._read() if self._files else {}
        return self._groups.get(name, {})

    def keep(self, name: str, more: Mapping[str, Any]) -> None:
        """Add something to a group; where no folder can be written to, for this process alone."""
        known = {**self.group(name), **more}
        self._groups = {**(self._groups or {}), name: known}
        self._write()

    def _read(self) -> dict[str, dict[str, Any]]:
        self._seen = self._look()
        for file in self._files:
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
                told = json.loads(file.read_bytes())
                groups = {name: dict(group) for name, group in told["groups"].items()}
                if self._seen and told["seen"] == self._seen:
                    self._content = told["of"]
                    return groups
                self._content = self._content or self._read_sources()
                if told["of"] == self._content:
                    self._groups = groups
                    self._write()
                    return groups
        self._content = self._content or self._read_sources()
        return {}

    def _write(self) -> None:
        content = {"of": self._content, "seen": self._seen, "groups": self._groups}
        for file in self._files:
            with suppress(OSError):
                write_whole(file, json.dumps(content).encode())
                return

    def _look(self) -> str:
        """Return a digest of sizes, times and numbers of all files; empty while one is being written."""
        digest, youngest = hashlib.sha256(), 0
        for path, entry in _files_below(str(self._root)):
            of = entry.stat()
            youngest = max(youngest, of.st_mtime_ns, of.st_ctime_ns)
            told = f"{path}\0{of.st_size}\0{of.st_mtime_ns}\0{of.st_ctime_ns}\0{of.st_ino}\0"
            digest.update(os.fsencode(told))
        return digest.hexdigest() if youngest < time.time_ns() - _SETTLED else ""

    def _read_sources(self) -> str:
        digest = hashlib.sha256()
        for path, entry in _files_below(str(self._root)):
            content = Path(entry.path).read_bytes()
            digest.update(b"%s\0%d\0" % (os.fsencode(path), len(content)))
            digest.update(content)
        return digest.hexdigest()


def _files_below(folder: str, within: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            path = f"{within}{entry.name}"
            if entry.is_dir():
                if entry.name != _COMPILED:
                    yield from _files_below(entry.path, f"{path}/")
            elif "." in entry.name:
                yield path, entry
