"""Evidence of an answer or a row: words of a document, a triple, a table's row, or a model's own text.

A further kind is a class here with its own ``kind`` and ``told``, and a member of :data:`Evidence`.
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
    """Evidence as people read it, on one line; each medium escapes the parts and sets them off in its way.

    ``place`` says where in the file, empty where nothing is known of that; ``before`` and ``after`` are what
    stands around ``said``; ``verbatim`` text is given in quotation marks; ``remark`` is never left out.
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
    def where(self) -> str:
        """The file, and the place in it."""
        return f"{self.path}, {self.place}" if self.place else self.path

    @property
    def alone(self) -> str:
        """What is said, without what stands around it."""
        remark = f" ({self.remark})" if self.remark else ""
        return self.marked(self.said.strip()) + remark

    def marked(self, text: str) -> str:
        """Return what was made of ``said``, in quotation marks where it is verbatim."""
        return f"“{text}”" if self.verbatim else text


@dataclass(frozen=True, slots=True)
class _Evidence(ABC):
    """What can be done with evidence of any kind."""

    # A reader of the schema can rely on ``kind``.
    __pydantic_config__: ClassVar = ConfigDict(json_schema_serialization_defaults_required=True)

    @property
    @abstractmethod
    def told(self) -> Told:
        """The parts of the line that people read."""

    @property
    def line(self) -> str:
        """Where it stands and what it says, on one line."""
        return f"{self.told.where}: {self.told.alone}"

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as values that JSON can hold."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Words(_Evidence):
    """Characters ``start_char`` to ``end_char`` of a document's text: the words there are ``quotation``.

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
        """The words inside the sentences that they touch."""
        return self.before + self.quotation + self.after

    @property
    def told(self) -> Told:
        """The words with their characters."""
        return Told(
            self.document_title,
            self.path,
            f"characters {self.start_char}–{self.end_char}",
            _folded(self.quotation),
            _folded(self.before),
            _folded(self.after),
            remark="" if self.exact else "the words themselves are not known",
        )


@dataclass(frozen=True, slots=True)
class Triple(_Evidence):
    """A relationship of the graph, and the text unit that it was first read from.

    ``predicate`` is the relationship's description. A relationship that was extracted from text has no
    direction: which of its ends is the subject means nothing. ``row`` counts from 0 where the document is a
    row of a table-like file.
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
        """The ends and what is said of them, which are no words of the document."""
        return Told(
            self.document_title,
            self.path,
            "" if self.row is None else f"row {self.row}",
            _folded(f"{self.subject} – {self.object}: {self.predicate}"),
            verbatim=False,
            remark="extracted; no words were found that name both ends",
        )


@dataclass(frozen=True, slots=True)
class Row(_Evidence):
    """A row of a table of the index, or of what a query over them gave.

    ``table`` is ``schema.table`` and ``key`` the row's key there; for a row of a query's result ``table`` is
    ``query`` and ``key`` the row's place, 1…, or ``total``. ``values`` are its columns that are shown.
    """

    kind: Literal["row"] = field(default="row", kw_only=True)
    table: str
    key: str
    title: str
    values: Mapping[str, Scalar]

    @property
    def told(self) -> Told:
        """The columns with their values."""
        said = ", ".join(f"{name} {scalar_told(value)}" for name, value in self.values.items())
        return Told(self.title, self.table, f"row {self.key}", _folded(said), verbatim=False)


#: What is shown of a row of a graph that came from elsewhere.
_OF_IMPORTED = ("head", "label", "tail", "title", "type", "subject", "object", "status", "description")


def imported_row(table: str, row: Mapping[str, Any]) -> Row:
    """Return a row of a graph that came from elsewhere as evidence.

    Args:
        table: as ``schema.table``.
        row: its columns, ``path`` and ``row`` among them.
    """
    values = {name: row[name] for name in _OF_IMPORTED if row.get(name)}
    return Row(table, f"{row['path']}:{row['row']}", row["path"], values)


@dataclass(frozen=True, slots=True)
class Written(_Evidence):
    """What a model wrote from its own knowledge, which no document says."""

    kind: Literal["written"] = field(default="written", kw_only=True)
    text: str

    @property
    def told(self) -> Told:
        """What was written, and that it is no document's."""
        return Told(
            "written by the model",
            "written by the model",
            "",
            _folded(self.text),
            verbatim=False,
            remark="from what it knows, not from documents",
        )


#: Told apart by ``kind``, also in JSON.
Evidence = Annotated[Words | Triple | Row | Written, Discriminator("kind")]


def scalar_told(value: Scalar) -> str:
    """Return a value of a row as people read it, on one line."""
    if value is None:
        return "–"
    return f"{value:,.15g}" if isinstance(value, float) else _folded(str(value))


def _folded(text: str) -> str:
    """White space folded, but not lost at the ends, where a text goes on."""
    inner = " ".join(text.split())
    return (" " if text[:1].isspace() else "") + inner + (" " if inner and text[-1:].isspace() else "")


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
