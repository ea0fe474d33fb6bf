"""The folder of an export: written beside its place, and moved there once complete."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from graphrag_dagster.errors import ExportError
from graphrag_dagster.kernel.common.atomic_files import delete

#: Names an export and all that is in it.
MANIFEST = "export.json"
#: The manifest while its files take their places, so that an export after a kill knows them as its own.
_MOVING = f".{MANIFEST}.part"
_MADE_BY = "graphrag_dagster"


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of an export.

    Attributes:
        path: below the folder, with forward slashes.
        rows: that it holds; None where it holds none.
        bytes: its size; None of a folder, such as a Lance table.
        sha256: of its bytes.
        tree: of a folder, a hash of the names and bytes of all files in it.
        columns: of a table, name → type.
    """

    path: str
    rows: int | None = None
    bytes: int | None = None
    sha256: str | None = None
    tree: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {name: value for name, value in asdict(self).items() if value not in (None, {})}


class ExportWriter:
    """An export that is being written.

    Args:
        folder: where it is written, for now.
        formula_safe: cells of CSV that begin as formulas do get an apostrophe before them.

    Attributes:
        formulas: how many such cells there are, with or without one.
    """

    def __init__(self, folder: Path, *, formula_safe: bool = False) -> None:
        self._folder = folder
        self.formula_safe = formula_safe
        self.formulas = 0
        self.written: list[ExportedFile] = []

    def place(self, path: str) -> Path:
        """Return where to write a file of the export, with the folders above it made."""
        place = self._folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def note(self, path: str, rows: int | None = None, columns: Mapping[str, str] | None = None) -> None:
        """Note that a file, or the folder of a table, is whole."""
        place = self._folder / path
        if place.is_dir():
            self.written.append(ExportedFile(path, rows, tree=_hash(place), columns=columns or {}))
            return
        size, hashed = place.stat().st_size, _hash(place)
        self.written.append(ExportedFile(path, rows, size, hashed, columns=columns or {}))

    def text(self, path: str, content: str) -> None:
        """Write a text file."""
        self.place(path).write_text(content, encoding="utf-8", newline="\n")
        self.note(path)


@contextmanager
def atomic_export_folder(
    folder: Path, told: Mapping[str, Any], *, formula_safe: bool = False
) -> Iterator[ExportWriter]:
    """Write an export into a folder, which gets its files when all are whole; an earlier export's go.

    Args:
        folder: is made where it is not there; files in it that no export of ours wrote stay as they are.
        told: what the manifest says of the export as a whole.
        formula_safe: see :class:`ExportWriter`.

    Raises:
        ExportError: the folder holds something and is no export of ours, a file of the export has been
            changed since, or someone else's is where one would be.
    """
    before = _earlier_files(folder)
    making = folder.with_name(f".{folder.name}.{uuid4().hex}.part")
    try:
        making.mkdir(parents=True)
        made = ExportWriter(making, formula_safe=formula_safe)
        yield made
        files = sorted(made.written, key=lambda one: one.path)
        content = {"made_by": _MADE_BY, **told, "files": [one.to_dict() for one in files]}
        (making / MANIFEST).write_text(
            json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n"
        )
        _move_into_place(making, folder, {one.path for one in files}, before)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _earlier_files(folder: Path) -> set[str]:
    """Return the files of the export that a folder holds; none where it is empty or not there."""
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise ExportError(f"{folder} is a file; name a folder with --out")
    if not any(folder.iterdir()):
        return set()
    told = [listed for name in (MANIFEST, _MOVING) if (listed := _listed(folder / name)) is not None]
    if not told:
        raise ExportError(
            f"{folder} holds files that are no earlier export; name another folder with --out, or empty it"
        )
    for path in set().union(*told):
        place, hashes = _inside(folder, path), {listed[path] for listed in told if path in listed}
        if None not in hashes and place.exists() and _hash(place) not in hashes:
            raise ExportError(
                f"{place} has been changed since it was exported; keep it by naming another folder with "
                "--out, or delete it"
            )
    return set().union(*told)


def _listed(manifest: Path) -> dict[str, str | None] | None:
    """Return the files that a manifest names, with their hashes; None where it is none of ours."""
    try:
        told = json.loads(manifest.read_text(encoding="utf-8"))
        if told["made_by"] == _MADE_BY:
            return {str(one["path"]): one.get("sha256") or one.get("tree") for one in told["files"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return None


def _inside(folder: Path, path: str) -> Path:
    place = folder / path
    if not place.resolve().is_relative_to(folder.resolve()):
        raise ExportError(f"{folder / MANIFEST} names {path!r}, which is outside of the folder; delete it")
    return place


def _move_into_place(making: Path, folder: Path, new: set[str], before: set[str]) -> None:
    if not folder.exists():
        making.replace(folder)
        return
    for path in sorted(new - before):
        for place in (folder / path, *(folder / above for above in Path(path).parents[:-1])):
            if place.is_file() or (os.path.lexists(place) and place == folder / path):
                raise ExportError(
                    f"{place} is no file of an earlier export, and stays as it is; move it away, or name "
                    "another folder with --out"
                )
    shutil.copyfile(making / MANIFEST, making / _MOVING)
    (making / _MOVING).replace(folder / _MOVING)
    for path in sorted(before - new):
        delete(_inside(folder, path))
    for path in (*sorted(new), MANIFEST):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if (making / path).is_dir():
            delete(place)
        (making / path).replace(place)
    (folder / _MOVING).unlink()


def _hash(place: Path) -> str:
    if place.is_dir():
        files = sorted(file for file in place.rglob("*") if file.is_file())
        told = "".join(f"{_hash(file)} {file.relative_to(place).as_posix()}\n" for file in files)
        return hashlib.sha256(told.encode()).hexdigest()
    with place.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
