"""Titles, file names, numbers, periods, folders and places that a question names.

A common word is no name. A title counts for sure where the question quotes it, says that it is a document, or
holds it word for word and it has three words of meaning, ends in a number, or says what document it is.
It is likely meant where all its words of meaning are in the question, and there are three, or two that stand
together, one with a capital.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from graphrag_dagster.kernel.documents.document_metadata import spaced
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.document_names import (
    BEYOND,
    CALLED,
    FOLDERS,
    IN_TIME,
    Key,
    KnownDocuments,
    known_of,
    numbered_in,
    of_meaning,
    with_title_words,
    without_article,
)
from graphrag_dagster.kernel.questions.scope.favoured_documents import (
    LIKELY,
    NAMED,
    Clue,
    DocumentNames,
    Favour,
    distinctive,
    names_of,
)
from graphrag_dagster.kernel.questions.scope.scope_selection import periods_in_index
from graphrag_dagster.kernel.retrieval.search_words import words, words_with_case
from graphrag_dagster.kernel.text.english_words import DOCUMENTS
from graphrag_dagster.kernel.text.periods import NamedPeriod, periods_in

_QUOTED = re.compile(r"[“\"«]([^“”\"«»]{2,200})[”\"»]|(?<!\w)[‘']([^‘’']{2,200})[’'](?!\w)")
_FILE = re.compile(r"[\w./-]+\.\w{1,5}(?!\w)")
#: "the interview with Ada Rusk": who or what a document is with or about, often a part of its title.
_WITH = re.compile(
    rf"\b(?i:{'|'.join(sorted(DOCUMENTS))})s? (?:with|about|on) "
    r"(?P<name>[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*){0,4})"
)
_SURE_WORDS, _NEAR = 3, 3
#: Days of a document's period in which it is still of the shorter one that is named.
_WIDEST = 366


def favour_of(question: str, index: IndexSnapshot) -> Favour:
    """Return what a question favours among the documents of a snapshot.

    Args:
        question: as asked.
        index: the documents; what they are called by is gathered once per snapshot.
    """
    known, names = index.once(known_of), index.once(names_of)
    asked = _Question(question)
    periods, notes = _periods(asked, index)
    documents = _documents(asked, known, names)
    clues = [*documents, *periods, *_folders(asked, known, names), *_places(asked, known, names)]
    return Favour(distinctive(clues, len(names.ids)), tuple(notes), len(names.ids))


class _Question:
    """A question with its words, folded and as written."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = words_with_case(text)
        self.folded, self.written = found.folded, found.written
        self.every = frozenset(self.folded)

    def said(self, start: int, end: int) -> str:
        """Return words as they are written, in quotation marks."""
        found = re.search(r"\W+".join(map(re.escape, self.written[start:end])), self.text)
        return f"“{found[0] if found else ' '.join(self.written[start:end])}”"

    def has_together(self, some: frozenset[str]) -> bool:
        """Whether words stand one after another, in whatever order, one of them with a capital."""
        return any(
            frozenset(self.folded[at : at + len(some)]) == some
            and self.has_capital(range(at, at + len(some)))
            for at in range(len(self.folded) - len(some) + 1)
        )

    def has_capital(self, places: Iterable[int]) -> bool:
        """Whether one of the words has a capital that is not that of the first word."""
        return any(place and self.written[place][:1].isupper() for place in places)

    def beside(self, kinds: frozenset[str], start: int, end: int) -> bool:
        """Whether a word of a kind stands just before or after the words ``start`` to ``end``."""
        near = (*self.folded[max(0, start - 1) : start], *self.folded[end : end + 1])
        return bool(kinds.intersection(near))

    def says_source(self, start: int) -> bool:
        """Whether "according to" stands before, with or without an article."""
        return " ".join(self.folded[max(0, start - 3) : start]).removesuffix(" the").endswith("according to")


def _documents(asked: _Question, known: KnownDocuments, names: DocumentNames) -> Iterator[Clue]:
    for match in _FILE.finditer(asked.text):
        name = match[0].strip("./")
        yield _clue(name, names, known.files.of_word(name.casefold()), NAMED)
    for match in _QUOTED.finditer(asked.text):
        quoted = match[1] or match[2]
        yield _clue(f"“{quoted}”", names, known.titles[without_article(tuple(words(quoted)))], NAMED)
    for start, end, key in known.titles.runs(asked.folded):
        if weight := _weight(asked, start, end, key):
            yield _clue(asked.said(start, end), names, known.titles[key], weight)
    for some, places in known.with_all_words(asked.every):
        if len(some) >= _SURE_WORDS or asked.has_together(some):
            yield _clue(f"“{names.titles[min(places)]}”", names, places, LIKELY)
    for match in _WITH.finditer(asked.text):
        of_them = with_title_words(frozenset(of_meaning(words(match["name"]))), names)
        yield _clue(f"“{match['name']}”", names, of_them, NAMED if len(of_them) == 1 else LIKELY)
    for noun, number in dict.fromkeys(numbered_in(asked.folded)):
        if best := _of_most_words(known.numbered_so(noun, number), asked, names):
            yield _clue(f"{noun} {number}", names, best, NAMED if len(best) == 1 else LIKELY)


