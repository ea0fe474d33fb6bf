"""Corpora on disk."""

import glob
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from graphrag_dagster.errors import CorpusError, GraphragError, SettingsError
from graphrag_dagster.kernel.common.file_discovery import FoundFile, discover
from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, load_settings
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.storage.corpus_names import check_name, is_allowed, name_from_folder
from graphrag_dagster.kernel.storage.home import corpora_root

_POINTER = ".path"


def ignored(settings: CorpusSettings) -> list[str]:
    """Return glob patterns of files that are not documents: those the settings ignore, and input of
    sections.
    """
    inputs = [name for section in settings.sections().values() for name in section.own_files()]
    return [*settings.files.ignore, *map(glob.escape, inputs)]


def _of(member: str, file: FoundFile) -> FoundFile:
    """Return a file of a member corpus as a file of the corpus that includes it."""
    original = file.duplicate_of
    return replace(
        file, path=f"{member}/{file.path}", duplicate_of=None if original is None else f"{member}/{original}"
    )


def _largest_file(settings: CorpusSettings) -> int:
    """Return the size limit in bytes. Graph files are streamed, so they have none by default."""
    streams = settings.makes("imports") and "max_bytes" not in settings.files.model_fields_set
    return sys.maxsize if streams else settings.files.max_bytes


