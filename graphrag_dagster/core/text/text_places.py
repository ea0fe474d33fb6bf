"""Where names and quotes stand in the text of a unit."""

from collections.abc import Iterable, Iterator

from graphrag_dagster.core.text.sentences import sentence_spans
from graphrag_dagster.core.text.spans import Span

_KINDS = ("'’‘`´", '"“”„«»', "-‐‑‒–—")


class _Folding(dict[int, str]):
    """What stands for each character: one character, the same for all kinds of it, filled as they come."""

    def __missing__(self, code: int) -> str:
        small = chr(code).lower()[0]
        # Some small letters share their capital, as ſ does with s.
        same = small.upper().lower()
        self[code] = same if len(same) == 1 else small
        return self[code]


_FOLDING = _Folding({ord(char): kind[0] for kind in _KINDS for char in kind})


class TextPlaces:
    """Finds words in one text: without regard to case, kinds of quotes and dashes, and white space."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded = text.translate(_FOLDING)
        self._sentences: list[Span] | None = None
        self._known: dict[str, tuple[Span, ...]] = {}

    def name(self, name: str) -> tuple[Span, ...]:
        """Return every place where a name stands as whole words."""
        if name not in self._known:
            self._known[name] = tuple(self._places(name, whole=True))
        return self._known[name]

    def quote(self, words: str) -> tuple[Span, ...]:
        """Return the first place of a quotation, as one span, or nothing."""
        first = next(self._places(words, whole=False), None)
        return () if first is None else (first,)

    def sentences_with(self, first: Iterable[Span], second: Iterable[Span]) -> tuple[Span, ...]:
        """Return the sentences in which a place of each group begins."""
        both = self._containing(first) & self._containing(second)
        return tuple(sorted(both))

    def _containing(self, spans: Iterable[Span]) -> set[Span]:
        if self._sentences is None:
            self._sentences = sentence_spans(self.text)
        starts = [span.start for span in spans]
        return {s for s in self._sentences if any(s.start <= start < s.end for start in starts)}

    def _places(self, name: str, *, whole: bool) -> Iterator[Span]:
        words = name.translate(_FOLDING).split()
        if not words:
            return
        start = self._folded.find(words[0])
        while start >= 0:
            end = self._end(words, start)
            if end is None or (whole and (self._is_word(start - 1) or self._is_word(end))):
                end = start + 1
            else:
                yield Span(start, end)
            start = self._folded.find(words[0], end)

    def _end(self, words: list[str], start: int) -> int | None:
        """Where words end that begin there, with any white space between them; None where they do not."""
        end = start + len(words[0])
        for word in words[1:]:
            begin = end
            while self._folded[begin : begin + 1].isspace():
                begin += 1
            if begin == end or not self._folded.startswith(word, begin):
                return None
            end = begin + len(word)
        return end

    def _is_word(self, place: int) -> bool:
        if not 0 <= place < len(self.text):
            return False
        return self.text[place].isalnum() or self.text[place] == "_"
