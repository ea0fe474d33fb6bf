"""A question as every door asks it, and the search for its answer that every search method is given."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.documents.documents import name_of
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.questions.document_filters import ALL, Filters
from graphrag_dagster.kernel.questions.scope.favoured_documents import Favour
from graphrag_dagster.kernel.questions.scope.question_clues import favour_of
from graphrag_dagster.kernel.retrieval.retriever import Retriever

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphrag_dagster.kernel.catalogue.search_methods import SearchMethod
    from graphrag_dagster.kernel.catalogue.tasks import Port, Task
    from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
    from graphrag_dagster.kernel.questions.context.context_chunks import Count
    from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
    from graphrag_dagster.kernel.questions.scope.scope_selection import Scope
    from graphrag_dagster.kernel.retrieval.rerankers import Reranker
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
    from graphrag_dagster.kernel.settings.search_settings import SearchSettings
    from graphrag_dagster.kernel.tasks.answering_ports import SupportJudge
    from graphrag_dagster.kernel.tasks.task_ports import Turn


#: Said where nothing was found; what was searched is told behind it. ``Answer.refused`` is what to test for.
REFUSAL = "No answer was found."
LONGEST_QUESTION = 4000

_HALVES = re.compile("[\ud800-\udfff]")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


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


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, whoever asks; what is None is as the settings of the corpus say.

    Attributes:
        text: at most 4,000 characters; surrounding blanks are taken off.
        method: a search method of the catalogue, or ``C<k>`` of a deeper level; default: global where a level
            is given, else that of the settings.
        level: community level, such as ``C1``, of a search method that reads one of choice.
        filters: which documents to answer from.
        history: the conversation so far, oldest first; not every search method takes it into account.
        response_type: length and layout of the answer in at most 200 characters, such as ``single sentence``.
        general_knowledge: a model may add what it knows of the world, marked ``[LLM: verify]``.
    """

    text: str
    method: str | None = None
    level: str | None = None
    filters: Filters = ALL
    history: tuple[Turn, ...] = ()
    response_type: str | None = None
    general_knowledge: bool | None = None

    def checked(self) -> Question:
        """Return it without surrounding blanks.

        Raises:
            QuestionError: the text is blank, too long or no text, or the history no text.
        """
        checked_turns(text for turn in self.history for text in (turn.question, turn.answer))
        return replace(self, text=checked(self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What any question is answered from by one search method.

    Attributes:
        method: the search method.
        index: the tables of the corpus.
        count: tokens of a text.
        settings: of the corpus.
        level: community level that is read, k of Ck; None where the search method reads none.
    """

    method: SearchMethod
    index: IndexSnapshot
    count: Count
    settings: CorpusSettings
    level: int | None = None

    @property
    def options(self) -> SearchSettings:
        """The section ``search`` of the settings."""
        return self.settings.search

    @property
    def retriever(self) -> Retriever:
        """Finds text units and entities; made once per snapshot, on first use."""
        return retriever_of(self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Basis):
    """A question by a search method, and what it is answered from.

    Attributes:
        question: what is asked.
        engines: who does the language tasks.
        support: compares statements with the words they rest on; None: by shared words.
        scope: what the index was restricted to; None: it is whole.
    """

    question: Question
    engines: Engines
    support: Support | None = None
    scope: Scope | None = None

    @property
    def supporting(self) -> Support:
        """Compares statements with words, and has them judged as the engines say."""
        return (self.support or Support()).by(self.engines.support_judge())

    @property
    def favour(self) -> Favour:
        """Which documents the question names, or where it names none, the one before it."""
        soft = self.question.filters.soft
        if not (self.options.soft_filters if soft is None else soft):
            return Favour()
        own = favour_of(self.question.text, self.index)
        if own.clues or own.notes or not self.question.history:
            return own
        return favour_of(self.question.history[-1].question, self.index)


def checked(question: str) -> str:
    """Return the question without surrounding blanks.

    Raises:
        QuestionError: it holds no letter or digit, or a character no text has, or more than 4,000 characters.
    """
    asked = question.strip()
    if not any(character.isalnum() for character in asked):
        raise QuestionError("the question is empty; ask in words")
    if len(asked) > LONGEST_QUESTION:
        raise QuestionError(
            f"the question has {len(asked):,} characters; at most {LONGEST_QUESTION:,} can be answered"
        )
    if _NO_TEXT.search(asked):
        raise QuestionError("the question holds control characters, as binary files do; ask in words")
    return asked


def checked_turns(texts: Iterable[str]) -> None:
    """Check earlier questions and answers of a conversation.

    Raises:
        QuestionError: one holds half of a surrogate pair, which nothing can store or send.
    """
    if any(map(_HALVES.search, texts)):
        raise QuestionError(
            "the conversation so far holds half of a surrogate pair, which is not a character; take it out"
        )


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
