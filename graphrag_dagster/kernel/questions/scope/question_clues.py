"""Titles, file names, numbers, periods, folders and places that a question names.

A common word is not a name. A title is surely meant if the question quotes it, calls it a document, or has it
word for word and it has three meaningful words, ends in a number, or says what kind of document it is. It is
likely meant if all its meaningful words are in the question and there are three, or two adjacent ones of
which one is capitalised.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from graphrag_dagster.kernel.documents.document_metadata import with_spaces
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.document_names import (
    BEYOND,
    CALLED,
    FOLDERS,
    IN_TIME,
    Key,
    KnownDocuments,
    known_documents,
    meaningful_words,
    numbered_in,
    with_title_words,
    without_article,
)
from graphrag_dagster.kernel.questions.scope.favoured_documents import (
    LIKELY,
    NAMED,
    Clue,
    DocumentNames,
    Favour,
    distinctive_clues,
    names_of,
)
from graphrag_dagster.kernel.retrieval.search_words import words, words_with_case
from graphrag_dagster.kernel.text.english_words import DOCUMENTS
from graphrag_dagster.kernel.text.periods import NamedPeriod, periods_in

_QUOTED = re.compile(r"[“\"«]([^“”\"«»]{2,200})[”\"»]|(?<!\w)[‘']([^‘’']{2,200})[’'](?!\w)")
_FILE = re.compile(r"[\w./-]+\.\w{1,5}(?!\w)")
#: "the interview with Ada Rusk": whom or what a document is with or about, often part of its title.
_WITH = re.compile(
    rf"\b(?i:{'|'.join(sorted(DOCUMENTS))})s? (?:with|about|on) "
    r"(?P<name>[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*){0,4})"
)
_SURE_WORDS, _NEAR = 3, 3
#: Most days in a document's period that may contain the shorter period of a question.
_WIDEST = 366


def favour_of(question: str, index: IndexSnapshot) -> Favour:
    """Return what a question favours among the documents of a snapshot.

    Args:
        question: as asked.
        index: the documents; their names are gathered once per snapshot.
    """
    known, names = index.once(known_documents), index.once(names_of)
    asked = _Question(question)
    periods, notes = _periods(asked, index)
    documents = _documents(asked, known, names)
    clues = [*documents, *periods, *_folders(asked, known, names), *_places(asked, known, names)]
    return Favour(distinctive_clues(clues, len(names.ids)), tuple(notes), len(names.ids))


class _Question:
    """A question with its words, folded and as written."""

    def __init__(self, text: str) -> None:
        self.text = text
        cased_words = words_with_case(text)
        self.folded, self.written = cased_words.folded, cased_words.written
        self.every = frozenset(self.folded)

    def as_written(self, start: int, end: int) -> str:
        """Return words as written, in quotation marks."""
        match = re.search(r"\W+".join(map(re.escape, self.written[start:end])), self.text)
        return f"“{match[0] if match else ' '.join(self.written[start:end])}”"

    def has_together(self, some: frozenset[str]) -> bool:
        """Whether words are adjacent in any order and one of them is capitalised."""
        return any(
            frozenset(self.folded[start : start + len(some)]) == some
            and self.has_capital(range(start, start + len(some)))
            for start in range(len(self.folded) - len(some) + 1)
        )

    def has_capital(self, places: Iterable[int]) -> bool:
        """Whether one of the words, other than the first of the question, is capitalised."""
        return any(position and self.written[position][:1].isupper() for position in places)

    def adjacent(self, kinds: frozenset[str], start: int, end: int) -> bool:
        """Whether a word of the given kinds is adjacent to the words ``start`` to ``end``."""
        neighbours = (*self.folded[max(0, start - 1) : start], *self.folded[end : end + 1])
        return bool(kinds.intersection(neighbours))

    def names_source(self, start: int) -> bool:
        """Whether "according to" precedes, with or without an article."""
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
            yield _clue(asked.as_written(start, end), names, known.titles[key], weight)
    for title_words, positions in known.with_all_words(asked.every):
        if len(title_words) >= _SURE_WORDS or asked.has_together(title_words):
            yield _clue(f"“{names.titles[min(positions)]}”", names, positions, LIKELY)
    for match in _WITH.finditer(asked.text):
        matches = with_title_words(frozenset(meaningful_words(words(match["name"]))), names)
        yield _clue(f"“{match['name']}”", names, matches, NAMED if len(matches) == 1 else LIKELY)
    for noun, number in dict.fromkeys(numbered_in(asked.folded)):
        if best := _with_most_words(known.documents_numbered(noun, number), asked, names):
            yield _clue(f"{noun} {number}", names, best, NAMED if len(best) == 1 else LIKELY)


def _clue(label: str, names: DocumentNames, positions: Iterable[int], weight: float) -> Clue:
    return Clue("document", label, frozenset(names.ids[position] for position in positions), weight)


def _weight(asked: _Question, start: int, end: int, key: Key) -> float | None:
    """Return the weight of a title that occurs in the question; None if it is not meant."""
    meaning = sum(1 for _ in meaningful_words(key))
    has_capital = asked.has_capital(range(start, end))
    if not meaning:
        return None
    is_sure = meaning >= _SURE_WORDS or key[-1].isdigit() or asked.names_source(start)
    is_introduced = asked.adjacent(CALLED, start, end)
    is_document = (has_capital or meaning > 1) and asked.adjacent(DOCUMENTS, start, end)
    if is_sure or is_introduced or is_document:
        return NAMED
    if not has_capital or meaning == 1:
        return None
    return NAMED if DOCUMENTS.intersection(key) else LIKELY


def _with_most_words(positions: Iterable[int], asked: _Question, names: DocumentNames) -> list[int]:
    """Return the positions of the documents whose title and path share the most words with the question."""
    shared = {
        position: len(
            asked.every
            & set(meaningful_words(words(f"{names.titles[position]} {with_spaces(names.paths[position])}")))
        )
        for position in sorted(positions)
    }
    return [position for position, number in shared.items() if number == max(shared.values())]


def _periods(asked: _Question, index: IndexSnapshot) -> tuple[list[Clue], list[str]]:
    """Return clues for named periods: the documents inside a period, else those around it."""
    clues: list[Clue] = []
    notes: list[str] = []
    named_periods = list(periods_in(asked.text))
    known = index.periods if named_periods else pl.DataFrame()
    for named in named_periods if len(known) else ():
        before = words(asked.text[: named.start])[-_NEAR:]
        if BEYOND.intersection(before[-2:]) or not _is_time(asked, named, before):
            continue
        first, last = named.period.start, named.period.end
        start, end = pl.col("period_start"), pl.col("period_end")
        inside = known.filter((start >= first) & (end <= last))["document_id"]
        around = (start <= first) & (end >= last) & ((end - start).dt.total_days() <= _WIDEST)
        document_ids = frozenset(inside) or frozenset(known.filter(around)["document_id"])
        if named.ambiguous:
            notes.append(f"{named.words} was read as {first.isoformat()}")
        if document_ids:
            weight = NAMED if _is_document_period(asked, named, before) else LIKELY
            clues.append(Clue("period", named.words, document_ids, weight))
        else:
            notes.append(f"no document is of {named.words}")
    return clues, notes


def _is_time(asked: _Question, named: NamedPeriod, before: Sequence[str]) -> bool:
    """Whether a number is a year: "2000" may count anything, but not in "in 2000"."""
    return (
        named.form != "year"
        or bool(IN_TIME.intersection(before[-1:]))
        or _is_document_period(asked, named, before)
    )


def _is_document_period(asked: _Question, named: NamedPeriod, before: Sequence[str]) -> bool:
    """Whether a period is that of documents: it is fiscal, or a document noun is near."""
    after = words(asked.text[named.end :])[:_NEAR]
    return named.form == "fiscal" or bool(DOCUMENTS.intersection((*before, *after)))


def _folders(asked: _Question, known: KnownDocuments, names: DocumentNames) -> Iterator[Clue]:
    for start, end, key in known.folders.runs(asked.folded):
        if asked.adjacent(FOLDERS, start, end):
            folders = names.folders
            for folder in sorted(folders[position] for position in known.folders[key]):
                below = enumerate(path.startswith(f"{folder}/") for path in names.paths)
                ids = frozenset(names.ids[position] for position, is_below in below if is_below)
                yield Clue("folder", folder, ids, NAMED)


def _places(asked: _Question, known: KnownDocuments, names: DocumentNames) -> Iterator[Clue]:
    for start, end, key in known.located.runs(asked.folded):
        if asked.has_capital(range(start, end)):
            ids = frozenset(names.ids[position] for position in known.located[key])
            yield Clue("place", " ".join(asked.written[start:end]), ids, LIKELY)
