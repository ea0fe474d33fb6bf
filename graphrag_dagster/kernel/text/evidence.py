"""Evidence of an answer or a row: words of a document, a triple, a table row, or a model's own text.

Another kind needs a class with its own ``kind`` and ``told``, and a member in :data:`Evidence`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import polars as pl
from pydantic import ConfigDict, Discriminator

from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Told:
    """Evidence for display on one line; each medium escapes and formats the parts in its own way.

    ``place`` is the location in the file, blank if unknown; ``before`` and ``after`` surround ``said``;
    ``verbatim`` text is put in quotation marks; ``remark`` is never omitted.
    """

    title: str
    path: str
    place: str
    said: str
    before: str = ""
    after: str = ""
    verbatim: bool = True
    remark: str = ""

    @property
    def location(self) -> str:
        """The file and the location in it."""
        return f"{self.path}, {self.place}" if self.place else self.path

    @property
    def without_location(self) -> str:
        """The text without its surroundings."""
        remark = f" ({self.remark})" if self.remark else ""
        return self.with_mark(self.said.strip()) + remark

    def with_mark(self, text: str) -> str:
        """Return a text made from ``said``, in quotation marks if it is verbatim."""
        return f"“{text}”" if self.verbatim else text


@dataclass(frozen=True, slots=True)
class _Evidence(ABC):
    """Base class of all kinds of evidence."""

    # Clients can rely on ``kind`` being present.
    __pydantic_config__: ClassVar = ConfigDict(json_schema_serialization_defaults_required=True)

    @property
    @abstractmethod
    def told(self) -> Told:
        """The parts of the line for display."""

    @property
    def line(self) -> str:
        """Location and text on one line."""
        return f"{self.told.location}: {self.told.without_location}"

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON-compatible values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Words(_Evidence):
    """Characters ``start_char`` to ``end_char`` of a document's text, with their text as ``quotation``.

    They count code points of the column ``text`` of ``corpus.documents``, which is the text as it was read:
    without front matter and byte order mark, with line ends as one character.

    ``before`` and ``after`` are the rest of the sentences that the words touch. ``exact``: the words
    themselves are known; otherwise they are the whole text unit that a row came from, or those of its
    sentences that name both ends of a relationship.
    """

    kind: Literal["words"] = field(default="words", kw_only=True)
    document_id: str
    document_title: str
    path: str
    text_unit_id: str
    start_char: int
    end_char: int
    quotation: str
    before: str = ""
    after: str = ""
    exact: bool = True

    @property
    def sentence(self) -> str:
        """The sentences that the words touch."""
        return self.before + self.quotation + self.after

    @property
    def told(self) -> Told:
        """The words with their characters."""
        return Told(
            self.document_title,
            self.path,
            f"characters {self.start_char}–{self.end_char}",
            _fold_spaces(self.quotation),
            _fold_spaces(self.before),
            _fold_spaces(self.after),
            remark="" if self.exact else "the words themselves are not known",
        )


@dataclass(frozen=True, slots=True)
class Triple(_Evidence):
    """A relationship of the graph, and the text unit that it was first extracted from.

    ``predicate`` is the relationship's description. A relationship extracted from text has no direction, so
    its subject and object are interchangeable. ``row`` counts from 0 if the document is a row of a table-like
    file.
    """

    kind: Literal["triple"] = field(default="triple", kw_only=True)
    relationship_id: str
    subject_id: str
    subject: str
    predicate: str
    object_id: str
    object: str
    document_id: str
    document_title: str
    path: str
    row: int | None
    text_unit_id: str

    @property
    def told(self) -> Told:
        """The ends and the description, which are not words of the document."""
        return Told(
            self.document_title,
            self.path,
            "" if self.row is None else f"row {self.row}",
            _fold_spaces(f"{self.subject} – {self.object}: {self.predicate}"),
            verbatim=False,
            remark="extracted; no words were found that name both ends",
        )


@dataclass(frozen=True, slots=True)
class Row(_Evidence):
    """A row of a table of the index, or of a query result.

    ``table`` is ``schema.table`` and ``key`` the row's key there. For a row of a query result ``table`` is
    ``query`` and ``key`` the row's position, 1…, or ``total``. ``values`` are the columns to display.
    """

    kind: Literal["row"] = field(default="row", kw_only=True)
    table: str
    key: str
    title: str
    values: Mapping[str, Scalar]

    @property
    def told(self) -> Told:
        """The columns with their values."""
        said = ", ".join(f"{name} {format_scalar(value)}" for name, value in self.values.items())
        return Told(self.title, self.table, f"row {self.key}", _fold_spaces(said), verbatim=False)


#: Columns to display of a row of an imported graph.
_OF_IMPORTED = ("head", "label", "tail", "title", "type", "subject", "object", "status", "description")


def imported_row(table: str, row: Mapping[str, Any]) -> Row:
    """Return a row of an imported graph as evidence.

    Args:
        table: as ``schema.table``.
        row: its columns, including ``path`` and ``row``.
    """
    values = {name: row[name] for name in _OF_IMPORTED if row.get(name)}
    return Row(table, f"{row['path']}:{row['row']}", row["path"], values)


@dataclass(frozen=True, slots=True)
class Written(_Evidence):
    """Text that a model wrote from its own knowledge, without a document."""

    kind: Literal["written"] = field(default="written", kw_only=True)
    text: str

    @property
    def told(self) -> Told:
        """The text, marked as not from a document."""
        return Told(
            "written by the model",
            "written by the model",
            "",
            _fold_spaces(self.text),
            verbatim=False,
            remark="from what it knows, not from documents",
        )


#: Discriminated by ``kind``, also in JSON.
Evidence = Annotated[Words | Triple | Row | Written, Discriminator("kind")]


def format_scalar(value: Scalar) -> str:
    """Return a value of a row for display on one line."""
    if value is None:
        return "–"
    return f"{value:,.15g}" if isinstance(value, float) else _fold_spaces(str(value))


def _fold_spaces(text: str) -> str:
    """Collapse white space, keeping a blank at ends where the text continues."""
    inner = " ".join(text.split())
    return (" " if text[:1].isspace() else "") + inner + (" " if inner and text[-1:].isspace() else "")


@dataclass(frozen=True)
class Passage:
    """A text unit: characters ``start_char`` to ``end_char`` of its document's text.

    ``human_readable_id`` gives the corpus order; ``row`` is the row of a document in a table-like file.
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
        """The sentences of the text, split by rules."""
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
        """Return the whole passage, for a row whose exact words are unknown."""
        return self.words(0, len(self.text), exact=False)


def passages_of(chunks: pl.DataFrame, documents: pl.DataFrame) -> dict[str, Passage]:
    """Return text units by id.

    Args:
        chunks: rows of ``corpus.text_chunks``.
        documents: rows of ``corpus.documents``, including those of the text units.
    """
    joined = chunks.join(documents.select("document_id", "title", "path", "row"), on="document_id")
    columns = ("text_unit_id", "human_readable_id", "document_id", "title", "path", "row", "start_char")
    return {row[0]: Passage(*row) for row in joined.select(*columns, "text").iter_rows()}


def triple_of(
    relationship: Mapping[str, Any], titles: Mapping[str, str], passages: Mapping[str, Passage]
) -> Triple | None:
    """Return a relationship as a triple with its first passage in corpus order.

    Args:
        relationship: a row of ``graph.relationships``.
        titles: of its ends by id; an end without a title keeps its name.
        passages: by id; without any of the relationship's the result is None.
    """
    own_passages = [passages[unit] for unit in relationship["text_unit_ids"] if unit in passages]
    if not own_passages:
        return None
    first = min(own_passages, key=lambda passage: passage.human_readable_id)
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
