"""Words of scripts that write no blanks between them: Chinese and Japanese."""

import re
from collections.abc import Iterable, Iterator

#: Chinese characters, kana and the marks that stand inside of words.
_LETTERS = "\u3005\u3041-\u3096\u3099\u309a\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_ANY = re.compile(f"[{_LETTERS}]")
_RUN = re.compile(f"[{_LETTERS}]+|[^{_LETTERS}]+")


def has_east_asian(text: str) -> bool:
    """Return whether a text has a Chinese or Japanese letter."""
    return not text.isascii() and _ANY.search(text) is not None


def pairs(word: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the parts of a word: each two Chinese or Japanese letters, other runs whole.

    >>> [("2011年の地震"[start:end]) for start, end in pairs("2011年の地震")]
    ['2011', '年の', 'の地', '地震']
    """
    for run in _RUN.finditer(word):
        start, end = run.span()
        if end - start < 3 or not _ANY.match(run[0]):
            yield start, end
        else:
            yield from ((place, place + 2) for place in range(start, end - 1))


def in_pairs(words: Iterable[str]) -> list[str]:
    """Return words with Chinese and Japanese ones in pairs of letters, as a search finds them.

    Where words begin and end only a dictionary would know; pairs find them without one.
    """
    return [word[start:end] for word in words for start, end in pairs(word)]
