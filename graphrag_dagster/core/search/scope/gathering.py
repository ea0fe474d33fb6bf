"""Gathering what the documents of a corpus are called by."""

import re
from collections import Counter, defaultdict
from pathlib import PurePosixPath

import numpy as np

from graphrag_dagster.core.corpus.dating import spaced
from graphrag_dagster.core.paths.graph_texts import Texts
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.kept import kept
from graphrag_dagster.core.search.retrieval.lists import WeightedLists
from graphrag_dagster.core.search.retrieval.words import words
from graphrag_dagster.core.search.retrieval.words_in_order import NumbersByWord
from graphrag_dagster.core.search.scope.conditions import metadata_in
from graphrag_dagster.core.search.scope.known import (
    Called,
    Key,
    Known,
    numbers_by,
    of_meaning,
    without_article,
)
from graphrag_dagster.core.search.scope.naming import Names, names_of
from graphrag_dagster.core.search.scope.naming_words import PLACES
from graphrag_dagster.core.search.scope.numbered import numbered_in

#: What stands between the parts of a title.
_PARTS = re.compile(r"[:;|]\s|\s[-–—]\s|—")


def known_of(index: IndexSnapshot) -> Known:
    """Return what the documents of a snapshot are called by, as it is kept; to be made once per snapshot."""
    return kept(index.shelf, "called", lambda: _Gathered(index).known(), Known.opened)


class _Gathered:
    """What documents are called by, as it is gathered from one after another."""

    def __init__(self, index: IndexSnapshot) -> None:
        self._names: Names = index.once(names_of)
        self._files: dict[str, set[int]] = defaultdict(set)
        self._numbered: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._titles: dict[Key, set[int]] = defaultdict(set)
        self._folders: dict[Key, set[int]] = defaultdict(set)
        self._located: dict[Key, set[int]] = defaultdict(set)
        self._meaning: dict[frozenset[str], set[int]] = defaultdict(set)
        for place in range(len(self._names.ids)):
            self._add(place)
        self._add_metadata(index)
        for place, folder in enumerate(self._names.folders):
            for called in (folder, PurePosixPath(folder).name):
                self._folders[tuple(words(called))].add(place)

    def known(self) -> Known:
        """Return all of it."""
        pairs = [(at, place) for at, places in enumerate(self._meaning.values()) for place in places]
        owners, values = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return Known(
            files=numbers_by(self._files, str),
            titles=Called.of(self._titles),
            numbered=numbers_by(self._numbered, lambda key: f"{key[0]} {key[1]}"),
            folders=Called.of(self._folders),
            located=Called.of(self._located),
            meanings=Texts.of(" ".join(sorted(some)) for some in self._meaning),
            by_rarest=NumbersByWord.of(self._by_rarest()),
            meant=WeightedLists.of_pairs(len(self._meaning), owners, values, np.ones(len(values))),
        )

    def _add(self, place: int) -> None:
        names = self._names
        file = PurePosixPath(names.paths[place])
        for called in (str(file), file.name):
            self._files[called.casefold()].add(place)
        title = names.titles[place]
        for told in dict.fromkeys((title, *_PARTS.split(title), file.stem, names.source_ids[place] or "")):
            key = tuple(words(spaced(told)))
            self._titles[key].add(place)
            self._titles[without_article(key)].add(place)
            for numbered in numbered_in(key):
                self._numbered[numbered].add(place)
            if len(meaning := frozenset(of_meaning(key))) > 1:
                self._meaning[meaning].add(place)

    def _add_metadata(self, index: IndexSnapshot) -> None:
        place_of = {one: place for place, one in enumerate(self._names.ids)}
        rows = index.once(metadata_in).select("document_id", "key", "text", "number")
        for document_id, key, text, number in rows.iter_rows():
            of_key = words(spaced(key))
            if number is not None and number.is_integer() and of_key:
                for numbered in numbered_in([of_key[-1], str(int(number))]):
                    self._numbered[numbered].add(place_of[document_id])
            if PLACES.intersection(of_key):
                self._located[tuple(words(text))].add(place_of[document_id])

    def _by_rarest(self) -> dict[str, list[int]]:
        """The titles' words of meaning by the one of them that fewest titles have."""
        counts = Counter(word for some in self._meaning for word in some)
        found: dict[str, list[int]] = defaultdict(list)
        for place, some in enumerate(self._meaning):
            found[min(some, key=lambda word: (counts[word], word))].append(place)
        return found


def with_title_words(some: frozenset[str], names: Names) -> list[int]:
    """Return the places of the documents whose title or path has all of some words."""
    return [
        place
        for place, (title, path) in enumerate(zip(names.titles, names.paths, strict=True))
        if some and some <= frozenset(words(f"{title} {spaced(path)}"))
    ]
