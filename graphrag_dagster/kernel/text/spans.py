"""Places in a text."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of characters inside a text unit: ``text[start:end]``."""

    start: int
    end: int


_KINDS = ("'’‘`´", '"“”„«»', "-‐‑‒–—")
#: Turkish spells two letters with and without a dot; names are written in capitals that have neither.
_ONE_LETTER = {"İ": "i", "ı": "i"}
_BLANKS = re.compile(" {2,}")


class AlikeText:
    """A text in which characters that are written alike are the same.

    Each character stands for itself, so that a place here is one in the text but for white space, of which a
    run is one blank.
    """

    def __init__(self, text: str) -> None:
        folded = text.translate(_ALIKE)
        pieces, kept = [], 0
        self._from, self._dropped = [0], [0]
        for blanks in _BLANKS.finditer(folded):
            pieces.append(folded[kept : blanks.start() + 1])
            self._from.append(blanks.start() + 1 - self._dropped[-1])
            self._dropped.append(self._dropped[-1] + len(blanks[0]) - 1)
            kept = blanks.end()
        self._text = "".join([*pieces, folded[kept:]])

    def places(self, words: str, *, whole: bool) -> Iterator[Span]:
        """Yield the places of words in order, none of which overlaps another.

        Args:
            words: to find; without any there is no place.
            whole: only where no letter, digit or underscore stands right before or behind them.
        """
        wanted = " ".join(words.split()).translate(_ALIKE)
        at = self._text.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            found = not (whole and (self._in_word(at - 1) or self._in_word(end)))
            if found:
                yield Span(self._original(at), self._original(end - 1) + 1)
            at = self._text.find(wanted, end if found else at + 1)

    def _in_word(self, place: int) -> bool:
        char = self._text[place : place + 1] if place >= 0 else ""
        return char == "_" or char.isalnum()

    def _original(self, place: int) -> int:
        return place + self._dropped[bisect_right(self._from, place) - 1]


class _Alike(dict[int, str]):
    """What each character is taken for, told when it is first met."""

    def __missing__(self, code: int) -> str:
        made = self[code] = _taken_for(chr(code))
        return made


def _taken_for(char: str) -> str:
    if char.isspace():
        return " "
    for kind in _KINDS:
        if char in kind:
            return kind[0]
    # One character for one: some are folded into two.
    forms = (_ONE_LETTER.get(char, char.casefold()), char.lower(), char)
    return next(form for form in forms if len(form) == 1)


_ALIKE = _Alike()
