"""Documents that a question favours, because it names them, their period, folder or place."""

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

_LEAST_BEGINNING, _LISTED = 3, 8
#: Of 100: how alike two names are of which one is taken for the other, by how much more than any third, and
#: how alike those are that it might be.
_ALIKE, _CLEARLY, _RESEMBLING = 85, 5, 60


@dataclass(frozen=True, slots=True)
class Meant:
    """Documents that a name means; ``taken_for``: what it was taken for, where that is called otherwise."""

    document_ids: frozenset[str]
    taken_for: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentNames:
    """What the documents of a corpus are called; one entry per document in each."""

    ids: Sequence[str]
    titles: Sequence[str]
    paths: Sequence[str]
    source_ids: Sequence[str | None]

    def label(self, place: int) -> str:
        """Return title and path of a document."""
        title, path = self.titles[place], self.paths[place]
        return f"{title!r} ({path})" if title != PurePosixPath(path).stem else repr(path)

    @property
    def folders(self) -> list[str]:
        """All folders that hold documents, at any depth, sorted."""
        return sorted({str(one) for path in set(self.paths) for one in PurePosixPath(path).parents} - {"."})


def names_of(index: IndexSnapshot) -> DocumentNames:
    """Return what the documents of a snapshot are called; to be made once per snapshot."""
    columns = ("document_id", "title", "path", "source_id")
    ordered = index.documents.select("human_readable_id", *columns).sort("human_readable_id", "document_id")
    return DocumentNames(*(column.to_list() for column in ordered.select(columns).iter_columns()))


def documents_called(name: str, known: DocumentNames) -> Meant:
    """Return the documents that a name means.

    It is the id, path, file name, title, or id in the file, of one or more, case aside; where it is none,
    the beginning of, some words of, or nearly the name of one title or file.

    Raises:
        QuestionError: nothing is called so, or more than one thing may be meant; lists what there is.
    """
    wanted = name.strip().removeprefix("./").casefold()
    for exact in _exact(known):
        called_so = (bool(called) and called.casefold() == wanted for called in exact)
        if found := frozenset(compress(known.ids, called_so)):
            return Meant(found)
    own_words = set(words(wanted))
    searched = {
        "begins": [
            place
            for place in range(len(known.ids))
            if len(wanted) >= _LEAST_BEGINNING
            and any(called.casefold().startswith(wanted) for called in _called(known, place))
        ],
        "words": [
            place
            for place in range(len(known.ids))
            if own_words and own_words <= set(words(f"{known.titles[place]} {known.paths[place]}"))
        ],
    }
    for places in searched.values():
        if places:
            return _only(name, places, known)
    near = _near(wanted, known, _RESEMBLING)
    clearly = [place for place, alike in near if alike >= _ALIKE and near[0][1] - alike < _CLEARLY]
    if clearly:
        return _only(name, clearly, known)
    nearest = [place for place, _ in near] or list(range(len(known.ids)))
    there_are = _listed(known.label(place) for place in _first_of_files(nearest, known))
    question = f"did you mean {there_are}?" if near else f"there are {there_are}"
    raise QuestionError(f"no document is called {name!r}; {question}")


def documents_below(folder: str, known: DocumentNames) -> frozenset[str]:
    """Return the documents below a folder: its path, or its name where only one is called so; case aside.

    Raises:
        QuestionError: there is no such folder, or more than one is called so; lists those there are.
    """
    wanted = folder.strip().removeprefix("./").strip("/").casefold()
    folders = known.folders
    found = [one for one in folders if one.casefold() == wanted] or [
        one for one in folders if PurePosixPath(one).name.casefold() == wanted
    ]
    if not found:
        there_are = _listed(map(repr, folders)) if folders else "none: all documents lie side by side"
        raise QuestionError(f"no folder {folder!r} holds documents of this corpus; there are {there_are}")
    if len(found) > 1:
        raise QuestionError(f"several folders are called {folder!r}: {_listed(map(repr, found))}")
    return frozenset(
        one for one, path in zip(known.ids, known.paths, strict=True) if path.startswith(f"{found[0]}/")
    )


def _exact(known: DocumentNames) -> Iterator[Iterable[str]]:
    yield known.ids
    yield known.paths
    yield (PurePosixPath(path).name for path in known.paths)
    yield (PurePosixPath(path).stem for path in known.paths)
    yield known.titles
    yield (source_id or "" for source_id in known.source_ids)


def _called(known: DocumentNames, place: int) -> tuple[str, ...]:
    path = PurePosixPath(known.paths[place])
    return known.titles[place], str(path), path.name, path.stem


def _near(wanted: str, known: DocumentNames, least: int) -> list[tuple[int, float]]:
    """Places of what is called much alike, the nearest first, with how alike of 100."""
    from rapidfuzz import process

    labels = {called.casefold(): place for place in range(len(known.ids)) for called in _called(known, place)}
    found = process.extract(wanted, labels.keys(), limit=_LISTED, score_cutoff=least)
    return [(labels[label], score) for label, score, _ in found]


