"""Which claims of an answer say the same in the same words (spec_graphrag §10)."""

import unicodedata
from collections.abc import Sequence

#: Punctuation by Unicode's account that changes what is said: C and C#, 5 and 5 %.
_MEANINGFUL = frozenset("#%&@‰′″")
#: What may begin a number: −5 with a hyphen or a dash, and .5.
_SIGNS = "-–."
_APOSTROPHES = str.maketrans("’ʼ＇", "'''")


def repeated(claims: Sequence[str]) -> dict[int, int]:
    """Return the positions of the claims that repeat an earlier one, with that one's position.

    Two claims are the same where only case, blanks, and punctuation at the ends of words differ. What stands
    inside a word or makes it another one is kept: 3.5 is not 35, −5 not 5, C# not C. Blank claims and those
    of punctuation alone count as the same.

    >>> repeated(["In 2020, it closed.", "in 2020 it  closed", "In 2021 it closed."])
    {1: 0}
    """
    first: dict[str, int] = {}
    earlier = [first.setdefault(_key(claim), position) for position, claim in enumerate(claims)]
    return {position: other for position, other in enumerate(earlier) if other != position}


def _key(claim: str) -> str:
    # Not NFKC, which makes 102 of 10².
    folded = unicodedata.normalize("NFC", claim.casefold()).translate(_APOSTROPHES)
    return " ".join(word for word in map(_bare, folded.split()) if word)


def _bare(word: str) -> str:
    """Return the word without the punctuation at its ends, keeping what makes a number another one."""
    start, end = 0, len(word)
    while start < end and _strippable(word[start]):
        start += 1
    while end > start and _strippable(word[end - 1]):
        end -= 1
    before, bare = word[:start], word[start:end]
    sign = before[len(before.rstrip(_SIGNS)) :] if bare[:1].isdigit() else ""
    return sign + bare


def _strippable(char: str) -> bool:
    return unicodedata.category(char).startswith("P") and char not in _MEANINGFUL
