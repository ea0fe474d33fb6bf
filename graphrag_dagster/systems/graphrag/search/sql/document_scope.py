"""Documents that a question is limited to: a folder or file, a format, a period."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.text.periods import NamedPeriod, impossible_in, periods_in
from graphrag_dagster.kernel.text.text_similarity import stem
from graphrag_dagster.systems.graphrag.search.sql.template_slots import types_named

_DAY = timedelta(days=1)
_BEFORE = re.compile(
    r"\b(?:dated )?(?P<word>between|from|since|after|before|until|till|up to|dated|in|during|of|on|for)"
    r"(?: the)?(?: year| in)? $",
    re.IGNORECASE,
)
_AND = re.compile(r" (?:and|to|until|till|through|-|–) ", re.IGNORECASE)
_LIMITING = re.compile(rf"{_BEFORE.pattern}|{_AND.pattern}$", re.IGNORECASE)
_ONWARDS = re.compile(r" on(?:wards?)?\b", re.IGNORECASE)
_FROM_TO = re.compile(r"\s(?:to|and)\s|[–—]")


class ScopeError(ValueError):
    """A question names a folder or a day that there is not, or a day or period that cannot be told."""


@dataclass(frozen=True, slots=True)
class Days:
    """Days from ``first`` to ``last``, both included; None is open."""

    first: date | None
    last: date | None

    def __str__(self) -> str:
        """As it stands in a sentence after *dated*."""
        if self.first and self.last:
            return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"
        return f"{self.first} or later" if self.first else f"{self.last} or earlier"


def days_in(text: str) -> tuple[Days | None, str]:
    """Return the days that a text is limited to, None where it names none, and the text without them.

    >>> days_in("documents between 2019 and May 2020")
    (Days(first=datetime.date(2019, 1, 1), last=datetime.date(2020, 5, 31)), 'documents')

    Raises:
        ScopeError: there is no such day, it may be two, or the period ends before it begins.
    """
    for start, end in impossible_in(text):
        if _LIMITING.search(text[:start]):
            raise ScopeError(f"there is no {text[start:end]} in the calendar")
    found = periods_in(text)
    for place, named in enumerate(found):
        if before := _BEFORE.search(text[: named.start]):
            word = before["word"].lower()
            last = _last_period(word, found[place : place + 2], text)
            if word == "between" and last is named and not _is_span(named):
                continue
            days = _days(word, named, last)
            end = last.end
            if onwards := days.last is None and _ONWARDS.match(text, end):
                end = onwards.end()
            return days, " ".join(f"{text[: before.start()]} {text[end:]}".split())
    return None, text


def _last_period(word: str, named: list[NamedPeriod], text: str) -> NamedPeriod:
    """The second of two periods where a question speaks of the days from one to the other, else the first."""
    first, last = named[0], named[-1]
    between = _AND.fullmatch(text, first.end, last.start) if word in ("between", "from") else None
    return last if between else first


def _is_span(named: NamedPeriod) -> bool:
    """Whether a period says itself from when to when it lasts."""
    return named.form == "years" or bool(_FROM_TO.search(named.words))


def _days(word: str, named: NamedPeriod, last: NamedPeriod) -> Days:
    for one in (named, last):
        if one.ambiguous:
            raise ScopeError(f"{one.words} may be {one.either}; write the year first")
    start, end = named.period.start, last.period.end
    if last is named:
        match word:
            case "since":
                return Days(start, None)
            case "from" if not _is_span(named):
                return Days(start, None)
            case "after":
                return Days(end + _DAY, None)
            case "before":
                return Days(None, start - _DAY)
            case "until" | "till" | "up to":
                return Days(None, end)
    if end < start:
        raise ScopeError(f"from {named.words} to {last.words}: the period ends before it begins")
    return Days(start, end)


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
#: A table whose name is a word of a question is meant only where no other documents are.
_NAMED = re.compile(r"\b(?:documents?|texts?|articles?|pages?|papers?|files?)\b", re.IGNORECASE)
_FORMAT = re.compile(r"\b(?P<format>[a-z]{2,8}) (?=(?:documents?|files?)\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DocumentScope:
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
    def description(self) -> str:
        """Text after *documents* in an answer."""
        told = []
        if self.format is not None:
            told.append(f" of format {self.format}")
        if self.place is not None:
            told.append(f" of the {'folder' if self.folder else 'file'} {self.place}")
        if self.days is not None:
            told.append(f" dated {self.days}")
        return "".join(told)


def scope_in(question: str, index: IndexSnapshot) -> tuple[DocumentScope, str]:
    """Return the documents that a question is limited to, and the question without that.

    Raises:
        ScopeError: it names a folder, a file or a day that there is not; see :func:`days_in`.
    """
    days, rest = days_in(question)
    place, rest = _place_in(rest, index)
    chosen = None
    if (found := _FORMAT.search(rest)) and found["format"].lower() in index.once(_formats):
        chosen = found["format"].lower()
        rest = _without_words(rest, found)
    if found := _NOWHERE.search(rest):
        rest = _without_words(rest, found)
    return DocumentScope(place, place is None or index.once(_places)[place], chosen, days), rest


def _without_words(text: str, found: re.Match[str]) -> str:
    return " ".join((text[: found.start()] + " " + text[found.end() :]).split())


def _place_in(text: str, index: IndexSnapshot) -> tuple[str | None, str]:
    """The folder or file that a question names, and the question without it."""
    for pattern in _PLACES:
        if found := pattern.search(text):
            return _place(next(filter(None, found.groups())), index), _without_words(text, found)
    folders = {path.casefold(): path for path, folder in index.once(_places).items() if folder}
    if (found := _LAST.search(text)) and found["place"].casefold() in folders:
        return folders[found["place"].casefold()], _without_words(text, found)
    for word in () if _NAMED.search(text) else text.split():
        if (paths := index.once(_rows).get(word.casefold())) and types_named(word, index) is None:
            place = _only(word, paths)
            return place, " ".join("documents" if one == word else one for one in text.split())
    return None, text


def _place(said: str, index: IndexSnapshot) -> str:
    known = index.once(_places)
    wanted = said.strip().strip("/").casefold()
    whole = [path for path in known if path.casefold() == wanted]
    if found := whole or [path for path in known if path.casefold().rpartition("/")[2] == wanted]:
        return _only(said.strip(), found)
    folders = [path for path in known if known[path]]
    named = f"; the folders are {', '.join(folders[:10])}" if folders else "; this corpus has no folders"
    raise ScopeError(f"no folder or file of this corpus is called {said.strip()!r}{named}")


def _only(said: str, paths: list[str]) -> str:
    """The only of some paths.

    Raises:
        ScopeError: there are several.
    """
    if len(paths) > 1:
        raise ScopeError(f"{said} may be {' or '.join(paths[:10])}; write the path")
    return paths[0]


def _places(index: IndexSnapshot) -> dict[str, bool]:
    """Folders, which are True, and files, by path; the highest first."""
    files = index.documents["path"].unique().to_list()
    folders = {path[:end] for path in files for end, sign in enumerate(path) if sign == "/"}
    ordered = sorted(folders, key=lambda path: (path.count("/"), path))
    return {**dict.fromkeys(ordered, True), **dict.fromkeys(sorted(files), False)}


def _rows(index: IndexSnapshot) -> dict[str, list[str]]:
    """Table-like files by what their rows are called: the name of the file."""
    found: dict[str, list[str]] = {}
    for path in sorted(index.documents.filter(pl.col("row").is_not_null())["path"].unique()):
        name = PurePosixPath(path).stem.casefold()
        # "incident" is one of incidents, but "new" none of news.
        for one in {name, name.removesuffix("s")}:
            if stem(one) == stem(name):
                found.setdefault(one, []).append(path)
    return found


def _formats(index: IndexSnapshot) -> set[str]:
    names = index.documents["path"].unique().to_list()
    return {name.rpartition(".")[2].lower() for name in names if "." in name}
