"""The words of a question, and how they stand to each other."""

import re
from collections.abc import Iterable
from functools import cached_property

from graphrag_dagster.kernel.retrieval.search_words import words_with_case
from graphrag_dagster.kernel.text.periods import periods_in


class QuestionWords:
    """A question with its words, folded and as written.

    Args:
        text: the question.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        cased_words = words_with_case(text)
        self.folded, self.written, self.spans = cased_words.folded, cased_words.written, cased_words.spans
        self.every = frozenset(self.folded)

    @cached_property
    def timed(self) -> frozenset[int]:
        """The positions of the words of periods."""
        return frozenset(
            place for named in periods_in(self.text) for place in self.within(named.start, named.end)
        )

    def as_written(self, start: int, end: int) -> str:
        """Return words as written, in quotation marks."""
        match = re.search(r"\W+".join(map(re.escape, self.written[start:end])), self.text)
        return f"“{match[0] if match else ' '.join(self.written[start:end])}”"

    def has_together(self, some: frozenset[str]) -> bool:
        """Whether words are adjacent in any order and one of them is capitalised."""
        return any(
            frozenset(self.folded[start : start + len(some)]) == some
            and self.has_capital(range(start, start + len(some)))
            for start in range(len(self.folded) - len(some) + 1)
        )

    def has_capital(self, places: Iterable[int]) -> bool:
        """Whether one of the words, other than the first of the question, is capitalised."""
        return any(position and self.written[position][:1].isupper() for position in places)

    def adjacent(self, kinds: frozenset[str], start: int, end: int) -> bool:
        """Whether a word of the given kinds is adjacent to the words ``start`` to ``end``."""
        neighbours = (*self.folded[max(0, start - 1) : start], *self.folded[end : end + 1])
        return bool(kinds.intersection(neighbours))

    def names_source(self, start: int) -> bool:
        """Whether "according to" precedes, with or without an article."""
        return " ".join(self.folded[max(0, start - 3) : start]).removesuffix(" the").endswith("according to")

    def within(self, start: int, end: int) -> range:
        """Return the positions of the words between two characters of the text."""
        inside = [place for place, (first, last) in enumerate(self.spans) if first < end and last > start]
        return range(inside[0], inside[-1] + 1) if inside else range(0)
