"""One folding of letters, for questions and for the texts they are put to."""

import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate

#: Turkish has the letter i with and without a dot, of which neither's other case is the one of English.
_OF_TURKISH = {"İ": "i", "ı": "i"}
#: Letters that do not decompose into a base letter and an accent, and other apostrophes.
_PLAIN = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "’": "'", "ʼ": "'"}
)
#: The soft hyphen; the marks of vowels in Hebrew and Arabic, and the stroke that makes a word wider.
_NO_LETTERS = re.compile(
    "[\u00ad\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]"
)
#: Marks of other scripts make other letters.
_ACCENTS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
#: Of the scripts of India, whose signs of vowels are of their words, although they are no letters.
INDIAN = "\u0900-\u0963\u0966-\u0df3"
#: A run of letters and digits.
WORD = re.compile(rf"[^\W_]+(?:[{INDIAN}]+[^\W_]*)*")


class _Folded(dict[int, str]):
    """What each character becomes; made when it is first met."""

    def __init__(self, *, accents: bool) -> None:
        super().__init__()
        self._accents = accents

    def __missing__(self, code: int) -> str:
        char = chr(code)
        lower = _NO_LETTERS.sub("", _OF_TURKISH.get(char) or _lower_case(char))
        folded = self[code] = lower if self._accents else _without_accents(lower)
        return folded


def _lower_case(char: str) -> str:
    return unicodedata.normalize("NFKC", char).casefold()


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return unicodedata.normalize("NFC", _NO_LETTERS.sub("", _ACCENTS.sub("", parts)))


_CASE, _PLAINEST = _Folded(accents=True), _Folded(accents=False)


def fold_case(text: str) -> str:
    """Return the text in lower case, of every script, with its accents; ligatures and wide letters apart.

    >>> fold_case("İzmir, STRASSE und Straße, ΟΔΟΣ, ﬁn")
    'izmir, strasse und strasse, οδοσ, fin'
    """
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.translate(_CASE))


def fold(text: str) -> str:
    """Return the text in lower case without accents and marks of vowels.

    >>> fold("İLKER IŞIK, ilker ışık"), fold("Ærø, Łódź, هَلْ")
    ('ilker isik, ilker isik', 'aero, lodz, هل')
    """
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.translate(_PLAINEST))


class FoldedText:
    """A folded text that knows where in the original each of its characters comes from."""

    def __init__(self, text: str) -> None:
        if text.isascii():
            self.text, self._starts = text.lower(), None
        else:
            parts = [_PLAINEST[ord(char)] for char in text]
            self.text, self._starts = "".join(parts), list(accumulate(map(len, parts), initial=0))

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of the original that a range of the folded text, not empty, comes from."""
        if self._starts is None:
            return start, end
        # Accents behind the last letter, which fold to nothing, belong to it.
        last = max(bisect_right(self._starts, end - 1), bisect_right(self._starts, end) - 1)
        return bisect_right(self._starts, start) - 1, last
