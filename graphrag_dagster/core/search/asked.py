"""What is asked: a question, and all that a way of answering may need for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import polars as pl

from graphrag_dagster.core.corpus.documents import name_of
from graphrag_dagster.core.search.context.question import checked, checked_turns
from graphrag_dagster.core.search.context.support import Support
from graphrag_dagster.core.search.retrieval.retriever import Retriever
from graphrag_dagster.core.search.scope.clues import favour_of
from graphrag_dagster.core.search.scope.favour import Favour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphrag_dagster.catalogue.tasks import Port, Task
    from graphrag_dagster.catalogue.ways import Way
    from graphrag_dagster.core.language.supporting import SupportJudge
    from graphrag_dagster.core.language.tasks import Turn
    from graphrag_dagster.core.search.context.chunks import Count
    from graphrag_dagster.core.search.context.index import IndexSnapshot
    from graphrag_dagster.core.search.options import SearchOptions
    from graphrag_dagster.core.search.reranking.port import Reranker
    from graphrag_dagster.core.search.scope.selecting import Scope
    from graphrag_dagster.core.text.embedder import CorpusEmbedder


class Engines(Protocol):
    """Who does the language tasks of a question; each is made when it is first needed."""

    def task(self, task: Task[Port], /) -> Port:
        """Who does a task; None where only a model could, and there is none."""

    def embedder(self) -> CorpusEmbedder:
        """Who turns the question into a vector."""

    def reranker(self) -> Reranker | None:
        """Who puts the first text units found into another order; None: nobody."""

    def support_judge(self) -> SupportJudge:
        """Who says whether words support what is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What any question is answered from in one way.

    Attributes:
        way: the way of answering.
        index: the tables of the corpus.
        count: tokens of a text.
        options: how questions are answered.
        level: community level that is read, k of Ck; None where the way reads none.
    """

    way: Way
    index: IndexSnapshot
    count: Count
    options: SearchOptions
    level: int | None = None

    @property
    def retriever(self) -> Retriever:
        """Finds text units and entities; made once per snapshot, on first use."""
        return retriever_of(self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Basis):
    """A question, and what it is answered from.

    Attributes:
        question: at most 4,000 characters; surrounding blanks are taken off.
        engines: who does the language tasks.
        history: the conversation so far, oldest first.
        support: compares statements with the words they rest on; None: by shared words.
        scope: what the index was restricted to; None: it is whole.
        soft: whether what the question names of the documents is favoured; None: as the options say.

    Raises:
        QuestionError: the question is blank, too long or no text, or the history no text.
    """

    question: str
    engines: Engines
    history: Sequence[Turn] = ()
    support: Support | None = None
    scope: Scope | None = None
    soft: bool | None = None

    @property
    def supporting(self) -> Support:
        """Compares statements with words, and has them judged as the engines say."""
        return (self.support or Support()).by(self.engines.support_judge())

    def __post_init__(self) -> None:
        object.__setattr__(self, "question", checked(self.question))
        checked_turns(text for turn in self.history for text in (turn.question, turn.answer))

    @property
    def favour(self) -> Favour:
        """Which documents the question names, or where it names none, the one before it."""
        if not (self.options.soft_filters if self.soft is None else self.soft):
            return Favour()
        own = favour_of(self.question, self.index)
        if own.clues or own.notes or not self.history:
            return own
        return favour_of(self.history[-1].question, self.index)


def retriever_of(index: IndexSnapshot) -> Retriever:
    """Return who finds text units and entities of an index; made once."""
    return index.once(_retriever)


def given_titles(documents: pl.DataFrame) -> pl.DataFrame:
    """Return ``document_id`` and ``title`` of documents, blank for what a row is called for want of one.

    What a row of a table is called then says nothing.
    """
    own = documents.select("document_id", "path", "row", "title")
    called = [
        title if row is None or title != name_of(path, row) else ""
        for _, path, row, title in own.filter(pl.col("row").is_not_null()).iter_rows()
    ]
    given = own.filter(pl.col("row").is_null()).select("document_id", "title")
    rows = own.filter(pl.col("row").is_not_null()).select(
        "document_id", title=pl.Series(called, dtype=pl.String)
    )
    return pl.concat([given, rows])


def _retriever(index: IndexSnapshot) -> Retriever:
    titles = given_titles(index.documents)
    return Retriever(
        index.text_chunks.join(titles, on="document_id", how="left", maintain_order="left"),
        index.entities,
        index.relationships,
        index.unit_vectors,
        index.entity_vectors,
        shelf=index.shelf,
    )