class CorpusStore(Resource):
    """Finds corpora: folders below ``root``, or elsewhere if a pointer file ``NAME.path`` below it leads
    there.
    """

    root: str = ""
    accept_removals: bool = Field(
        default=False,
        description="index a folder from which all or nearly all files have disappeared since it was "
        "published",
    )

    @property
    def path(self) -> Path:
        """The corpora root; default: see :func:`graphrag_dagster.kernel.storage.home.corpora_root`."""
        return Path(self.root or corpora_root())

    def names(self) -> list[str]:
        """The names of all corpora, sorted, without entries whose name is not valid."""
        if not self.path.is_dir():
            return []
        names = {self._name_of(entry) for entry in self.path.iterdir()}
        return sorted(name for name in names if name)

    def misnamed(self) -> list[str]:
        """Folders below the root that are not corpora because their names are invalid."""
        if not self.path.is_dir():
            return []
        return sorted(
            entry.name
            for entry in self.path.iterdir()
            if entry.is_dir()
            and self._name_of(entry) is None
            and not entry.name.startswith(".")
            and self._registered_name(entry.resolve()) is None
        )

    def folder(self, name: str) -> Path:
        """Return the folder of a corpus.

        Raises:
            CorpusError: the name is invalid, or there is no such corpus.
        """
        check_name(name)
        folder, pointer = self.path / name, self.path / f"{name}{_POINTER}"
        if folder.is_dir() and self._inside_root(folder):
            return folder
        if pointer.is_file():
            target = Path(pointer.read_text(encoding="utf-8").strip())
            if target.is_dir():
                return target
            raise CorpusError(
                f"{pointer} points to {target}, which is not a folder: mount or restore it, or write its new "
                f"path into {pointer.name}. The published snapshots of corpus {name!r} stay until "
                f"'graphrag-dagster delete {name}'"
            )
        known = ", ".join(self.names()) or "none yet"
        raise CorpusError(
            f"no corpus {name!r} below {self.path.resolve()}; there are: {known}. To make a corpus of a "
            "folder elsewhere, run: graphrag-dagster index PATH"
        )

    def settings(self, name: str) -> CorpusSettings:
        """Read the settings of a corpus; see :func:`.load_settings`.

        A corpus that includes others also gets their column settings.

        Raises:
            CorpusError: no such corpus, or an included one is of another kind or includes this one.
            SettingsError: settings are invalid.
        """
        return self._settings(name, ())

    def _settings(self, name: str, above: tuple[str, ...]) -> CorpusSettings:
        settings = load_settings(self.folder(name))
        for member in settings.corpora:
            if member in (*above, name):
                circle = " → ".join((*above, name, member))
                raise CorpusError(f"corpora include each other: {circle}; remove one of them from corpora")
            included = self._settings(member, (*above, name))
            if included.kind != settings.kind:
                raise CorpusError(
                    f"corpus {name!r} is of kind {settings.kind}, but its member {member!r} is of kind "
                    f"{included.kind}; remove it from corpora"
                )
            settings = settings.with_columns_of(member, included)
        return settings

    def folders(self, name: str) -> list[Path]:
        """Return the folder of a corpus, then those of the corpora it includes.

        Raises:
            CorpusError: as :meth:`settings`.
            SettingsError: as :meth:`settings`.
        """
        return [
            self.folder(name),
            *(folder for member in self.settings(name).corpora for folder in self.folders(member)),
        ]

    def sizes(self, name: str) -> dict[str, int]:
        """Return the size in bytes of every file that an index would read, by path.

        Raises:
            CorpusError: no such corpus.
            SettingsError: its settings are invalid.
        """
        return {file.path: file.bytes for file in self.found(name) if file.problem is None}

    def found(self, name: str) -> list[FoundFile]:
        """Return every file of a corpus, sorted by path; see :func:`.discover`.

        Paths of files from included corpora start with the name of their corpus.

        Raises:
            CorpusError: no such corpus, or one of its own files has the path of an included one.
            SettingsError: its settings are invalid.
        """
        settings = self.settings(name)
        files = discover(self.folder(name), max_bytes=_largest_file(settings), ignore=ignored(settings))
        for member in settings.corpora:
            if any(file.path.split("/")[0] == member for file in files):
                raise CorpusError(
                    f"the folder of corpus {name!r} has its own {member!r}, and the corpus includes a corpus "
                    "of that name; rename one of them"
                )
            files += [_of(member, file) for file in self.found(member)]
        return sorted(files, key=lambda file: file.path)

    def register(self, folder: Path, name: str | None = None) -> str:
        """Register a folder as a corpus, and return its name: the given one, else one derived from the
        folder's name.

        A folder directly below the root needs no registration; for any other a pointer file is written. A
        registered folder keeps its name unless another is given. A derived name that is taken by another
        folder gets a number.

        Raises:
            CorpusError: it is not a folder, or the given name is invalid or taken by another folder.
        """
        if not folder.is_dir():
            raise CorpusError(f"{folder} is not a folder")
        target = folder.resolve()
        if name is None:
            name = self._registered_name(target) or self._unused_name(name_from_folder(target.name), target)
        check_name(name)
        if target.parent == self.path.resolve() and name == target.name:
            return name
        if name in self.names():
            taken = self.folder(name).resolve()
            if taken != target:
                raise CorpusError(
                    f"the name {name!r} is taken by the corpus in {taken}; choose another with --name"
                )
            return name
        self.path.mkdir(parents=True, exist_ok=True)
        pointer = self.path / f"{name}{_POINTER}"
        partial = pointer.with_name(f".{pointer.name}.{os.getpid()}")
        partial.write_text(f"{target}\n", encoding="utf-8")
        partial.replace(pointer)
        return name

    def resolve(self, target: str, name: str | None = None) -> str:
        """Return the name of the corpus that ``target`` names, or of the one in the folder at that path.

        A folder that is not a corpus yet is registered as by :meth:`register`.

        Args:
            target: a name or a path.
            name: name for the corpus in the folder at that path; default: see :meth:`register`.

        Raises:
            CorpusError: neither exists, or the name cannot be used.
        """
        folder = Path(target)
        is_path = os.sep in target or target in {".", ".."}
        if target in self.names() and name in {None, target}:
            return target
        if folder.is_dir() and (is_path or name or folder.resolve() != self.path.resolve() / target):
            return self.register(folder, name)
        if target in self.names():
            raise CorpusError(
                f"{target!r} is the name of a corpus, but --name needs a folder: give the path of one"
            )
        if folder.is_dir():
            # Directly below the root, with an invalid name.
            return self.register(folder)
        if folder.exists():
            raise CorpusError(f"{target} is not a folder; give the folder that holds the documents")
        known = ", ".join(self.names()) or "none yet"
        missing = target if is_path else str(Path.cwd() / target)
        named = "" if is_path else f", and no corpus {target!r} below {self.path.resolve()}"
        raise CorpusError(f"there is no folder {missing}{named}; there are the corpora: {known}")

    def name_of(self, target: str) -> str:
        """Return the name of the corpus that has that name, or whose folder is at that path or called so.

        A target that is none of these, or the name of several folders, is returned as it is.
        """
        names = self.names()
        if target in names:
            return target
        # What is too long for a path is no error of the path.
        with suppress(OSError):
            if Path(target).is_dir() and (name := self._registered_name(Path(target).resolve())):
                return name
        called_so = []
        for name in names:
            with suppress(CorpusError):
                if self.folder(name).resolve().name == target:
                    called_so.append(name)
        return called_so[0] if len(called_so) == 1 else target

    def forget(self, name: str) -> None:
        """Undo :meth:`register`: delete the pointer file, if any. The folder stays.

        So does a file of the same name that holds anything but a path.
        """
        pointer = self.path / f"{check_name(name)}{_POINTER}"
        with suppress(FileNotFoundError, UnicodeDecodeError):
            lines = pointer.read_text(encoding="utf-8").splitlines()
            if len(lines) == 1 and Path(lines[0]).is_absolute():
                pointer.unlink()

    def _registered_name(self, folder: Path) -> str | None:
        """Return the first name under which a folder is registered."""
        if folder.parent == self.path.resolve() and is_allowed(folder.name):
            return folder.name
        for pointer in sorted(self.path.glob(f"*{_POINTER}")):
            if is_allowed(pointer.stem) and pointer.is_file():
                target = Path(pointer.read_text(encoding="utf-8").strip())
                if target.is_dir() and target.resolve() == folder:
                    return pointer.stem
        return None

    def _unused_name(self, name: str, folder: Path) -> str:
        """Return the name, with a number appended if another folder has it."""
        taken, candidate, number = set(self.names()), name, 1
        while candidate in taken and self.folder(candidate).resolve() != folder:
            number += 1
            candidate = f"{name[:90].rstrip(' .-')}-{number}"
        return candidate

    def _inside_root(self, folder: Path) -> bool:
        return folder.resolve().parent == self.path.resolve()

    def _name_of(self, entry: Path) -> str | None:
        if entry.is_dir() and self._inside_root(entry):
            name = entry.name
        elif entry.suffix == _POINTER and entry.is_file():
            name = entry.stem
        else:
            return None
        return name if is_allowed(name) else None


def models_of(name: str) -> list[ModelSettings]:
    """Return the model settings of a corpus, role by role; empty if its settings cannot be read."""
    try:
        model = CorpusStore().settings(name).model
    except GraphragError:
        return []
    return [model, *(model.for_role(role) for role in model.tasks)]


def content_of(folder: Path, name: str, where: str, most_bytes: int) -> bytes:
    """Return the content of a file that a setting names.

    Args:
        folder: the corpus folder.
        name: the file's path, as in the setting.
        where: file, key and value for error messages.
        most_bytes: size limit.

    Raises:
        SettingsError: it is missing, outside the folder, not a regular file, or too large.
    """
    try:
        path = (folder / name).resolve()
    except (OSError, RuntimeError):
        raise SettingsError(f"{where} cannot be read: its links go in a circle") from None
    if not path.is_relative_to(folder.resolve()):
        raise SettingsError(f"{where} is outside the corpus folder; move it inside")
    try:
        if path.exists() and not path.is_file():
            raise SettingsError(f"{where} is not a regular file")
        if (size := path.stat().st_size) > most_bytes:
            raise SettingsError(f"{where} has {size:,} bytes; a list of questions may have {most_bytes:,}")
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{where} cannot be read: {error.strerror}") from error
