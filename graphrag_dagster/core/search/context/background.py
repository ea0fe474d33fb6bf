"""What the tables tell of the text units that are quoted."""

from collections.abc import Sequence

from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.text.phrases import Phrase, phrases

_MOST_PHRASES = 60


class IndexBackground:
    """Documents of text units, and the entities found in them; looked up when they are first asked for."""

    def __init__(self, index: IndexSnapshot) -> None:
        self._index = index

    def document(self, unit_id: str) -> str:
        """Return the id of a text unit's document, blank for an unknown unit."""
        passage = self._index.passages.get(unit_id)
        return passage.document_id if passage else ""

    def names(self, unit_id: str) -> Sequence[tuple[str, str]]:
        """Return titles and types of the entities that were found in a text unit."""
        return self._index.once(_names).get(unit_id, ())

    def phrases(self) -> Sequence[Phrase]:
        """Return what tells the documents apart, the weightiest phrase first."""
        return self._index.once(_phrases)

    def told(self) -> bool:
        """Whether the text units are a graph told in words: each of their sentences stands for itself."""
        return self._index.sentences is not None


def _phrases(index: IndexSnapshot) -> list[Phrase]:
    ordered = index.text_chunks.sort("human_readable_id", "text_unit_id")
    return phrases(ordered["text"].to_list(), ordered["document_id"].to_list(), _MOST_PHRASES)


def _names(index: IndexSnapshot) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    rows = index.entities.select("title", "type", "text_unit_ids").sort("title", "type")
    for title, kind, units in rows.iter_rows():
        for unit in units:
            found.setdefault(unit, []).append((title, kind))
    return found
