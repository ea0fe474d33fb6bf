"""Sentences of the documents that name entities."""

import re
from collections.abc import Iterator, Sequence

from graphrag_dagster.core.language.tasks import Quote
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.text.spans import Span

_QUOTED_LINE = re.compile(r"\n[ \t]*>+")


def spans_of(index: IndexSnapshot, unit_id: str) -> list[tuple[Span, str]]:
    """Return the sentences of a text unit with their words on one line; nothing for an unknown unit."""
    return index.once(_cut, unit_id)


def _cut(index: IndexSnapshot, unit_id: str) -> list[tuple[Span, str]]:
    passage = index.passages.get(unit_id)
    if passage is None:
        return []
    return [(span, _on_one_line(passage.text[span.start : span.end])) for span in passage.sentences]


def _on_one_line(words: str) -> str:
    """Without the marks of the lines of a quotation that is wrapped."""
    if "\n" in words and words.startswith(">"):
        words = _QUOTED_LINE.sub(" ", words)
    return " ".join(words.split())


def sentences_naming(
    index: IndexSnapshot, names: Sequence[str], unit_ids: Sequence[str], most: int
) -> Iterator[Quote]:
    """Yield at most ``most`` sentences of the units that hold all of the names, in the order of the units."""
    given = 0
    wanted = [name.casefold() for name in names]
    for unit_id in unit_ids:
        for span, words in spans_of(index, unit_id):
            folded = words.casefold()
            if all(name in folded for name in wanted):
                yield Quote(unit_id, span)
                given += 1
                if given == most:
                    return
