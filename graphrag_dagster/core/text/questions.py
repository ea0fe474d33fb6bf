"""What a question says to look for (English)."""

import re

from graphrag_dagster.core.text.english_words import GENERAL, GENRES, SAYING, THEMES
from graphrag_dagster.core.text.similarity import stem, stems, words

_NAME_IN_QUESTION = re.compile(r"(?<=[^.?!:]\s)[\"'“‘(]?([^\W\d_a-z][\w'’-]*)")

_GENERAL, _THEMES, _GENRES, _SAYING = (
    frozenset(map(stem, listed)) for listed in (GENERAL, THEMES, GENRES, SAYING)
)


def asks_for_overview(question: str) -> bool:
    """Return whether a question looks for nothing in particular.

    Such are "What are the main themes?", which names nothing, and "Who are the main actors in the harbour,
    and how are they connected?", which names one common word among several that ask for an overview.
    """
    asked = asked_words(question)
    general = [word for word in words(question) if set(stems(word)) & _GENERAL]
    return not asked or (len(asked) == 1 and len(general) > 1 and not _NAME_IN_QUESTION.search(question))


def asks_what_was_said(question: str) -> bool:
    """Return whether a question is about what somebody said or thought.

    >>> asks_what_was_said("What did the minister think of the curriculum?")
    True
    """
    return not _SAYING.isdisjoint(map(stem, words(question)))


def asked_words(question: str) -> list[str]:
    """Return the words of a question that say what to look for, each once."""
    every = set(stems(question))
    general = _GENERAL | _GENRES if every & _THEMES else _GENERAL
    return [word for word in dict.fromkeys(words(question)) if set(stems(word)) - general]


def names_in(question: str) -> frozenset[str]:
    """Return the stems of the words of a question that are written as names."""
    found = (word for name in _NAME_IN_QUESTION.findall(question) for word in words(name))
    return frozenset(stem(word) for word in found if word.isalpha())
