"""The text units of an index as passages, each made when it is read."""

from collections.abc import Iterator, Mapping

import polars as pl

from graphrag_dagster.core.search.context.rows_by_id import RowsById
from graphrag_dagster.core.text.passages import Passage


class PassagesById(Mapping[str, Passage]):
    """Text units by id.

    Args:
        chunks: rows of ``corpus.text_chunks``.
        documents: rows of ``corpus.documents``, those of the text units among them.
    """

    def __init__(self, chunks: pl.DataFrame, documents: pl.DataFrame) -> None:
        self._ids = chunks["text_unit_id"]
        columns = ("text_unit_id", "human_readable_id", "document_id", "start_char", "text")
        self._chunks = RowsById(chunks, "text_unit_id", columns)
        self._documents = RowsById(documents, "document_id", ("title", "path", "row"))
        self._made: dict[str, Passage] = {}

    def __getitem__(self, unit_id: str) -> Passage:
        if unit_id not in self._made:
            unit, document = self._chunks.get(unit_id), None
            if unit is not None:
                document = self._documents.get(unit[2])
            if unit is None or document is None:
                raise KeyError(unit_id)
            self._made[unit_id] = Passage(*unit[:3], *document, *unit[3:])
        return self._made[unit_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)