def _only(name: str, places: Iterable[int], known: DocumentNames) -> Meant:
    """All of the places, where they are called by one title or lie in one file."""
    kept = list(places)
    titles, paths = {known.titles[place] for place in kept}, {known.paths[place] for place in kept}
    if len(titles) > 1 and len(paths) > 1:
        candidates = _listed(known.label(place) for place in _first_of_files(kept, known))
        raise QuestionError(f"{name!r} may mean several documents; name one of {candidates}")
    taken_for = known.label(kept[0]) if len(titles) == 1 else repr(next(iter(paths)))
    return Meant(frozenset(known.ids[place] for place in kept), f"{name!r} is taken for {taken_for}")


def _first_of_files(places: Iterable[int], known: DocumentNames) -> list[int]:
    first: dict[str, int] = {}
    for place in places:
        first.setdefault(known.paths[place], place)
    return list(first.values())


def _listed(labels: Iterable[str]) -> str:
    every = list(dict.fromkeys(labels))
    more = f" and {len(every) - _LISTED:,} more" if len(every) > _LISTED else ""
    return ", ".join(every[:_LISTED]) + more


Kind = Literal["document", "period", "folder", "place"]

#: By how much passages are favoured of what is clearly named, and of what is likely meant.
NAMED, LIKELY = 10.0, 3.0


@dataclass(frozen=True, slots=True)
class Clue:
    """What a question names, and the documents that are, or are of, that."""

    kind: Kind
    words: str
    document_ids: frozenset[str]
    weight: float

    @property
    def told(self) -> str:
        """What is favoured, in words."""
        return {
            "document": f"the document {self.words}",
            "period": f"documents of {self.words}",
            "folder": f"documents of the folder {self.words}",
            "place": f"documents of {self.words}",
        }[self.kind]


@dataclass(frozen=True, slots=True)
class Favoured:
    """A clue as an answer tells it: how many documents it favours, and by how much."""

    kind: Kind
    words: str
    documents: int
    weight: float


@dataclass(frozen=True, slots=True)
class Favour:
    """What a question favours among so many documents; ``notes`` say what it names that there is not."""

    clues: tuple[Clue, ...] = ()
    notes: tuple[str, ...] = ()
    documents: int = 0

    @property
    def names_documents(self) -> bool:
        """Whether the question clearly names documents, or their period."""
        return any(clue.weight >= NAMED for clue in self.clues)

    @property
    def all(self) -> tuple[Favoured, ...]:
        """The clues, as an answer tells them."""
        return tuple(
            Favoured(clue.kind, clue.words, len(clue.document_ids), clue.weight) for clue in self.clues
        )

    @property
    def told(self) -> str:
        """All of it on one line; blank where there is nothing to say."""
        return self.told_as("favoured")

    def told_as(self, how: str) -> str:
        """Return all of it on one line; ``how`` says what becomes of it."""
        shown = ", ".join(
            f"{clue.told} ({len(clue.document_ids):,} of {self.documents:,})" for clue in self.clues
        )
        return "; ".join(filter(None, (shown and f"{how}: {shown}", *self.notes)))

    def weights(self) -> Mapping[str, float]:
        """Return the weight of each favoured document: of several clues of a kind the best counts, those of
        different kinds multiply.
        """
        best: dict[tuple[str, str], float] = {}
        for clue in self.clues:
            for one in clue.document_ids:
                best[one, clue.kind] = max(best.get((one, clue.kind), 1.0), clue.weight)
        found: dict[str, float] = {}
        for (one, _), weight in sorted(best.items()):
            found[one] = found.get(one, 1.0) * weight
        return found

    def prior(self, document_ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the weight of each text unit, by the document of each."""
        weights = self.weights()
        return np.array([weights.get(one, 1.0) for one in document_ids], dtype=np.float64)


def distinctive(clues: Sequence[Clue], documents: int) -> tuple[Clue, ...]:
    """Return the clues that tell documents apart: those that mean not all, and if not for sure, at most half.

    Clues of the same kind and documents count once, and one gives way to another of its kind that means some
    of its documents as surely.
    """
    kept: dict[tuple[Kind, frozenset[str]], Clue] = {}
    for clue in clues:
        most = documents - 1 if clue.weight >= NAMED else documents // 2
        key = (clue.kind, clue.document_ids)
        if 0 < len(clue.document_ids) <= most and (key not in kept or kept[key].weight < clue.weight):
            kept[key] = clue
    return tuple(
        clue
        for clue in kept.values()
        if not any(
            other.kind == clue.kind and other.weight >= clue.weight and other.document_ids < clue.document_ids
            for other in kept.values()
        )
    )
