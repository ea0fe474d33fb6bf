"""Labels of relations, the same words being the same label whoever wrote them; and their weights."""

import re
import unicodedata
from typing import Final

from graphrag_dagster.kernel.text.similarity import clean

#: A relation of which no more is known.
RELATED_TO: Final = "related_to"
#: Two things stand in one sentence, and its grammar does not relate them.
CO_OCCURS: Final = "co_occurs"

#: Weights beside 0 that sums and products of many can bear.
LIGHTEST, HEAVIEST = 1e-30, 1e30

_MOST_WORDS, _MOST_CHARACTERS = 8, 80
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NOTHING = frozenset({"n_a", "na", "nan", "none", "null", "unknown", "unspecified", "not_specified"})


def relation_label(words: str) -> str | None:
    """Return a label: the words in lower case, joined by ``_``; None where they are none.

    A label has a letter, and at most 8 words and 80 characters; a label stays what it is.

    >>> relation_label(" Was born-in ")
    'was_born_in'
    >>> relation_label("worksFor")
    'works_for'
    """
    # Blanks of other kinds become ordinary ones before what cannot be printed is dropped.
    spaced = _CAMEL.sub(" ", _folded(clean(_folded(words))))
    parts = "".join(map(_kept, _folded(spaced.lower()))).split()
    label = "_".join(parts)
    fits = len(parts) <= _MOST_WORDS and len(label) <= _MOST_CHARACTERS
    return label if fits and label not in _NOTHING and any(map(str.isalpha, label)) else None


def is_weight(number: float) -> bool:
    """Whether a number can be the weight of a relation: 0, or from 1e-30 to 1e30.

    >>> [is_weight(number) for number in (0, 2.5, -1, 1e308, 5e-324, float("nan"))]
    [True, True, False, False, False, False]
    """
    return number == 0 or LIGHTEST <= number <= HEAVIEST


def _folded(words: str) -> str:
    return unicodedata.normalize("NFKC", words)


def _kept(char: str) -> str:
    if char in "'’":
        return ""
    # Vowel signs of Indic scripts are marks, and belong to their words.
    return char if char.isalnum() or unicodedata.category(char).startswith("M") else " "
