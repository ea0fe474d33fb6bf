"""Names, numbers and title words of a corpus's documents, for recognising them in questions."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

import numpy as np

from graphrag_dagster.kernel.common.packed_arrays import NumbersByWord, Texts, WeightedLists
from graphrag_dagster.kernel.documents.document_metadata import name_parts, with_spaces
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.scope.favoured_documents import DocumentNames, names_of
from graphrag_dagster.kernel.retrieval.search_words import words
from graphrag_dagster.kernel.storage.index_cache import load_or_build
from graphrag_dagster.kernel.text.english_words import STOP_WORDS, word_set
from graphrag_dagster.kernel.text.folding import fold
from graphrag_dagster.kernel.text.periods import MONTHS

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
#: Words that come with numbers but are not documents.
_NO_DOCUMENTS = frozenset(MONTHS) | word_set(
    """
    year quarter half week day month century time page line level top point item version covid fiscal spring
    summer autumn fall winter
    """
)
#: Abbreviated nouns, which may be joined to their number.
SHORT = {"ep": "episode", "eps": "episode", "ch": "chapter", "vol": "volume", "mtg": "meeting", "pt": "part"}
_JOINED = re.compile(rf"({'|'.join(SHORT)})(\d{{1,4}})")
#: Numbers from here on are years.
_YEARS_FROM = 1500


def numbered_in(found: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield pairs of noun and number from folded words, with nouns in the singular.

    >>> list(numbered_in("meetings 3 and 4 of the fifth episode number 12".split()))
    [('meeting', 3), ('meeting', 4), ('episode', 5), ('episode', 12)]
    >>> list(numbered_in(["ep39", "ch", "2"]))
    [('episode', 39), ('chapter', 2)]
    """
    found = [part for word in found for part in _split_words(word)]
    if not any(word[:1].isdigit() or word in _ORDINALS for word in found):
        return
    for position, word in enumerate(found):
        number = _ordinal(word)
        if number is not None and position + 1 < len(found) and (noun := _document_noun(found[position + 1])):
            yield noun, number
        if noun := _document_noun(word):
            yield from ((noun, number) for number in _numbers_from(found, position + 1))


