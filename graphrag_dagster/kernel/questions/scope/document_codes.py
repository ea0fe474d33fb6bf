"""Documents that differ by a short code or word in their names, such as ``2009-04-at`` and ``2009-04-bo``.

The code stands for a name in the question by its beginning or its initials: ``at`` for Atlanta, ``kc`` for
Kansas City. Names and first lines tell apart the documents of one period.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

import polars as pl

from graphrag_dagster.kernel.common.packed_arrays import NumbersByWord
from graphrag_dagster.kernel.documents.document_metadata import name_parts
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.document_names import meaningful_words, singular
from graphrag_dagster.kernel.questions.scope.favoured_documents import (
    LIKELY,
    NAMED,
    Clue,
    DocumentNames,
)
from graphrag_dagster.kernel.questions.scope.question_words import QuestionWords
from graphrag_dagster.kernel.retrieval.search_words import words
from graphrag_dagster.kernel.text.english_words import DIVISIONS, DOCUMENTS

_JOINING = frozenset({"and", "or", "versus", "vs", "to", "with", "from", "the"})
#: Documents that sum up those beside them.
_SUMMARIES = frozenset({"summary", "overview"})
#: Most words of a name in a question, most documents told apart by their names, characters of a first line.
_LONGEST_NAME, _MOST_DOCUMENTS, _FIRST_LINE = 4, 2_000, 300


def code_clues(asked: QuestionWords, codes: NumbersByWord, names: DocumentNames) -> Iterator[Clue]:
    """Yield clues for names in a question that stand as a code in the names of documents.

    Such a clue is exact beside a word such as "district" or "report".

    Args:
        asked: the question.
        codes: positions of documents by code.
        names: the documents.
    """
    if not len(codes.words):
        return
    yield from _coded_summary(asked, codes, names)
    found = list(_coded_names(asked, codes))
    divisions = [_division_beside(asked, start, end) for start, end, _ in found]
    for number, (start, end, code) in enumerate(found):
        # In "the Boston and Dallas districts" the division belongs to both.
        shared = any(
            divisions[other] and _joined(asked, *sorted((found[number][:2], found[other][:2])))
            for other in range(len(found))
            if abs(other - number) == 1
        )
        if start == 0 and not divisions[number]:
            # The first word of a question has a capital anyway.
            continue
        own = asked.spans[start][0], asked.spans[end - 1][1]
        name = f"{asked.text[own[0] : own[1]]} (“{code}” in their names)"
        span = divisions[number] or (own if shared else None)
        ids = frozenset(names.ids[position] for position in codes.of_word(code))
        yield Clue("place", name, ids, NAMED if span else LIKELY, exact=span is not None, span=span)


def _coded_summary(asked: QuestionWords, codes: NumbersByWord, names: DocumentNames) -> Iterator[Clue]:
    """Yield a clue for "the summary" or "the national overview", one of the documents beside others."""
    for place, word in enumerate(asked.folded):
        before = asked.folded[max(place - 2, 0) : place]
        beginnings = [code for code in codes.words if len(code) > 1 and word.startswith(code)]
        if singular(word) in _SUMMARIES and "the" in before and len(beginnings) == 1:
            start = place if before[-1] == "the" else place - 1
            span = asked.spans[start][0], asked.spans[place][1]
            ids = frozenset(names.ids[position] for position in codes.of_word(beginnings[0]))
            label = f"{asked.text[slice(*span)]} (“{beginnings[0]}” in their names)"
            yield Clue("place", label, ids, NAMED, exact=True, span=span)


def _coded_names(asked: QuestionWords, codes: NumbersByWord) -> Iterator[tuple[int, int, str]]:
    """Yield first word, one past the last, and code of the names in a question that a code stands for."""
    timed, place = asked.timed, 0
    while place < len(asked.folded):
        for end in range(min(len(asked.folded), place + _LONGEST_NAME), place, -1):
            if not timed.intersection(range(place, end)) and (code := _code_for(asked, place, end, codes)):
                yield place, end, code
                place = end - 1
                break
        place += 1


def _joined(asked: QuestionWords, first: tuple[int, int], last: tuple[int, int]) -> bool:
    return frozenset(asked.folded[first[1] : last[0]]) <= _JOINING


def _code_for(asked: QuestionWords, start: int, end: int, codes: NumbersByWord) -> str | None:
    """Return the code for capitalised words: their initials, or the beginning of a single word."""
    name, written = asked.folded[start:end], asked.written[start:end]
    if not all(word[:1].isupper() for word in written):
        return None
    if len(name) > 1:
        initials = "".join(word[0] for word in name)
        return initials if initials in codes else None
    if name[0] in DIVISIONS or name[0] in DOCUMENTS:
        return None
    beginnings = [code for code in codes.words if name[0].startswith(code)]
    return beginnings[0] if len(beginnings) == 1 else None


def _division_beside(asked: QuestionWords, start: int, end: int) -> tuple[int, int] | None:
    """Return the characters of a name with the division beside it; None if there is none.

    A division is in "the Atlanta district" and "the district of Atlanta". A noun for a document beside the
    name, as in "Atlanta's report", is one too, but does not belong to the name.
    """
    first, last = start, end
    if singular("".join(asked.folded[end : end + 1])) in DIVISIONS:
        last = end + 1
    elif (
        start > 1
        and asked.folded[start - 1] in ("of", "for")
        and singular(asked.folded[start - 2]) in DIVISIONS
    ):
        first = start - 2
    elif not asked.adjacent(DIVISIONS | DOCUMENTS, start, end):
        return None
    return asked.spans[first][0], asked.spans[last - 1][1]


def clues_among(asked: QuestionWords, document_ids: frozenset[str], index: IndexSnapshot) -> Iterator[Clue]:
    """Yield clues that tell documents of one period apart: words of their names, else of their first lines.

    A clue is exact if the question has all words by which a document's name differs from the others'.

    Args:
        asked: the question.
        document_ids: the documents of the period.
        index: all documents.
    """
    if not 1 < len(document_ids) <= _MOST_DOCUMENTS:
        return
    rows = index.documents.filter(pl.col("document_id").is_in(list(document_ids)))
    columns = rows.select("document_id", "title", "path", pl.col("text").str.slice(0, _FIRST_LINE)).sort(
        "document_id"
    )
    own, first_lines = {}, {}
    for document_id, title, path, text in columns.iter_rows():
        own[document_id] = _meaning(f"{name_parts(title)} {name_parts(PurePosixPath(path).stem)}")
        first_lines[document_id] = _meaning(next(iter(text.strip().splitlines()), ""))
    spelled = _spelled_names(asked)
    differing = _differing(own)
    named = {one for one, its in differing.items() if its and its <= asked.every and its & spelled}
    if named:
        yield Clue("place", _label(asked, differing, named), frozenset(named), NAMED, exact=True)
        return
    for texts in (differing, _differing(first_lines)):
        shared = {one: len(its & spelled) for one, its in texts.items()}
        if best := {one for one, number in shared.items() if number and number == max(shared.values())}:
            yield Clue("place", _label(asked, texts, best), frozenset(best), NAMED)
            return


def _meaning(text: str) -> frozenset[str]:
    return frozenset(word for word in meaningful_words(words(text)) if len(word) > 2)


def _differing(texts: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return the words of each document that not all have."""
    common = frozenset[str].intersection(*texts.values())
    return {one: own - common for one, own in texts.items()}


def _spelled_names(asked: QuestionWords) -> frozenset[str]:
    """Return the words of a question that name something: capitalised, or beside a division; no periods."""
    return frozenset(
        word
        for place, word in enumerate(asked.folded)
        if place not in asked.timed
        and word not in DOCUMENTS
        and (asked.has_capital([place]) or asked.adjacent(DIVISIONS, place, place + 1))
    )


def _label(asked: QuestionWords, texts: Mapping[str, frozenset[str]], documents: Iterable[str]) -> str:
    shared = frozenset[str]().union(*(texts[one] for one in documents)) & asked.every
    return " ".join(w for w, word in zip(asked.written, asked.folded, strict=True) if word in shared)
