"""What the documents of a corpus are called by, to be found in questions."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import PurePosixPath

from graphrag_dagster.core.corpus.dating import spaced
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.retrieval.words import words
from graphrag_dagster.core.search.scope.conditions import metadata_in
from graphrag_dagster.core.search.scope.naming import Names, names_of
from graphrag_dagster.core.search.scope.naming_words import PLACES
from graphrag_dagster.core.search.scope.numbered import numbered_in
from graphrag_dagster.core.text.english_words import STOP_WORDS

Key = tuple[str, ...]
#: What stands between the parts of a title.
_PARTS = re.compile(r"[:;|]\s|\s[-–—]\s|—")


class Called:
    """Names as folded words, each with the places of what is called so."""

    def __init__(self) -> None:
        self._places: dict[Key, set[int]] = defaultdict(set)

    def add(self, key: Sequence[str], place: int) -> None:
        """Note that something is called so."""
        if key:
            self._places[tuple(key)].add(place)

    def __getitem__(self, key: Sequence[str]) -> frozenset[int]:
        """Return the places of what is called so."""
        return frozenset(self._places.get(tuple(key), ()))

    def __iter__(self) -> Iterator[Key]:
        """The names."""
        return iter(self._places)

    def runs(self, folded: Sequence[str]) -> Iterator[tuple[int, int, Key]]:
        """Yield start, end and name of those that stand in words: at each the longest, without overlap."""
        start = 0
        while start < len(folded):
            for end in range(min(len(folded), start + self._longest), start, -1):
                if (key := tuple(folded[start:end])) in self._places:
                    yield start, end, key
                    start = end - 1
                    break
            start += 1

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._places), default=0)


class Known:
    """What the documents of a snapshot are called by, each with their places among the names.

    Attributes:
        names: the documents in order.
        files: paths and file names, case folded.
        titles: titles and their parts, as between colons, file names without extension and ids in files, with
            and without an article before.
        numbered: nouns with a number that tell documents apart, from titles, file names and metadata.
        folders: paths and names of folders; places are those of ``folder_paths``.
        located: names of places that metadata gives.
    """

    def __init__(self, index: IndexSnapshot) -> None:
        self.names: Names = index.once(names_of)
        self.files: dict[str, set[int]] = defaultdict(set)
        self.numbered: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.titles, self.folders, self.located = Called(), Called(), Called()
        self._meaning: dict[frozenset[str], set[int]] = defaultdict(set)
        for place in range(len(self.names.ids)):
            self._add(place)
        self._add_metadata(index)
        self.folder_paths = self.names.folders
        for place, folder in enumerate(self.folder_paths):
            self.folders.add(words(folder), place)
            self.folders.add(words(PurePosixPath(folder).name), place)

    def with_all_words(self, every: frozenset[str]) -> Iterator[tuple[frozenset[str], set[int]]]:
        """Yield the words of meaning of each title that are all among some words, with its places."""
        for word in sorted(every):
            for some in self._by_rarest.get(word, ()):
                if some <= every:
                    yield some, self._meaning[some]

    def with_title_words(self, some: frozenset[str]) -> list[int]:
        """Return the places of the documents whose title or path has all of some words."""
        names = self.names
        return [
            place
            for place, (title, path) in enumerate(zip(names.titles, names.paths, strict=True))
            if some and some <= frozenset(words(f"{title} {spaced(path)}"))
        ]

    def _add(self, place: int) -> None:
        names = self.names
        file = PurePosixPath(names.paths[place])
        for called in (str(file), file.name):
            self.files[called.casefold()].add(place)
        title = names.titles[place]
        for told in {title, *_PARTS.split(title), file.stem, names.source_ids[place] or ""}:
            key = tuple(words(spaced(told)))
            self.titles.add(key, place)
            self.titles.add(without_article(key), place)
            for numbered in numbered_in(key):
                self.numbered[numbered].add(place)
            if len(meaning := frozenset(of_meaning(key))) > 1:
                self._meaning[meaning].add(place)

    def _add_metadata(self, index: IndexSnapshot) -> None:
        place_of = {one: place for place, one in enumerate(self.names.ids)}
        rows = index.once(metadata_in).select("document_id", "key", "text", "number")
        for document_id, key, text, number in rows.iter_rows():
            of_key = words(spaced(key))
            if number is not None and number.is_integer() and of_key:
                for numbered in numbered_in([of_key[-1], str(int(number))]):
                    self.numbered[numbered].add(place_of[document_id])
            if PLACES.intersection(of_key):
                self.located.add(words(text), place_of[document_id])

    @cached_property
    def _by_rarest(self) -> dict[str, list[frozenset[str]]]:
        """The titles' words of meaning by the one of them that fewest titles have."""
        counts = Counter(word for some in self._meaning for word in some)
        found: dict[str, list[frozenset[str]]] = defaultdict(list)
        for some in self._meaning:
            found[min(some, key=lambda word: (counts[word], word))].append(some)
        return found


def of_meaning(found: Iterable[str]) -> Iterator[str]:
    """Yield the folded words that are no figures and carry a meaning of their own."""
    return (word for word in found if word not in STOP_WORDS and not word.isdigit())


def without_article(key: Key) -> Key:
    """Return the words of a name without an article before."""
    return key[1:] if len(key) > 1 and key[0] in ("the", "a", "an") else key