def singular(word: str) -> str:
    """Return the singular of a noun; other words may lose an s."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _split_words(word: str) -> tuple[str, ...]:
    joined = _JOINED.fullmatch(word)
    return joined.groups() if joined else (word,)


def _document_noun(word: str) -> str | None:
    noun = SHORT.get(word) or singular(word)
    plain = word.isalpha() and len(noun) > 2 and noun not in _NO_DOCUMENTS
    return (
        noun
        if plain and word not in STOP_WORDS and word not in _SAYING_SO and word not in _ORDINALS
        else None
    )


def _ordinal(word: str) -> int | None:
    figures = _ORDINAL.fullmatch(word)
    return int(figures[1]) if figures else _ORDINALS.get(word)


def _numbers_from(folded: Sequence[str], position: int) -> Iterator[int]:
    if position < len(folded) and folded[position] in _SAYING_SO:
        position += 1
    while (
        position < len(folded) and _NUMBER.fullmatch(folded[position]) and int(folded[position]) < _YEARS_FROM
    ):
        yield int(folded[position])
        position += 2 if position + 1 < len(folded) and folded[position + 1] == "and" else 1


#: Words that introduce a name.
CALLED = frozenset({"called", "entitled", "titled", "named", "headed"})
FOLDERS = frozenset({"folder", "directory", "subfolder"})
#: Words that lead out of a period.
BEYOND = frozenset({"before", "after", "since", "until", "till", "prior", "following", "than"})
#: Words before a number that make it a year.
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
#: Metadata keys whose values are places.
PLACES = frozenset({"place", "location", "city", "town", "country", "region", "venue", "site", "state"})


T = TypeVar("T")
Key = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Called:
    """Names as folded words with the positions of the named items; ``longest``: most words in a name."""

    places: NumbersByWord
    longest: int

    @classmethod
    def of(cls, places: Mapping[Key, Collection[int]]) -> "Called":
        """Build from the positions by name."""
        named_positions = {key: positions for key, positions in places.items() if key}
        return cls(numbers_by(named_positions, " ".join), max(map(len, named_positions), default=0))

    def __getitem__(self, key: Sequence[str]) -> list[int]:
        """Return the positions of the items with a name, ascending."""
        return self.places.of_word(" ".join(key))

    def runs(self, folded: Sequence[str]) -> Iterator[tuple[int, int, Key]]:
        """Yield start, end and name of the names in words: the longest at each start, without overlaps."""
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
    """The names of a snapshot's documents, each with the positions of its documents.

    Attributes:
        files: paths and file names, case folded.
        titles: titles and their parts, such as between colons, file stems and ids in files, with and without
            a leading article.
        numbered: nouns with a number that distinguish documents, from titles, file names and metadata.
        folders: paths and names of folders; positions refer to all folders, sorted.
        located: names of places from metadata.
        meanings: the meaningful words of titles that have several, joined by blanks.
        by_rarest: positions in ``meanings`` by the word that occurs in the fewest of them.
        meant: the documents of each entry of ``meanings``.
        codes: codes in file names if nearly all of these are a code and figures, such as ``2009-04-at``;
            else empty.
        name_words: words of titles and paths.
    """

    files: NumbersByWord
    titles: Called
    numbered: NumbersByWord
    folders: Called
    located: Called
    meanings: Texts
    by_rarest: NumbersByWord
    meant: WeightedLists
    codes: NumbersByWord
    name_words: NumbersByWord

    def with_all_words(self, every: frozenset[str]) -> Iterator[tuple[frozenset[str], list[int]]]:
        """Yield the meaningful words of each title that all occur in ``every``, with its documents."""
        for word in sorted(every):
            for position in self.by_rarest.of_word(word):
                if (title_words := frozenset(self.meanings[position].split(" "))) <= every:
                    yield title_words, self.meant.of(position).tolist()

    def with_name_words(self, some: Iterable[str]) -> list[int]:
        """Return the positions of the documents whose title and path have all of the words."""
        positions = [frozenset(self.name_words.of_word(word)) for word in some]
        return sorted(frozenset[int].intersection(*positions)) if positions else []

    def documents_numbered(self, noun: str, number: int) -> list[int]:
        """Return the positions of the documents with a number, such as episode 12."""
        return self.numbered.of_word(f"{noun} {number}")


def meaningful_words(found: Iterable[str]) -> Iterator[str]:
    """Yield the folded words that are neither numbers nor stop words."""
    return (word for word in found if word not in STOP_WORDS and not word.isdigit())


def without_article(key: Key) -> Key:
    """Return the words of a name without a leading article."""
    return key[1:] if len(key) > 1 and key[0] in ("the", "a", "an") else key


def numbers_by(places: Mapping[T, Collection[int]], spelled: Callable[[T], str]) -> NumbersByWord:
    """Return sorted numbers by spelled key."""
    return NumbersByWord.of({spelled(key): sorted(numbers) for key, numbers in places.items()})


#: Letters of a code, fewest codes that make a scheme, and share of the documents that have one.
_CODE = re.compile(r"[a-z]{2,4}")
_LEAST_CODES, _WITH_CODE = 3, 0.9
#: Separators between the parts of a title.
_PARTS = re.compile(r"[:;|]\s|\s[-–—]\s|—")


def known_documents(index: IndexSnapshot) -> KnownDocuments:
    """Return the document names of a snapshot from its shelf; call it once per snapshot."""
    return load_or_build(index.shelf, "document_names", lambda: _Gathered(index).known(), KnownDocuments)


class _Gathered:
    """Collects the names of documents one by one."""

    def __init__(self, index: IndexSnapshot) -> None:
        self._names: DocumentNames = index.once(names_of)
        self._files: dict[str, set[int]] = defaultdict(set)
        self._numbered: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._titles: dict[Key, set[int]] = defaultdict(set)
        self._folders: dict[Key, set[int]] = defaultdict(set)
        self._located: dict[Key, set[int]] = defaultdict(set)
        self._meaning: dict[frozenset[str], set[int]] = defaultdict(set)
        self._codes: dict[str, list[int]] = defaultdict(list)
        self._name_words: dict[str, list[int]] = defaultdict(list)
        for position in range(len(self._names.ids)):
            self._add(position)
        self._add_metadata(index)
        for position, folder in enumerate(self._names.folders):
            for name in (folder, PurePosixPath(folder).name):
                self._folders[tuple(words(name))].add(position)

    def known(self) -> KnownDocuments:
        """Return the collected names."""
        pairs = [
            (entry, position)
            for entry, positions in enumerate(self._meaning.values())
            for position in positions
        ]
        owners, values = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return KnownDocuments(
            files=numbers_by(self._files, str),
            titles=Called.of(self._titles),
            numbered=numbers_by(self._numbered, lambda key: f"{key[0]} {key[1]}"),
            folders=Called.of(self._folders),
            located=Called.of(self._located),
            meanings=Texts.of(" ".join(sorted(title_words)) for title_words in self._meaning),
            by_rarest=NumbersByWord.of(self._by_rarest()),
            meant=WeightedLists.of_pairs(len(self._meaning), owners, values, np.ones(len(values))),
            codes=NumbersByWord.of(self._codes if self._has_codes() else {}),
            name_words=NumbersByWord.of(self._name_words),
        )

    def _has_codes(self) -> bool:
        with_code = sum(map(len, self._codes.values()))
        return len(self._codes) >= _LEAST_CODES and with_code >= _WITH_CODE * len(self._names.ids)

    def _add(self, position: int) -> None:
        names = self._names
        file = PurePosixPath(names.paths[position])
        for file_name in (str(file), file.name):
            self._files[fold(file_name)].add(position)
        title = names.titles[position]
        for name in dict.fromkeys((title, *_PARTS.split(title), file.stem, names.source_ids[position] or "")):
            for spaced in dict.fromkeys((with_spaces(name), name_parts(name))):
                key = tuple(words(spaced))
                self._titles[key].add(position)
                self._titles[without_article(key)].add(position)
                for numbered in numbered_in(key):
                    self._numbered[numbered].add(position)
                if len(meaning := frozenset(meaningful_words(key))) > 1:
                    self._meaning[meaning].add(position)
        for word in frozenset(words(f"{title} {with_spaces(str(file))}")):
            self._name_words[word].append(position)
        letters = [word for word in words(name_parts(file.stem)) if word.isalpha()]
        if len(letters) == 1 and _CODE.fullmatch(letters[0]):
            self._codes[letters[0]].append(position)

    def _add_metadata(self, index: IndexSnapshot) -> None:
        position_of = {document_id: position for position, document_id in enumerate(self._names.ids)}
        rows = index.metadata.select("document_id", "key", "text", "number")
        for document_id, key, text, number in rows.iter_rows():
            key_words = words(with_spaces(key))
            if number is not None and number.is_integer() and key_words:
                for numbered in numbered_in([key_words[-1], str(int(number))]):
                    self._numbered[numbered].add(position_of[document_id])
            if PLACES.intersection(key_words):
                self._located[tuple(words(text))].add(position_of[document_id])

    def _by_rarest(self) -> dict[str, list[int]]:
        """Return positions of titles' meaningful words by the word that occurs in the fewest titles."""
        counts = Counter(word for title_words in self._meaning for word in title_words)
        by_rarest: dict[str, list[int]] = defaultdict(list)
        for position, title_words in enumerate(self._meaning):
            by_rarest[min(title_words, key=lambda word: (counts[word], word))].append(position)
        return by_rarest
