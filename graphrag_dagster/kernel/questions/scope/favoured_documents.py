"""Documents that a question favours because it names them, their period, folder or place."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import PurePosixPath
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.retrieval.search_words import words
from graphrag_dagster.kernel.text.english_words import FILED
from graphrag_dagster.kernel.text.folding import fold, fold_case

_LEAST_PREFIX, _LISTED = 3, 8
#: Similarities of names, of 100: to accept a near match, its lead over any other, and to suggest a name.
_ALIKE, _CLEARLY, _RESEMBLING = 85, 5, 60


@dataclass(frozen=True, slots=True)
class Meant:
    """The documents that a name refers to; ``taken_for``: the name it was resolved to, if different."""

    document_ids: frozenset[str]
    taken_for: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """The names of a corpus's documents; each sequence has one entry per document."""

    ids: Sequence[str]
    titles: Sequence[str]
    paths: Sequence[str]
    source_ids: Sequence[str | None]

    def label(self, place: int) -> str:
        """Return the title and path of a document."""
        title, path = self.titles[place], self.paths[place]
        return f"{title!r} ({path})" if title != PurePosixPath(path).stem else repr(path)

    @property
    def folders(self) -> list[str]:
        """All folders that contain documents, at any depth, sorted."""
        return sorted(
            {str(folder) for path in set(self.paths) for folder in PurePosixPath(path).parents} - {"."}
        )


def names_of(index: IndexSnapshot) -> DocumentNames:
    """Return the names of a snapshot's documents; call it once per snapshot."""
    columns = ("document_id", "title", "path", "source_id")
    ordered = index.documents.select("human_readable_id", *columns).sort("human_readable_id", "document_id")
    return DocumentNames(*(column.to_list() for column in ordered.select(columns).iter_columns()))


def find_documents(name: str, known: DocumentNames) -> Meant:
    """Return the documents that a name refers to.

    An exact match, ignoring case, and accents where nothing else matches, is an id, path, file name, title or
    id in the file. Otherwise the name may be the beginning of one title or file, some of its words, or a near
    match.

    Raises:
        QuestionError: nothing matches, or the name is ambiguous; the message lists candidates.
    """
    bare = name.strip().removeprefix("./")
    for folded in (fold_case, fold):
        for exact in _exact_matches(known):
            matching = (bool(label) and folded(label) == folded(bare) for label in exact)
            if matches := frozenset(compress(known.ids, matching)):
                return Meant(matches)
    wanted = fold(bare)
    own_words = set(words(wanted))
    match_positions = {
        "begins": [
            position
            for position in range(len(known.ids))
            if len(wanted) >= _LEAST_PREFIX
            and any(fold(label).startswith(wanted) for label in _names_of_document(known, position))
        ],
        "words": [
            position
            for position in range(len(known.ids))
            if own_words and own_words <= set(words(f"{known.titles[position]} {known.paths[position]}"))
        ],
    }
    for positions in match_positions.values():
        if positions:
            return _resolve_match(name, positions, known)
    near = _near_matches(wanted, known, _RESEMBLING)
    clearly = [
        position
        for position, similarity in near
        if similarity >= _ALIKE and near[0][1] - similarity < _CLEARLY
    ]
    if clearly:
        return _resolve_match(name, clearly, known)
    nearest = [position for position, _ in near] or list(range(len(known.ids)))
    candidates = _list_titles(known.label(position) for position in _first_of_files(nearest, known))
    question = f"did you mean {candidates}?" if near else f"there are {candidates}"
    raise QuestionError(f"no document is called {name!r}; {question}")


def documents_below(folder: str, known: DocumentNames) -> frozenset[str]:
    """Return the documents below a folder, given by its path or unambiguous name, ignoring case.

    Raises:
        QuestionError: there is no such folder, or the name is ambiguous; the message lists candidates.
    """
    wanted = fold(folder.strip().removeprefix("./").strip("/"))
    folders = known.folders
    matches = [candidate for candidate in folders if fold(candidate) == wanted] or [
        candidate for candidate in folders if fold(PurePosixPath(candidate).name) == wanted
    ]
    if not matches:
        there_are = _list_titles(map(repr, folders)) if folders else "none: all documents lie side by side"
        raise QuestionError(f"no folder {folder!r} holds documents of this corpus; there are {there_are}")
    if len(matches) > 1:
        raise QuestionError(f"several folders are called {folder!r}: {_list_titles(map(repr, matches))}")
    return frozenset(
        document_id
        for document_id, path in zip(known.ids, known.paths, strict=True)
        if path.startswith(f"{matches[0]}/")
    )


def _exact_matches(known: DocumentNames) -> Iterator[Iterable[str]]:
    yield known.ids
    yield known.paths
    yield (PurePosixPath(path).name for path in known.paths)
    yield (PurePosixPath(path).stem for path in known.paths)
    yield known.titles
    yield (source_id or "" for source_id in known.source_ids)


