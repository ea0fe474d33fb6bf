"""Texts that say that two names are one: brackets, "hereafter", "also known as"."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal

Definition = Literal["bracketed", "called"]

_OPENS = re.compile(r"[\s\"“”'’]*\(\s*(?:the\s+)?[\"“”'’]?\s*\Z", re.IGNORECASE)
_CLOSES = re.compile(r"\s*[\"“”'’]?\s*[);,]")
_CALLED = re.compile(
    r"[\s\"“”'’,(]*(?:who\s+(?:is|was)\s+|which\s+(?:is|was)\s+|is\s+|was\s+)?"
    r"(?:(?:also|better|commonly|usually|formerly|originally|previously|later|popularly|simply|often)\s+)*"
    r"(?:known\s+as|called|hereafter|hereinafter|a\s?\.?\s?k\s?\.?\s?a\s?\.?|abbreviated(?:\s+(?:as|to))?"
    r"|shortened\s+to|renamed|n[ée]e|formerly|nicknamed)"
    r"\s*(?:as\s+)?(?:simply\s+)?[\s,:\"“”'’]*(?:the\s+)?[\"“”'’]?\s*\Z",
    re.IGNORECASE,
)
_LONGEST_BETWEEN = 60


def definitions(
    sentences: Iterable[tuple[str, Iterable[str]]],
) -> dict[tuple[str, str], Definition]:
    """Return the pairs of names that sentences define as one, each pair in order.

    "World Health Organization (WHO)" is ``bracketed``: what stands in brackets may also be a place or a year,
    so that this alone decides nothing. "Hereafter the Board" and "also known as" are ``called``.

    Args:
        sentences: texts, each with the names that stand in it as they are written.
    """
    found: dict[tuple[str, str], Definition] = {}
    for text, names in sentences:
        for (one, _, end), (other, begin, close) in _neighbours(text, names):
            between = text[end:begin]
            if one == other or len(between) > _LONGEST_BETWEEN:
                continue
            pair = (min(one, other), max(one, other))
            if _CALLED.match(between):
                found[pair] = "called"
            elif _OPENS.match(between) and _CLOSES.match(text[close:]):
                found.setdefault(pair, "bracketed")
    return found


def _neighbours(
    text: str, names: Iterable[str]
) -> Iterator[tuple[tuple[str, int, int], tuple[str, int, int]]]:
    """Yield names that follow each other, with where they begin and end; of overlapping ones the longest."""
    places: dict[int, tuple[str, int, int]] = {}
    taken: set[int] = set()
    for name in sorted(set(names), key=lambda name: (-len(name), name)):
        begin = text.find(name) if name else -1
        while begin >= 0:
            end = begin + len(name)
            if begin not in taken and end - 1 not in taken:
                places[begin] = (name, begin, end)
                taken.update(range(begin, end))
            begin = text.find(name, end)
    yield from pairwise(places[begin] for begin in sorted(places))


def by_pair(found: Iterable[dict[tuple[str, str], Definition]]) -> dict[tuple[str, str], Definition]:
    """Return the definitions of several documents as one: ``called`` where any says so."""
    merged: dict[tuple[str, str], set[Definition]] = defaultdict(set)
    for one in found:
        for pair, how in one.items():
            merged[pair].add(how)
    return {pair: "called" if "called" in how else "bracketed" for pair, how in merged.items()}
