"""What a question says to look for (English)."""

import re

from graphrag_dagster.core.text.english_words import DOCUMENTS, GENERAL, GENRES, SAYING, THEMES
from graphrag_dagster.core.text.similarity import stem, stems, words

_KIND = f"(?i:{'|'.join(sorted(DOCUMENTS))})"
_DAY = r"(?:[A-Z][a-z]+ \d{1,2},? \d{4}|\d{1,2} [A-Z][a-z]+ \d{4}|\d{4}-\d\d-\d\d|[A-Z][a-z]+ \d{4}|\d+)"
_ASKS = (
    "what|which|who|whom|whose|when|where|why|how|did|does|do|is|are|was|were|has|had|have|can|could"
    "|summari[sz]e|describe|list|name|explain"
)
#: "In the interview with Ada Rusk, what …": a kind of document, with a name or number, before what asks.
_BEFORE = re.compile(
    rf"\A\s*(?i:in|at|on|during|from|according to)\b"
    rf"(?=[^?]*?\b{_KIND}\b)(?=[^?]*?(?:\d|\b{_KIND}\b[^?,]*?[A-Z]|\b[A-Z][\w-]* {_KIND}\b))[^?]*?,\s+"
    rf"(?=(?:(?:by|in|to|of|at|for|from|on|with) )?(?i:{_ASKS})\b)"
)
#: "in the episode of March 15, 2022", "of episode 48".
_WITHIN = re.compile(
    rf"\s\b(?:in|of|on|from|during|at) (?:(?:the|this|that) )?(?:\w+ )?{_KIND}"
    rf"(?: (?:of|from|on|dated|number))? {_DAY}\b"
)
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


def without_scope(question: str) -> str:
    """Return a question without the words that tell in which document to look.

    >>> without_scope("In the interview with Ada Rusk, what did she weld?")
    'what did she weld?'
    >>> without_scope("What was sold in the episode of March 15, 2022?")
    'What was sold?'
    """
    about = _WITHIN.sub("", _BEFORE.sub("", question))
    return about if stems(about) else question


def asked_words(question: str) -> list[str]:
    """Return the words of a question that say what to look for, each once."""
    every = set(stems(question))
    general = _GENERAL | _GENRES if every & _THEMES else _GENERAL
    return [word for word in dict.fromkeys(words(question)) if set(stems(word)) - general]


def names_in(question: str) -> frozenset[str]:
    """Return the stems of the words of a question that are written as names."""
    found = (word for name in _NAME_IN_QUESTION.findall(question) for word in words(name))
    return frozenset(stem(word) for word in found if word.isalpha())
