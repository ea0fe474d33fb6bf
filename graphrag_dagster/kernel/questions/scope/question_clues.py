"""Titles, file names, numbers, periods, folders and places that a question names.

A common word is not a name. A title is surely meant if the question quotes it, calls it a document, or has it
word for word and it has three meaningful words, ends in a number, or says what kind of document it is. It is
likely meant if all its meaningful words are in the question and there are three, or two adjacent ones of
which one is capitalised.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from graphrag_dagster.kernel.documents.document_metadata import name_parts, with_spaces
from graphrag_dagster.kernel.questions.context.index_retriever import retriever_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.document_codes import clues_among, code_clues
from graphrag_dagster.kernel.questions.scope.document_names import (
    CALLED,
    FOLDERS,
    SHORT,
    Key,
    KnownDocuments,
    known_documents,
    meaningful_words,
    numbered_in,
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
from graphrag_dagster.kernel.questions.scope.question_periods import period_clues
from graphrag_dagster.kernel.questions.scope.question_words import QuestionWords
from graphrag_dagster.kernel.retrieval.search_words import words
from graphrag_dagster.kernel.text.english_words import DOCUMENTS, FILED
from graphrag_dagster.kernel.text.folding import fold

_QUOTED = re.compile(r"[“\"«]([^“”\"«»]{2,200})[”\"»]|(?<!\w)[‘']([^‘’']{2,200})[’'](?!\w)")
_FILE = re.compile(r"[\w./-]+\.\w{1,5}(?!\w)")
#: "the interview with Ada Rusk": whom or what a document is with or about, often part of its title.
_WITH = re.compile(
    rf"\b(?i:{'|'.join(sorted(DOCUMENTS))})s? (?P<with>with|about|on) "
    r"(?P<name>[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*){0,4})"
)
_SURE_WORDS = 3
#: Least share, of what the text units say of a name, that its own documents have.
_SUBJECT_SHARE = 0.06
#: Figures in an identifier.
_FIGURES = 3


def favour_of(question: str, index: IndexSnapshot, *, exact: bool = True) -> Favour:
    """Return what a question favours among the documents of a snapshot.

    Args:
        question: as asked.
        index: the documents; their names are gathered once per snapshot.
        exact: search only the documents that the question names exactly; else they are favoured.
    """
    known, names = index.once(known_documents), index.once(names_of)
    asked = QuestionWords(question)
    periods, notes = period_clues(asked, index)
    documents = [*_documents(asked, known, names), *_subjects(asked, known, names, index)]
    codes = list(code_clues(asked, known.codes, names))
    of_period = frozenset[str]().union(*(clue.document_ids for clue in periods if clue.exact))
    among = [] if codes else clues_among(asked, of_period, index)
    places = [*_places(asked, known, names), *codes, *among]
    clues = distinctive_clues([*documents, *periods, *_folders(asked, known, names), *places], len(names.ids))
    if not exact:
        clues = tuple(replace(clue, exact=False) for clue in clues)
    return Favour(clues, tuple(notes), len(names.ids), question)


def _documents(asked: QuestionWords, known: KnownDocuments, names: DocumentNames) -> Iterator[Clue]:
    for match in _FILE.finditer(asked.text):
        name = match[0].strip("./")
        positions = known.files.of_word(fold(name))
        yield _clue(name, names, positions, NAMED, exact=True, span=match.span())
    for match in _QUOTED.finditer(asked.text):
        quoted, place = match[1] or match[2], asked.within(*match.span())
        exact = asked.adjacent(FILED, place.start, place.stop)
        positions = known.titles[without_article(tuple(words(quoted)))]
        yield _clue(f"“{quoted}”", names, positions, NAMED, exact=exact, span=match.span())
    for start, end, key in known.titles.runs(asked.folded):
        if weight := _weight(asked, start, end, key):
            exact = weight == NAMED and _is_file(asked, start, end, key)
            span = asked.spans[start][0], asked.spans[end - 1][1]
            label = asked.as_written(start, end)
            yield _clue(label, names, known.titles[key], weight, exact=exact, span=span)
    for title_words, positions in known.with_all_words(asked.every):
        if len(title_words) >= _SURE_WORDS or asked.has_together(title_words):
            yield _clue(f"“{names.titles[min(positions)]}”", names, positions, LIKELY)
    for match in _WITH.finditer(asked.text):
        matches = known.with_name_words(meaningful_words(words(match["name"])))
        one = len(matches) == 1
        # A single word may as well be what was spoken of.
        is_full_name = match["with"] == "with" and " " in match["name"]
        exact = one and is_full_name and _is_conversation(names, matches[0])
        yield _clue(f"“{match['name']}”", names, matches, NAMED if one else LIKELY, exact=exact)
    for noun, number in dict.fromkeys(numbered_in(asked.folded)):
        if best := _with_most_words(known.documents_numbered(noun, number), asked, names):
            one = len(best) == 1
            exact = one and noun in DOCUMENTS
            yield _clue(f"{noun} {number}", names, best, NAMED if one else LIKELY, exact=exact)


def _subjects(
    asked: QuestionWords, known: KnownDocuments, names: DocumentNames, index: IndexSnapshot
) -> Iterator[Clue]:
    """Yield clues from names in one piece, such as that of a tool, of which other documents say little."""
    for start, end, key in known.titles.runs(asked.folded):
        span = asked.spans[start][0], asked.spans[end - 1][1]
        in_one_piece = not re.search(r"\s", asked.text[slice(*span)])
        says_more = any(meaningful_words(key)) and not (FILED | DOCUMENTS).intersection(key)
        if in_one_piece and says_more and not asked.timed.intersection(range(start, end)):
            ids = frozenset(names.ids[position] for position in known.titles[key])
            if retriever_of(index).share_of(" ".join(key), ids) >= _SUBJECT_SHARE:
                yield Clue("document", asked.as_written(start, end), ids, NAMED, span=span)


def _clue(
    label: str,
    names: DocumentNames,
    positions: Iterable[int],
    weight: float,
    *,
    exact: bool = False,
    span: tuple[int, int] | None = None,
) -> Clue:
    document_ids = frozenset(names.ids[position] for position in positions)
    return Clue("document", label, document_ids, weight, exact, span)


def _is_file(asked: QuestionWords, start: int, end: int, key: Key) -> bool:
    """Whether a title in the question can only be that of a document.

    It has a noun for a document in it or beside it, or is one word with three figures, like INC-2017-04.
    """
    is_identifier = _is_identifier(asked, start, end)
    return is_identifier or bool(FILED.intersection(key)) or asked.adjacent(FILED, start, end)


def _is_identifier(asked: QuestionWords, start: int, end: int) -> bool:
    written = asked.text[asked.spans[start][0] : asked.spans[end - 1][1]]
    figures = sum(character.isdigit() for character in written)
    return figures >= _FIGURES and not written.isdigit() and not re.search(r"\s", written)


def _is_conversation(names: DocumentNames, position: int) -> bool:
    """Whether the name of a document says that it is a conversation, an episode or the like."""
    parts = words(name_parts(f"{names.titles[position]} {names.paths[position]}"))
    return any(word in DOCUMENTS or word in SHORT for word in parts)


def _weight(asked: QuestionWords, start: int, end: int, key: Key) -> float | None:
    """Return the weight of a title that occurs in the question; None if it is not meant."""
    meaning = sum(1 for _ in meaningful_words(key))
    has_capital = asked.has_capital(range(start, end))
    if not meaning:
        return None
    if _is_identifier(asked, start, end):
        return NAMED
    is_sure = meaning >= _SURE_WORDS or key[-1].isdigit() or asked.names_source(start)
    is_introduced = asked.adjacent(CALLED, start, end)
    is_document = (has_capital or meaning > 1) and asked.adjacent(DOCUMENTS, start, end)
    if is_sure or is_introduced or is_document:
        return NAMED
    if not has_capital or meaning == 1:
        return None
    return NAMED if DOCUMENTS.intersection(key) else LIKELY


def _with_most_words(positions: Iterable[int], asked: QuestionWords, names: DocumentNames) -> list[int]:
    """Return the positions of the documents whose title and path share the most words with the question."""
    shared = {
        position: len(
            asked.every
            & set(meaningful_words(words(f"{names.titles[position]} {with_spaces(names.paths[position])}")))
        )
        for position in sorted(positions)
    }
    return [position for position, number in shared.items() if number == max(shared.values())]


def _folders(asked: QuestionWords, known: KnownDocuments, names: DocumentNames) -> Iterator[Clue]:
    for start, end, key in known.folders.runs(asked.folded):
        if asked.adjacent(FOLDERS, start, end):
            folders = names.folders
            for folder in sorted(folders[position] for position in known.folders[key]):
                below = enumerate(path.startswith(f"{folder}/") for path in names.paths)
                ids = frozenset(names.ids[position] for position, is_below in below if is_below)
                yield Clue("folder", folder, ids, NAMED, exact=True)


def _places(asked: QuestionWords, known: KnownDocuments, names: DocumentNames) -> Iterator[Clue]:
    for start, end, key in known.located.runs(asked.folded):
        if asked.has_capital(range(start, end)):
            ids = frozenset(names.ids[position] for position in known.located[key])
            yield Clue("place", " ".join(asked.written[start:end]), ids, LIKELY)
