"""What of a text its support is judged by, read once."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from graphrag_dagster.core.search.support.cues import HEDGES, MEANT, NEGATIONS, NO_NEGATION, PRONOUNS
from graphrag_dagster.core.search.support.names import KnownWords
from graphrag_dagster.core.search.support.numbers import Number, is_among, numbers_of
from graphrag_dagster.core.text.english_words import STOP_WORDS
from graphrag_dagster.core.text.sentences import sentence_spans
from graphrag_dagster.core.text.similarity import stem

_WORD = re.compile(r"[^\W_]+(?:['’]t\b)?")
#: Scripts that put no blanks between words: Thai, Lao, Burmese, Khmer, kana, Chinese characters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_CLAUSE = re.compile(r"[,;:()–—](?=\s|\Z)|\s[–—(]")
#: How many words after a negation it reaches: the near ones, without such the first of those further off.
_NEAR, _REACH = 3, 6
#: Texts whose reading is remembered.
REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: the stems of its words in order, those that are negated, and what else turns it around."""

    text: str
    stems: tuple[str, ...]
    negated: frozenset[str]
    hedged: bool
    passive: bool

    @property
    def affirmed(self) -> frozenset[str]:
        """The stems that no negation reaches."""
        return frozenset(self.stems) - self.negated


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as read.

    Attributes:
        sentences: in order.
        surfaces: by stem, in order, the first word of that stem, in lower case.
        numbers: in order.
        lower: the words that it has in lower case.
        known: what names are found by.
        pronouns: it has words that stand for somebody or something named before.
    """

    sentences: tuple[Sentence, ...]
    surfaces: Mapping[str, str]
    numbers: tuple[Number, ...]
    lower: frozenset[str]
    known: KnownWords
    pronouns: bool


@lru_cache(maxsize=REMEMBERED)
def read(text: str) -> Reading:
    """Return what of a text its support is judged by."""
    surfaces: dict[str, str] = {}
    words = _WORD.findall(text)
    return Reading(
        tuple(_sentence(text[span.start : span.end], surfaces) for span in sentence_spans(text)),
        surfaces,
        tuple(numbers_of(text)),
        frozenset(word for word in words if word.islower()),
        KnownWords.of(text),
        not PRONOUNS.isdisjoint(word.lower() for word in words),
    )


def stands_in(said: str, quoted: str) -> bool:
    """Return whether all that is said stands in a quotation, word after word."""
    wanted = " ".join(_tokens(said))
    return bool(wanted) and f" {wanted} " in f" {' '.join(_tokens(quoted))} "


def numbers_shared(said: str, quoted: str) -> float:
    """Return the share, 0–1, of the numbers that are said that a quotation has; 0 where none is said."""
    numbers, known = read(said).numbers, read(quoted).numbers
    return sum(is_among(one, known) for one in numbers) / len(numbers) if numbers else 0.0


def _tokens(text: str) -> Iterator[str]:
    """Words in lower case; where a script has no blanks between them, characters."""
    for match in _WORD.finditer(text.lower().replace("’", "'")):
        end = 0
        for run in _UNSPACED.finditer(match[0]):
            yield from filter(None, (match[0][end : run.start()], *run[0]))
            end = run.end()
        if match[0][end:]:
            yield match[0][end:]


def _meaningful(text: str) -> Iterator[str]:
    """The tokens of a sentence; of characters without blanks between them, each two that follow."""
    before = ""
    for token in _tokens(text):
        if _UNSPACED.fullmatch(token):
            if before:
                yield before + token
            before = token
        else:
            before = ""
            yield token


def _sentence(text: str, surfaces: dict[str, str]) -> Sentence:
    stems: list[str] = []
    negated: set[str] = set()
    every: set[str] = set()
    for clause in _CLAUSE.split(text):
        words = list(_meaningful(clause))
        every.update(words)
        made = {place: stem(word) for place, word in enumerate(words) if word in MEANT or _counts(word)}
        stems += made.values()
        for place, one in made.items():
            surfaces.setdefault(one, words[place])
        for place, (word, following) in enumerate(pairwise([*words, ""])):
            if (word in NEGATIONS or word.endswith("n't")) and following not in NO_NEGATION:
                negated |= _reached(place, made)
    return Sentence(text, tuple(stems), frozenset(negated), not HEDGES.isdisjoint(every), "by" in every)


def _counts(word: str) -> bool:
    return word not in STOP_WORDS and word not in NEGATIONS and not word.endswith("n't")


def _reached(negation: int, made: Mapping[int, str]) -> set[str]:
    """The stems of a clause that a negation reaches: the near ones, else the next, else the one before it."""
    after = [place for place in made if negation < place <= negation + _REACH]
    near = [place for place in after if place <= negation + _NEAR] or after[:1]
    before = [place for place in made if place < negation][-1:]
    return {made[place] for place in near or before}