def _clue(called: str, names: DocumentNames, places: Iterable[int], weight: float) -> Clue:
    return Clue("document", called, frozenset(names.ids[place] for place in places), weight)


def _weight(asked: _Question, start: int, end: int, key: Key) -> float | None:
    """Return how surely a title is meant whose words stand in the question; None for not at all."""
    meaning = sum(1 for _ in of_meaning(key))
    capital = asked.has_capital(range(start, end))
    if not meaning:
        return None
    sure = meaning >= _SURE_WORDS or key[-1].isdigit() or asked.says_source(start)
    called = asked.beside(CALLED, start, end)
    document = (capital or meaning > 1) and asked.beside(DOCUMENTS, start, end)
    if sure or called or document:
        return NAMED
    if not capital or meaning == 1:
        return None
    return NAMED if DOCUMENTS.intersection(key) else LIKELY


def _of_most_words(places: Iterable[int], asked: _Question, names: DocumentNames) -> list[int]:
    """Of several documents with a number, those of whose title and path the question has most words."""
    shared = {
        place: len(
            asked.every & set(of_meaning(words(f"{names.titles[place]} {spaced(names.paths[place])}")))
        )
        for place in sorted(places)
    }
    return [place for place, number in shared.items() if number == max(shared.values())]


def _periods(asked: _Question, index: IndexSnapshot) -> tuple[list[Clue], list[str]]:
    """Documents of the periods that are named: those inside a period, else those around it."""
    clues: list[Clue] = []
    notes: list[str] = []
    spoken_of = list(periods_in(asked.text))
    known = index.once(periods_in_index) if spoken_of else pl.DataFrame()
    for named in spoken_of if len(known) else ():
        before = words(asked.text[: named.start])[-_NEAR:]
        if BEYOND.intersection(before[-2:]) or not _is_time(asked, named, before):
            continue
        first, last = named.period.start, named.period.end
        start, end = pl.col("period_start"), pl.col("period_end")
        inside = known.filter((start >= first) & (end <= last))["document_id"]
        around = (start <= first) & (end >= last) & ((end - start).dt.total_days() <= _WIDEST)
        found = frozenset(inside) or frozenset(known.filter(around)["document_id"])
        if named.ambiguous:
            notes.append(f"{named.words} was read as {first.isoformat()}")
        if found:
            weight = NAMED if _of_documents(asked, named, before) else LIKELY
            clues.append(Clue("period", named.words, found, weight))
        else:
            notes.append(f"no document is of {named.words}")
    return clues, notes


def _is_time(asked: _Question, named: NamedPeriod, before: Sequence[str]) -> bool:
    """Whether a number is a year: 2000 may count anything, but not in "in 2000"."""
    return (
        named.form != "year" or bool(IN_TIME.intersection(before[-1:])) or _of_documents(asked, named, before)
    )


def _of_documents(asked: _Question, named: NamedPeriod, before: Sequence[str]) -> bool:
    """Whether a period is clearly that of documents: it is fiscal, or a kind of document stands near it."""
    after = words(asked.text[named.end :])[:_NEAR]
    return named.form == "fiscal" or bool(DOCUMENTS.intersection((*before, *after)))


def _folders(asked: _Question, known: KnownDocuments, names: DocumentNames) -> Iterator[Clue]:
    for start, end, key in known.folders.runs(asked.folded):
        if asked.beside(FOLDERS, start, end):
            folders = names.folders
            for folder in sorted(folders[place] for place in known.folders[key]):
                below = enumerate(path.startswith(f"{folder}/") for path in names.paths)
                ids = frozenset(names.ids[place] for place, lies in below if lies)
                yield Clue("folder", folder, ids, NAMED)


def _places(asked: _Question, known: KnownDocuments, names: DocumentNames) -> Iterator[Clue]:
    for start, end, key in known.located.runs(asked.folded):
        if asked.has_capital(range(start, end)):
            ids = frozenset(names.ids[place] for place in known.located[key])
            yield Clue("place", " ".join(asked.written[start:end]), ids, LIKELY)
