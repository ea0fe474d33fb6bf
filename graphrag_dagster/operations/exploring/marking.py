"""A text cut at every edge of a mark on it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

MarkKind = Literal["entity", "claim", "cited"]


class Mark(NamedTuple):
    """Characters ``start`` to ``end`` that are marked; ``place`` says as which of its kind."""

    kind: MarkKind
    place: int
    start: int
    end: int


class Piece(NamedTuple):
    """A piece of a text, inside of which no mark begins or ends, with the kinds and places of its marks."""

    start: int
    text: str
    marks: list[tuple[MarkKind, int]]


def pieces(text: str, offset: int, marks: Iterable[Mark]) -> Iterator[Piece]:
    """Yield a text cut at every edge of a mark, without a gap; marks may overlap, and reach beyond it.

    Args:
        text: the characters.
        offset: the place of the first, in the text that the marks are of.
        marks: in any order.
    """
    last = offset + len(text)
    opening: defaultdict[int, list[tuple[MarkKind, int]]] = defaultdict(list)
    closing: defaultdict[int, list[tuple[MarkKind, int]]] = defaultdict(list)
    for kind, place, start, end in marks:
        begun, ended = max(start, offset), min(end, last)
        if begun < ended:
            opening[begun].append((kind, place))
            closing[ended].append((kind, place))
    depths: Counter[tuple[MarkKind, int]] = Counter()
    for edge, following in pairwise(sorted({offset, last, *opening, *closing})):
        depths.update(opening[edge])
        depths.subtract(closing[edge])
        # What is closed leaves, or every piece would look through all marks before it.
        for mark in closing[edge]:
            if not depths[mark]:
                del depths[mark]
        yield Piece(edge, text[edge - offset : following - offset], sorted(depths))
