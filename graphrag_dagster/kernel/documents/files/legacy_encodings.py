"""Detects legacy encodings: chardet's guess, unless cp1252 is nearly as likely.

Statistics say little about the most common case, an English text with a foreign name or two.
"""

import io
import re

FALLBACK = "cp1252"

_SAMPLE = 8_192
_BEFORE = 80
#: How likely cp1252 must be beside the likeliest, and the share of words that must be Western under it.
_NEARLY, _ENOUGH = 0.7, 0.9

#: What text files were written in; of encodings that differ in rare signs, the one that decodes more.
_CANDIDATES = (
    *("cp1252", "iso8859-15", "mac-roman", "cp850", "cp437"),
    *("cp1250", "iso8859-2", "cp852", "cp1254", "cp1257"),
    *("cp1251", "koi8-r", "koi8-u", "cp866", "iso8859-5", "mac-cyrillic"),
    *("cp1253", "iso8859-7", "cp1255", "iso8859-8", "cp1256", "iso8859-6", "cp874"),
    *("cp932", "euc-jp", "gb18030", "big5", "cp949"),
)
#: The non-ASCII letters of Western languages.
_ALPHABETS = (
    frozenset("éèàêçâîôûùëïœæüÿ"),
    frozenset("äöüßéà"),
    frozenset("áéíóúñüºª"),
    frozenset("áâãàçéêíóôõúüºª"),
    frozenset("àèéìíòóùúîºª"),
    frozenset("åäöéüæøàóôò"),
    frozenset("áéíóúýþæöð"),
    frozenset("àèéíïòóúüç·"),
    frozenset("éëïóöüáèê"),
    frozenset("áéíóúàèìòùâêîôûŵŷ"),
)
#: Latin letters, and the East Asian characters, which stand beside them without a space.
_BESIDE_LATIN = "\x00-\u024f\u1e00-\u1eff\u2e80-\uffff"
_TWO_SCRIPTS = re.compile(rf"[A-Za-z](?=[^\W\d_])[^{_BESIDE_LATIN}]|(?=[^\W\d_])[^{_BESIDE_LATIN}][A-Za-z]")
#: A sign between two letters, or a capital after a small letter: most likely letters of another encoding.
_NO_WORD = re.compile(
    r"\ufffd|[^\W\d_](?![’‘·´\u00ad–—…])[^\w\x00-\x7f][^\W\d_]|[^\W\d_][¹²³½¼¾]|[a-zß-ÿ][À-Þ]"
)


def detect(data: bytes) -> str:
    """Return the Python name of the likeliest encoding of bytes that are not UTF-8; never fails."""
    import chardet

    sample = _sample(data)
    guesses = {
        guess["encoding"] or FALLBACK: guess["confidence"]
        for guess in chardet.detect_all(
            sample, ignore_threshold=True, compat_names=False, include_encodings=_CANDIDATES
        )
    }
    found = [name for name in guesses if not _TWO_SCRIPTS.search(sample.decode(name, "replace"))]
    best = next(iter(found), FALLBACK)
    words = [word for word in sample.decode(FALLBACK, "replace").split() if not word.isascii()]
    # One word tells nothing but that it may be Western.
    likely = len(words) == 1 or guesses.get(FALLBACK, 0.0) >= _NEARLY * guesses.get(best, 0.0)
    return FALLBACK if likely and sum(map(_western, words)) >= _ENOUGH * len(words) else best


def _sample(data: bytes) -> bytes:
    sample = b""
    for line in io.BytesIO(data):
        line = line.removesuffix(b"\n")
        if line.isascii():
            continue
        first = next(place for place, byte in enumerate(line) if byte > 0x7F)
        sample += line[max(0, first - _BEFORE) : first + _SAMPLE] + b"\n"
        if len(sample) >= _SAMPLE:
            break
    # Cut at a line end where there is one, so as not to halve a character of several bytes.
    return sample[: sample.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE]


def _western(word: str) -> bool:
    letters = {char for char in word.lower() if char.isalpha() and not char.isascii()}
    return not _NO_WORD.search(word) and any(letters <= alphabet for alphabet in _ALPHABETS)
