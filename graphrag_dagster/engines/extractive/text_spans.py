"""Where names and quotes stand in the text of a unit."""

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property

from graphrag_dagster.kernel.text.markup_spans import AlikeText, Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans


class TextPlaces:
    """Finds words in one text, as :class:`.AlikeText` tells them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[str, tuple[Span, ...]] = {}

    def name(self, name: str) -> tuple[Span, ...]:
        """Return every place where a name stands as whole words."""
        if name not in self._known:
            self._known[name] = tuple(self._alike.places(name, whole=True))
        return self._known[name]

    def quote(self, words: str) -> tuple[Span, ...]:
        """Return the first place of a quotation, as one span, or nothing."""
        first = next(self._alike.places(words, whole=False), None)
        return () if first is None else (first,)

    def sentences_with(self, first: Iterable[Span], second: Iterable[Span]) -> tuple[Span, ...]:
        """Return the sentences in which a place of each group begins."""
        both = self._sentences_containing(first) & self._sentences_containing(second)
        return tuple(self._sentences[place] for place in sorted(both))

    @cached_property
    def _alike(self) -> AlikeText:
        return AlikeText(self.text)

    @cached_property
    def _sentences(self) -> list[Span]:
        return sentence_spans(self.text)

    @cached_property
    def _sentence_starts(self) -> list[int]:
        return [sentence.start for sentence in self._sentences]

    def _sentences_containing(self, spans: Iterable[Span]) -> set[int]:
        """Places of the sentences in which one of the spans begins."""
        places = {(bisect_right(self._sentence_starts, span.start) - 1, span.start) for span in spans}
        return {place for place, start in places if place >= 0 and start < self._sentences[place].end}
