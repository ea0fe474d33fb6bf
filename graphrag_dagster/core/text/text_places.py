"""Where names and quotes stand in the text of a unit."""

import re
from collections.abc import Iterable

from graphrag_dagster.core.text.sentences import sentence_spans
from graphrag_dagster.core.text.spans import Span

_KINDS = ("'’‘`´", '"“”„«»', "-‐‑‒–—")
_ALIKE = {char: f"[{re.escape(kind)}]" for kind in _KINDS for char in kind}


class TextPlaces:
    """Finds words in one text: without regard to case, kinds of quotes and dashes, and white space."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._sentences: list[Span] | None = None
        self._known: dict[str, tuple[Span, ...]] = {}

    def name(self, name: str) -> tuple[Span, ...]:
        """Return every place where a name stands as whole words."""
        if name not in self._known:
            pattern = _pattern(name)
            self._known[name] = self._all(rf"(?<!\w){pattern}(?!\w)") if pattern else ()
        return self._known[name]

    def quote(self, words: str) -> tuple[Span, ...]:
        """Return the first place of a quotation, as one span, or nothing."""
        pattern = _pattern(words)
        return self._all(pattern)[:1] if pattern else ()

    def sentences_with(self, first: Iterable[Span], second: Iterable[Span]) -> tuple[Span, ...]:
        """Return the sentences in which a place of each group begins."""
        both = self._containing(first) & self._containing(second)
        return tuple(sorted(both))

    def _containing(self, spans: Iterable[Span]) -> set[Span]:
        if self._sentences is None:
            self._sentences = sentence_spans(self.text)
        starts = [span.start for span in spans]
        return {s for s in self._sentences if any(s.start <= start < s.end for start in starts)}

    def _all(self, pattern: str) -> tuple[Span, ...]:
        return tuple(Span(*m.span()) for m in re.finditer(pattern, self.text, re.IGNORECASE))


def _pattern(words: str) -> str:
    return r"\s+".join("".join(_ALIKE.get(char, re.escape(char)) for char in word) for word in words.split())