def _names_of_document(known: DocumentNames, position: int) -> tuple[str, ...]:
    path = PurePosixPath(known.paths[position])
    return known.titles[position], str(path), path.name, path.stem


def _near_matches(wanted: str, known: DocumentNames, least: int) -> list[tuple[int, float]]:
    """Return the positions of similar names, most similar first, with the similarity of 100."""
    from rapidfuzz import process

    labels = {
        fold(name): position
        for position in range(len(known.ids))
        for name in _names_of_document(known, position)
    }
    matches = process.extract(wanted, labels.keys(), limit=_LISTED, score_cutoff=least)
    return [(labels[label], score) for label, score, _ in matches]


def _resolve_match(name: str, positions: Iterable[int], known: DocumentNames) -> Meant:
    """Resolve to all positions if they share one title or one file; else the name is ambiguous."""
    document_positions = list(positions)
    titles, paths = (
        {known.titles[position] for position in document_positions},
        {known.paths[position] for position in document_positions},
    )
    if len(titles) > 1 and len(paths) > 1:
        candidates = _list_titles(
            known.label(position) for position in _first_of_files(document_positions, known)
        )
        raise QuestionError(f"{name!r} may mean several documents; name one of {candidates}")
    taken_for = known.label(document_positions[0]) if len(titles) == 1 else repr(next(iter(paths)))
    return Meant(
        frozenset(known.ids[position] for position in document_positions),
        f"{name!r} is taken for {taken_for}",
    )


def _first_of_files(positions: Iterable[int], known: DocumentNames) -> list[int]:
    first: dict[str, int] = {}
    for position in positions:
        first.setdefault(known.paths[position], position)
    return list(first.values())


def _list_titles(labels: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(labels))
    more = f" and {len(distinct) - _LISTED:,} more" if len(distinct) > _LISTED else ""
    return ", ".join(distinct[:_LISTED]) + more


Kind = Literal["document", "period", "folder", "place"]

#: Weights of passages of documents that are clearly named, and of those that are likely meant.
NAMED, LIKELY = 10.0, 3.0


@dataclass(frozen=True, slots=True)
class Clue:
    """Something that a question names, and the documents that are or belong to it.

    ``exact``: these documents are meant and no others. ``span``: where the question says so, first character
    and one past the last; None if its words also say what to look for.
    """

    kind: Kind
    words: str
    document_ids: frozenset[str]
    weight: float
    exact: bool = False
    span: tuple[int, int] | None = None

    @property
    def description(self) -> str:
        """The favoured documents in words."""
        return {
            "document": f"the document {self.words}",
            "period": f"documents of {self.words}",
            "folder": f"documents of the folder {self.words}",
            "place": f"documents of {self.words}",
        }[self.kind]


@dataclass(frozen=True, slots=True)
class Favoured:
    """A clue as reported in an answer: the number of favoured documents and their weight.

    ``only``: whether no other documents were searched.
    """

    kind: Kind
    words: str
    documents: int
    weight: float
    only: bool = False


