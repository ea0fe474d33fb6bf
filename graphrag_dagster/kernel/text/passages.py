"""Text units as passages of their documents, and the evidence that stands in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from graphrag_dagster.kernel.text.evidence import Triple, Words
from graphrag_dagster.kernel.text.sentences import sentence_spans
from graphrag_dagster.kernel.text.spans import Span


@dataclass(frozen=True)
class Passage:
    """A text unit: characters ``start_char`` to ``end_char`` of its document's text.

    ``human_readable_id`` gives the order of the corpus; ``row`` is that of a document in a table-like file.
    """

    text_unit_id: str
    human_readable_id: int
    document_id: str
    document_title: str
    path: str
    row: int | None
    start_char: int
    text: str

    @property
    def end_char(self) -> int:
        """One past the last character."""
        return self.start_char + len(self.text)

    @cached_property
    def sentences(self) -> Sequence[Span]:
        """The sentences of the text, by rule."""
        return sentence_spans(self.text)

    def words(self, start: int, end: int, *, exact: bool = True) -> Words:
        """Return characters of the passage, with the rest of the sentences that they touch."""
        touched = [span for span in self.sentences if span.start < end and start < span.end]
        first = min([start, *(span.start for span in touched)])
        last = max([end, *(span.end for span in touched)])
        return Words(
            *(self.document_id, self.document_title, self.path, self.text_unit_id),
            *(self.start_char + start, self.start_char + end),
            *(self.text[start:end], self.text[first:start], self.text[end:last]),
            exact=exact,
        )

    def whole(self) -> Words:
        """Return the whole passage, for a row whose words are not known."""
        return self.words(0, len(self.text), exact=False)


def passages_of(chunks: pl.DataFrame, documents: pl.DataFrame) -> dict[str, Passage]:
    """Return text units by id.

    Args:
        chunks: rows of ``corpus.text_chunks``.
        documents: rows of ``corpus.documents``, those of the text units among them.
    """
    placed = chunks.join(documents.select("document_id", "title", "path", "row"), on="document_id")
    columns = ("text_unit_id", "human_readable_id", "document_id", "title", "path", "row", "start_char")
    return {row[0]: Passage(*row) for row in placed.select(*columns, "text").iter_rows()}


def triple_of(
    relationship: Mapping[str, Any], titles: Mapping[str, str], passages: Mapping[str, Passage]
) -> Triple | None:
    """Return a relationship as a triple, with the first of its passages in the order of the corpus.

    Args:
        relationship: a row of ``graph.relationships``.
        titles: of its ends, by id; an end without one is called by its name.
        passages: by id; without any of the relationship's there is no triple.
    """
    read_in = [passages[unit] for unit in relationship["text_unit_ids"] if unit in passages]
    if not read_in:
        return None
    first = min(read_in, key=lambda passage: passage.human_readable_id)
    return Triple(
        relationship_id=relationship["relationship_id"],
        subject_id=relationship["source_id"],
        subject=titles.get(relationship["source_id"], relationship["source"]),
        predicate=relationship["description"],
        object_id=relationship["target_id"],
        object=titles.get(relationship["target_id"], relationship["target"]),
        document_id=first.document_id,
        document_title=first.document_title,
        path=first.path,
        row=first.row,
        text_unit_id=first.text_unit_id,
    )
