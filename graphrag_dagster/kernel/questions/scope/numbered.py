"""What is told apart by a number: episode 12, the fifth meeting, meetings 3 and 4."""

import re
from collections.abc import Iterator, Sequence

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
