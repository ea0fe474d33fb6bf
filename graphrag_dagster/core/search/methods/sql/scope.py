"""Which documents a question is limited to: a folder or file, a format, a period."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.methods.sql.days import Days, DaysError, days_in
from graphrag_dagster.core.search.methods.sql.entity_types import types_named

_OF = r"(?:in|of|from|within|under|below)"
_DOCUMENTS = (
    r"(?:(?:all |any |the |this |these )*(?:documents?|corpus|collection|texts?|archive|index|graph)\b ?)"
)
_AMONG = r"(?:in|from|within|across|among|throughout)"
_PLACE = rf"(?:{_AMONG} {_DOCUMENTS})?{_OF} (?:the )?"
_FOLDER = (
    rf"{_PLACE}(?:folder|directory|file) [\"'“]?(?P<after>[^\"'”?]+?)[\"'”]?",
    rf"{_PLACE}[\"'“]?(?P<before>[^\s\"'”?]+)[\"'”]? (?:folder|directory|file)",
)
_ENDS = r"(?=$|[,;:]| (?:is|are|was|were|do|does|did|mention|name|by|per|that|which|contain)\b)"
_PLACES = tuple(re.compile(rf"\b{one}{_ENDS}", re.IGNORECASE) for one in _FOLDER)
_LAST = re.compile(rf"\b{_PLACE}(?P<place>[^\s\"'”?]+?)/?$", re.IGNORECASE)
_NOWHERE = re.compile(rf"\b(?:named |mentioned )?{_AMONG} {_DOCUMENTS}(?=$| )", re.IGNORECASE)
_FORMAT = re.compile(r"\b(?P<format>[a-z]{2,8}) (?=(?:documents?|files?)\b)", re.IGNORECASE)


class ScopeError(ValueError):
    """A question names a folder that there is not, or a day."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Documents by where they lie, their format and their days; None: all.

    ``place`` is the path of a folder, or of a file, which ``folder`` says. A document is of ``days`` where it
    shares one with them.
    """

    place: str | None = None
    folder: bool = True
    format: str | None = None
    days: Days | None = None

    def conditions(self) -> list[str]:
        """Return what holds of these documents, as SQL."""
        told = []
        if self.place is not None:
            told.append("(path = $place or starts_with(path, $place || '/'))")
        if self.format is not None:
            told.append("lower(path) like '%.' || $format")
        if self.days and self.days.first:
            told.append("last_day >= $first::date")
        if self.days and self.days.last:
            told.append("first_day <= $last::date")
        return told

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of these."""
        days = self.days or Days(None, None)
        given = {"place": self.place, "format": self.format, "first": days.first, "last": days.last}
        return {name: str(value) for name, value in given.items() if value is not None}

    @property
    def said(self) -> str:
        """What is to be said after *documents*."""
        told = []
        if self.format is not None:
            told.append(f" of format {self.format}")
        if self.place is not None:
            told.append(f" of the {'folder' if self.folder else 'file'} {self.place}")
        if self.days is not None:
            told.append(f" dated {self.days}")
        return "".join(told)


def scope_in(question: str, index: IndexSnapshot) -> tuple[Scope, str]:
    """Return the documents that a question is limited to, and the question without that.

    Raises:
        ScopeError: it names a folder, a file or a day that there is not.
    """
    try:
        days, rest = days_in(question)
    except DaysError as error:
        raise ScopeError(str(error)) from None
    place, rest = _place_in(rest, index)
    chosen = None
    if (found := _FORMAT.search(rest)) and found["format"].lower() in index.once(_formats):
        chosen = found["format"].lower()
        rest = _without(rest, found)
    if found := _NOWHERE.search(rest):
        rest = _without(rest, found)
    return Scope(place, place is None or index.once(_places)[place], chosen, days), rest


def _without(text: str, found: re.Match[str]) -> str:
    return " ".join((text[: found.start()] + " " + text[found.end() :]).split())


def _place_in(text: str, index: IndexSnapshot) -> tuple[str | None, str]:
    """The folder or file that a question names, and the question without it."""
    for pattern in _PLACES:
        if found := pattern.search(text):
            return _place(next(filter(None, found.groups())), index), _without(text, found)
    folders = {path.casefold(): path for path, folder in index.once(_places).items() if folder}
    if (found := _LAST.search(text)) and found["place"].casefold() in folders:
        return folders[found["place"].casefold()], _without(text, found)
    for word in text.split():
        if (path := index.once(_rows).get(word.casefold())) and types_named(word, index) is None:
            return path, " ".join("documents" if one == word else one for one in text.split())
    return None, text


def _place(said: str, index: IndexSnapshot) -> str:
    known = index.once(_places)
    wanted = said.strip().strip("/").casefold()
    for path in known:
        if wanted in (path.casefold(), path.casefold().rpartition("/")[2]):
            return path
    folders = [path for path in known if known[path]]
    named = f"; the folders are {', '.join(folders[:10])}" if folders else "; this corpus has no folders"
    raise ScopeError(f"no folder or file of this corpus is called {said.strip()!r}{named}")


def _places(index: IndexSnapshot) -> dict[str, bool]:
    """Folders, which are True, and files, by path; the highest first."""
    files = index.documents["path"].unique().to_list()
    folders = {path[:end] for path in files for end, sign in enumerate(path) if sign == "/"}
    ordered = sorted(folders, key=lambda path: (path.count("/"), path))
    return {**dict.fromkeys(ordered, True), **dict.fromkeys(sorted(files), False)}


def _rows(index: IndexSnapshot) -> dict[str, str]:
    """Table-like files by what their rows are called: the name of the file."""
    tables = index.documents.filter(pl.col("row").is_not_null())["path"].unique().to_list()
    named = [(PurePosixPath(path).stem.casefold(), path) for path in sorted(tables, reverse=True)]
    return {one: path for stem, path in named for one in (stem, stem.removesuffix("s"))}


def _formats(index: IndexSnapshot) -> set[str]:
    names = index.documents["path"].unique().to_list()
    return {name.rpartition(".")[2].lower() for name in names if "." in name}
