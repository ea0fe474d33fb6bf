"""Names, numbers and title words of the documents of a corpus, to be found in questions."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

import numpy as np

from graphrag_dagster.kernel.common.packed_arrays import NumbersByWord, Texts, WeightedLists
from graphrag_dagster.kernel.documents.document_metadata import spaced
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.favoured_documents import DocumentNames, names_of
from graphrag_dagster.kernel.questions.scope.scope_selection import metadata_in
from graphrag_dagster.kernel.retrieval.index_cache import kept
from graphrag_dagster.kernel.retrieval.search_words import words
from graphrag_dagster.kernel.text.english_words import STOP_WORDS

_ORDINALS = {
    word: number
    for number, word in enumerate(
        (
            *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
            *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
            *("eighteenth", "nineteenth", "twentieth"),
        ),
        start=1,
    )
}
_ORDINAL = re.compile(r"(\d{1,3})(?:st|nd|rd|th)")
_NUMBER = re.compile(r"\d{1,4}")
_SAYING_SO = frozenset({"number", "no", "nr", "num"})
#: What comes with numbers and is no document.
_NO_DOCUMENTS = frozenset(
    {
        *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
        *(
            "november",
            "december",
            "jan",
            "feb",
            "mar",
            "apr",
            "jun",
            "jul",
            "aug",
            "sep",
            "sept",
            "oct",
            "nov",
        ),
        *(
            "dec",
            "year",
            "quarter",
            "half",
            "week",
            "day",
            "month",
            "century",
            "time",
            "page",
            "line",
            "level",
        ),
        *(
            "top",
            "point",
            "item",
            "version",
            "covid",
            "fiscal",
            "spring",
            "summer",
            "autumn",
            "fall",
            "winter",
        ),
    }
)
#: Nouns that are written short before a number, also without a blank.
_SHORT = {"ep": "episode", "eps": "episode", "ch": "chapter", "vol": "volume", "mtg": "meeting", "pt": "part"}
_JOINED = re.compile(rf"({'|'.join(_SHORT)})(\d{{1,4}})")
#: From here on numbers are years.
_YEARS_FROM = 1500


def numbered_in(found: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the nouns with a number in folded words, each noun as one of it.

    >>> list(numbered_in("meetings 3 and 4 of the fifth episode number 12".split()))
    [('meeting', 3), ('meeting', 4), ('episode', 5), ('episode', 12)]
    >>> list(numbered_in(["ep39", "ch", "2"]))
    [('episode', 39), ('chapter', 2)]
    """
    found = [part for word in found for part in _parted(word)]
    if not any(word[:1].isdigit() or word in _ORDINALS for word in found):
        return
    for place, word in enumerate(found):
        number = _ordinal(word)
        if number is not None and place + 1 < len(found) and (noun := _noun(found[place + 1])):
            yield noun, number
        if noun := _noun(word):
            yield from ((noun, number) for number in _numbers_from(found, place + 1))


