"""Discovery: every file of a corpus folder, and the reason if it cannot be read."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from io import BufferedReader
from pathlib import Path
from typing import Literal

from graphrag_dagster.errors import CorpusError

SETTINGS_FILE = "corpus.yaml"
#: What people decided of names.
DECISIONS_FILE = "decisions.jsonl"
#: Held by who writes them.
DECISIONS_LOCK = ".decisions.jsonl.lock"

_NOT_LISTED = frozenset({SETTINGS_FILE, DECISIONS_FILE, DECISIONS_LOCK})

_EDITOR_LEFTOVERS = ("~$*", "*~", "#*#", "*.swp", "*.swo", "Thumbs.db", "desktop.ini", "__MACOSX")
#: Folders that package managers and interpreters fill; those that begin with a dot are hidden anyway.
_OF_TOOLS = frozenset({"node_modules", "bower_components", "__pycache__", "site-packages", "venv"})
#: What makes any folder a virtual environment of Python.
_ENVIRONMENT = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the corpus.

    ``path`` is relative to the corpus folder, with forward slashes; characters that text cannot hold, and
    backslashes, are escaped. ``location`` is where to read it, links resolved. ``problem`` is set when it
    must not or cannot be read, with the ``reason``; ``bytes`` is then what is known of its size.
    """

    path: str
    location: Path
    bytes: int
    problem: Literal["ignored", "refused", "failed", "duplicate"] | None = None
    reason: str | None = None
    duplicate_of: str | None = None


def discover(folder: Path, *, max_bytes: int, ignore: Sequence[str] = ()) -> list[FoundFile]:
    """List all files below the folder, at any depth, sorted by path.

    Not part of a corpus are hidden files, leftovers of editors, folders of installed packages, and what an
    ``ignore`` pattern matches (:func:`matches`): they are listed as ignored, a folder of that kind as
    one whatever it holds.
    ``corpus.yaml`` and ``decisions.jsonl`` at the top are not listed. Links to files are followed inside the
    folder; links to folders are not.

    Raises:
        CorpusError: the folder does not exist, is not a folder, or cannot be listed.
    """
    if not folder.exists():
        raise CorpusError(f"the corpus folder {folder} does not exist; create it and put the documents there")
    if not folder.is_dir():
        raise CorpusError(f"{folder} is not a folder; a corpus is a folder of documents")
    root = folder.resolve()
    try:
        os.scandir(root).close()
    except OSError as error:
        raise CorpusError(f"the corpus folder {folder} cannot be listed: {error.strerror}") from error
    return sorted(_Walk(root, max_bytes, ignore).files(), key=lambda file: file.path)


def display_path(relative: str) -> str:
    """Return a relative path as it is stored: forward slashes, every odd character escaped, one to one."""
    return display_text(relative.replace("\\", "\\\\") if os.sep == "/" else relative.replace(os.sep, "/"))