@dataclass(frozen=True, slots=True)
class Favour:
    """The favoured documents of a question; ``notes`` say what it names that is not in the corpus.

    ``documents`` is the number of all documents.
    """

    clues: tuple[Clue, ...] = ()
    notes: tuple[str, ...] = ()
    documents: int = 0
    question: str = ""

    @property
    def names_documents(self) -> bool:
        """Whether the question clearly names documents or their period."""
        return any(clue.weight >= NAMED for clue in self.clues)

    @property
    def selected(self) -> frozenset[str] | None:
        """The only documents to be searched: those that all exact clues mean; None without such a clue."""
        return self._selection[0]

    @property
    def _selection(self) -> tuple[frozenset[str] | None, tuple[Clue, ...]]:
        """The only documents to be searched, and the exact clues by which they were chosen.

        Clues of one kind add to each other. A kind that has no document in common with those before it
        selects nothing.
        """
        chosen: frozenset[str] | None = None
        by_which: tuple[Clue, ...] = ()
        for kind in _SELECTING:
            clues = tuple(clue for clue in self.clues if clue.exact and clue.kind == kind)
            ids = frozenset[str]().union(*(clue.document_ids for clue in clues))
            if ids and (both := ids if chosen is None else chosen & ids):
                chosen, by_which = both, (*by_which, *clues)
        return chosen, tuple(clue for clue in by_which if chosen and clue.document_ids & chosen)

    def asked_inside(self, question: str) -> str:
        """Return a question without the words that selected documents, which need not stand in their texts.

        A question other than the favour's own is returned unchanged.

        >>> inside = Clue("period", "April 2009", frozenset({"d1"}), NAMED, exact=True, span=(31, 41))
        >>> Favour((inside,), question="What was said about tourism in April 2009?").asked_inside(
        ...     "What was said about tourism in April 2009?"
        ... )
        'What was said about tourism?'
        """
        if question != self.question:
            return question
        spans = [(clue.span, clue.kind) for clue in self._selection[1] if clue.span]
        rest, place = "", 0
        for (start, end), kind in sorted(spans, key=lambda one: (one[0][0], -one[0][1])):
            if start < place:
                continue
            before = question[place:start]
            leading = _NOUN_BEFORE.search(before)
            trailing = None if kind == "place" else _NOUN_AFTER.match(question, end)
            place = trailing.end() if trailing else end
            is_time = kind == "period" and not leading and not trailing
            leading = leading or (_PREPOSITION if is_time else _ARTICLE).search(before)
            rest += before[: leading.start()] if leading else before
            # A pronoun keeps the sentence whole and is no word to look for.
            rest += "" if is_time else " they"
        rest = " ".join((rest + question[place:]).split())
        return re.sub(r"\s+(?=[?,.])", "", rest)

    @property
    def all(self) -> tuple[Favoured, ...]:
        """The clues as reported in an answer."""
        selecting = self._selection[1]
        return tuple(
            Favoured(clue.kind, clue.words, len(clue.document_ids), clue.weight, clue in selecting)
            for clue in self.clues
        )

    @property
    def description(self) -> str:
        """A summary on one line; blank if there is nothing to report."""
        chosen, selecting = self._selection
        only = ", ".join(clue.description for clue in selecting)
        searched = "" if chosen is None else f"searched only: {only} ({len(chosen):,} of {self.documents:,})"
        return self._summary(searched, "favoured", [clue for clue in self.clues if clue not in selecting])

    def describe_as(self, how: str) -> str:
        """Return a summary on one line; ``how`` says what was done with the documents."""
        return self._summary("", how, self.clues)

    def _summary(self, first: str, how: str, clues: Iterable[Clue]) -> str:
        descriptions = ", ".join(
            f"{clue.description} ({len(clue.document_ids):,} of {self.documents:,})" for clue in clues
        )
        return "; ".join(filter(None, (first, descriptions and f"{how}: {descriptions}", *self.notes)))

    def weights(self) -> Mapping[str, float]:
        """Return the weight of each favoured document, or only of those that alone are to be searched.

        Among clues of one kind the highest weight counts; weights of different kinds multiply.
        """
        chosen = self.selected
        best: dict[Kind, dict[str, float]] = {}
        for clue in self.clues:
            of_kind = best.setdefault(clue.kind, {})
            for document_id in clue.document_ids if chosen is None else clue.document_ids & chosen:
                of_kind[document_id] = max(of_kind.get(document_id, 1.0), clue.weight)
        weights: dict[str, float] = {}
        for of_kind in best.values():
            for document_id, weight in of_kind.items():
                weights[document_id] = weights.get(document_id, 1.0) * weight
        return weights

    def prior(self, number_of: Mapping[str, int]) -> NDArray[np.float64]:
        """Return the weight of each document [n]: 0 if it is not to be searched, 1 if nothing is known of it.

        Args:
            number_of: the documents with their numbers from 0.
        """
        prior = np.full(len(number_of), 1.0 if self.selected is None else 0.0)
        for document_id, weight in self.weights().items():
            if document_id in number_of:
                prior[number_of[document_id]] = weight
        return prior


#: Words around a period, title or name that go with it.
_NOUNS = "|".join(sorted(FILED))
_PREPOSITION = re.compile(
    r"\s*(?:\b(?:in|of|for|during|from|between|on|at|by|dated)\s+)?(?:\bthe\s+)?$", re.IGNORECASE
)
_NOUN_BEFORE = re.compile(
    rf"\s*(?:\b(?:the|an?)\s+)?\b(?:{_NOUNS})s?\s+(?:(?:of|from|for|dated|called|titled|entitled)\s+)?(?:the\s+)?$",
    re.IGNORECASE,
)
_NOUN_AFTER = re.compile(rf"\s+(?:{_NOUNS})s?\b", re.IGNORECASE)
_ARTICLE = re.compile(r"\s*(?:\bthe\s+)?$", re.IGNORECASE)
#: Kinds of clues in the order in which they restrict each other.
_SELECTING: tuple[Kind, ...] = ("document", "period", "place", "folder")


def distinctive_clues(clues: Sequence[Clue], documents: int) -> tuple[Clue, ...]:
    """Return the clues that distinguish documents.

    A sure clue must exclude at least one document, a likely clue at least half of them. Clues of the same
    kind and documents count once. A clue is dropped if a clue of its kind with at least its weight means a
    proper subset of its documents.
    """
    distinct: dict[tuple[Kind, frozenset[str]], Clue] = {}
    for clue in clues:
        most = documents - 1 if clue.weight >= NAMED else documents // 2
        key = (clue.kind, clue.document_ids)
        known = distinct.get(key)
        if 0 < len(clue.document_ids) <= most and (known is None or _rank(known) < _rank(clue)):
            distinct[key] = clue
    return tuple(
        clue
        for clue in distinct.values()
        if not any(
            other.kind == clue.kind and _rank(other) >= _rank(clue) and other.document_ids < clue.document_ids
            for other in distinct.values()
        )
    )


def _rank(clue: Clue) -> tuple[bool, float]:
    return clue.exact, clue.weight