def singular(word: str) -> str:
    """Return a noun as one of it; words that are none may lose an s."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _parted(word: str) -> tuple[str, ...]:
    joined = _JOINED.fullmatch(word)
    return joined.groups() if joined else (word,)


def _noun(word: str) -> str | None:
    noun = _SHORT.get(word) or singular(word)
    plain = word.isalpha() and len(noun) > 2 and noun not in _NO_DOCUMENTS
    return (
        noun
        if plain and word not in STOP_WORDS and word not in _SAYING_SO and word not in _ORDINALS
        else None
    )


def _ordinal(word: str) -> int | None:
    figures = _ORDINAL.fullmatch(word)
    return int(figures[1]) if figures else _ORDINALS.get(word)


def _numbers_from(found: Sequence[str], place: int) -> Iterator[int]:
    if place < len(found) and found[place] in _SAYING_SO:
        place += 1
    while place < len(found) and _NUMBER.fullmatch(found[place]) and int(found[place]) < _YEARS_FROM:
        yield int(found[place])
        place += 2 if place + 1 < len(found) and found[place + 1] == "and" else 1


#: What calls something by its name.
CALLED = frozenset({"called", "entitled", "titled", "named", "headed"})
FOLDERS = frozenset({"folder", "directory", "subfolder"})
#: What leads away from a period.
BEYOND = frozenset({"before", "after", "since", "until", "till", "prior", "following", "than"})
#: What makes a number that follows a year.
IN_TIME = frozenset(
    {
        *(
            "in",
            "of",
            "for",
            "during",
            "from",
            "to",
            "and",
            "by",
            "the",
            "year",
            "throughout",
            "early",
            "late",
        ),
        *("mid", "between", "this", "that", "on"),
    }
)
#: Keys of metadata whose values are places.
PLACES = frozenset({"place", "location", "city", "town", "country", "region", "venue", "site", "state"})


T = TypeVar("T")
Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Called:
    """Names as folded words, each with the places of what is called so; ``longest``: most words of one."""

    places: NumbersByWord
    longest: int

    @classmethod
    def of(cls, places: Mapping[Key, Collection[int]]) -> "Called":
        """Return names with the places of what is called so."""
        named = {key: some for key, some in places.items() if key}
        return cls(numbers_by(named, " ".join), max(map(len, named), default=0))

    def __getitem__(self, key: Sequence[str]) -> list[int]:
        """Return the places of what is called so, ascending."""
        return self.places.of_word(" ".join(key))

    def runs(self, folded: Sequence[str]) -> Iterator[tuple[int, int, Key]]:
        """Yield start, end and name of those that stand in words: at each the longest, without overlap."""
        start = 0
        while start < len(folded):
            for end in range(min(len(folded), start + self.longest), start, -1):
                if " ".join(key := tuple(folded[start:end])) in self.places:
                    yield start, end, key
                    start = end - 1
                    break
            start += 1


@dataclass(frozen=True, eq=False)
class KnownDocuments:
    """What the documents of a snapshot are called by, each with their places among its names.

    Attributes:
        files: paths and file names, case folded.
        titles: titles and their parts, as between colons, file names without extension and ids in files, with
            and without an article before.
        numbered: nouns with a number that tell documents apart, from titles, file names and metadata.
        folders: paths and names of folders; places are those of all folders, sorted.
        located: names of places that metadata gives.
        meanings: the words of meaning of titles that have several, with blanks between.
        by_rarest: places of these, by the word that fewest of them have.
        meant: the documents of each, by its place among them.
    """

    files: NumbersByWord
    titles: Called
    numbered: NumbersByWord
    folders: Called
    located: Called
    meanings: Texts
    by_rarest: NumbersByWord
    meant: WeightedLists

    def with_all_words(self, every: frozenset[str]) -> Iterator[tuple[frozenset[str], list[int]]]:
        """Yield the words of meaning of each title that are all among some words, with its places."""
        for word in sorted(every):
            for place in self.by_rarest.of_word(word):
                if (some := frozenset(self.meanings[place].split(" "))) <= every:
                    yield some, self.meant.of(place).tolist()

    def numbered_so(self, noun: str, number: int) -> list[int]:
        """Return the places of the documents with a number, as episode 12."""
        return self.numbered.of_word(f"{noun} {number}")


def of_meaning(found: Iterable[str]) -> Iterator[str]:
    """Yield the folded words that are no figures and carry a meaning of their own."""
    return (word for word in found if word not in STOP_WORDS and not word.isdigit())


def without_article(key: Key) -> Key:
    """Return the words of a name without an article before."""
    return key[1:] if len(key) > 1 and key[0] in ("the", "a", "an") else key


def numbers_by(places: Mapping[T, Collection[int]], spelled: Callable[[T], str]) -> NumbersByWord:
    """Return the numbers of keys by words, ascending."""
    return NumbersByWord.of({spelled(key): sorted(some) for key, some in places.items()})


#: What stands between the parts of a title.
_PARTS = re.compile(r"[:;|]\s|\s[-–—]\s|—")


def known_of(index: IndexSnapshot) -> KnownDocuments:
    """Return what the documents of a snapshot are called by, as it is kept; to be made once per snapshot."""
    return kept(index.shelf, "called", lambda: _Gathered(index).known(), KnownDocuments)


class _Gathered:
    """What documents are called by, as it is gathered from one after another."""

    def __init__(self, index: IndexSnapshot) -> None:
        self._names: DocumentNames = index.once(names_of)
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

    def known(self) -> KnownDocuments:
        """Return all of it."""
        pairs = [(at, place) for at, places in enumerate(self._meaning.values()) for place in places]
        owners, values = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return KnownDocuments(
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


def with_title_words(some: frozenset[str], names: DocumentNames) -> list[int]:
    """Return the places of the documents whose title or path has all of some words."""
    return [
        place
        for place, (title, path) in enumerate(zip(names.titles, names.paths, strict=True))
        if some and some <= frozenset(words(f"{title} {spaced(path)}"))
    ]