def display_text(text: str) -> str:
    """Return a text with every character escaped that is not printable."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def open_file(location: Path) -> BufferedReader:
    """Open a file of the corpus to read it; it may have become something else since it was found.

    Raises:
        OSError: it is gone, a link, no regular file, or must not be read.
    """
    # Without this flag, opening a pipe waits for whoever writes to it.
    descriptor = os.open(location, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "no regular file any more")


def _escape(char: str) -> str:
    # Undecodable bytes of a name arrive as the lone surrogates U+DC80 to U+DCFF.
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _Walk:
    def __init__(self, root: Path, max_bytes: int, ignore: Sequence[str]) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._ignore = tuple(ignore)

    def files(self) -> Iterator[FoundFile]:
        pending = [(self._root, "")]
        while pending:
            current, prefix = pending.pop()
            try:
                with os.scandir(current) as listing:
                    entries = list(listing)
            except OSError as error:
                reason = f"the folder cannot be listed: {error.strerror}"
                yield FoundFile(display_path(prefix), current, 0, "failed", reason)
                continue
            if prefix and any(entry.name == _ENVIRONMENT for entry in entries):
                reason = f"a virtual environment of Python: it holds {_ENVIRONMENT}"
                yield FoundFile(display_path(prefix), current, 0, "ignored", reason)
                continue
            for entry in entries:
                path = f"{prefix}{os.sep}{entry.name}" if prefix else entry.name
                location = current / entry.name
                if path in _NOT_LISTED:
                    continue
                if ignored := self._ignore_reason(entry, path):
                    yield FoundFile(display_path(path), location, _size(entry), "ignored", ignored)
                elif entry.is_dir(follow_symlinks=False):
                    pending.append((location, path))
                else:
                    yield self._entry(location, display_path(path), entry.is_symlink())

    def _ignore_reason(self, entry: os.DirEntry[str], relative: str) -> str | None:
        name = entry.name
        if name.startswith("."):
            return "hidden: its name begins with a dot; give it another to have it read"
        if first_match(name, _EDITOR_LEFTOVERS):
            return "a leftover of an editor or file manager, by its name"
        if name in _OF_TOOLS and entry.is_dir(follow_symlinks=False):
            return "installed packages or compiled files, by its name; give it another to have it read"
        pattern = first_match(relative.replace(os.sep, "/"), self._ignore)
        return f"files.ignore names it: {pattern}" if pattern else None

    def _entry(self, location: Path, path: str, is_link: bool) -> FoundFile:
        if is_link:
            try:
                location = location.resolve(strict=True)
            except (OSError, RuntimeError):
                reason = "a link that leads nowhere or in a circle"
                return FoundFile(path, location, 0, "failed", reason)
            if not location.is_relative_to(self._root):
                reason = "a link that leaves the corpus folder; put a copy of the file there instead"
                return FoundFile(path, location, 0, "refused", reason)
            if location.is_dir():
                folder = display_path(str(location.relative_to(self._root)))
                reason = f"a link to the folder {folder}; folders are read where they are, not through links"
                return FoundFile(path, location, 0, "duplicate", reason, folder)
        return self._file(path, location)

    def _file(self, path: str, location: Path) -> FoundFile:
        try:
            found = location.stat()
        except OSError as error:
            return FoundFile(path, location, 0, "failed", f"cannot be examined: {error.strerror}")
        if not stat.S_ISREG(found.st_mode):
            reason = "not a regular file but a pipe, socket or device"
            return FoundFile(path, location, 0, "refused", reason)
        if found.st_size > self._max_bytes:
            reason = (
                f"{found.st_size:,} bytes, more than files.max_bytes ({self._max_bytes:,}); "
                "raise that in corpus.yaml, or split the file"
            )
            return FoundFile(path, location, found.st_size, "refused", reason)
        return FoundFile(path, location, found.st_size)


def _size(entry: os.DirEntry[str]) -> int:
    """Bytes of a file that is not looked into; 0 for a folder, a link, or what has just gone."""
    try:
        return entry.stat().st_size if entry.is_file(follow_symlinks=False) else 0
    except OSError:
        return 0


def matches(path: str, pattern: str) -> bool:
    """Whether a path below the corpus folder (forward slashes) is meant by the pattern.

    A pattern without a slash is matched against every part of the path, so ``*.log`` and ``drafts`` hold at
    any depth. A pattern with a slash is anchored at the corpus folder; ``*``, ``?`` and ``[ab]`` stay within
    one part, a part ``**`` spans any number of them. A pattern that matches a folder matches everything below
    it.
    """
    parts = path.split("/")
    wanted = pattern.strip("/").split("/")
    if len(wanted) == 1 and not pattern.startswith("/"):
        return any(fnmatchcase(part, wanted[0]) for part in parts)
    # How many parts of the path the pattern so far may have taken; all at once, or many ** would take hours.
    taken = {0}
    for place, piece in enumerate(wanted, 1):
        if piece == "**":
            # At the end it means what is below, not the folder itself.
            taken = set(range(min(taken) + (place == len(wanted)), len(parts) + 1))
        else:
            taken = {at + 1 for at in taken if at < len(parts) and fnmatchcase(parts[at], piece)}
        if not taken:
            return False
    return True


def pattern_below(folder: str, pattern: str) -> str:
    """Return the pattern that means below a folder what the given one means below the corpus folder."""
    anchored = "/" in pattern.strip("/") or pattern.startswith("/")
    return f"/{folder}/{pattern.strip('/')}" if anchored else f"/{folder}/**/{pattern}"


def first_match(path: str, patterns: Sequence[str]) -> str | None:
    """Return the first pattern that matches the path, or None."""
    return next((pattern for pattern in patterns if matches(path, pattern)), None)


def hash_files(found: Sequence[FoundFile]) -> dict[str, str | None]:
    """Return path → SHA-256 of the content of files, as they are sorted; ignored files are left out.

    None for a file that must not or cannot be read.
    """
    hashes: dict[str, str | None] = {file.path: None for file in found if file.problem != "ignored"}
    for file in found:
        if not file.problem:
            with suppress(OSError), open_file(file.location) as stream:
                hashes[file.path] = hashlib.file_digest(stream, "sha256").hexdigest()
    return hashes
