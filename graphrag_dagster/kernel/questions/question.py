"""A question, and the search that every search method receives to answer it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Protocol

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.questions.context.index_retriever import retriever_of
from graphrag_dagster.kernel.questions.document_filters import ALL, Filters
from graphrag_dagster.kernel.questions.scope.course_of_time import Course, course_of
from graphrag_dagster.kernel.questions.scope.favoured_documents import Favour
from graphrag_dagster.kernel.questions.scope.question_clues import favour_of
from graphrag_dagster.kernel.text.languages import language_of, main_language

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from graphrag_dagster.kernel.catalogue.search_methods import SearchMethod
    from graphrag_dagster.kernel.catalogue.tasks import Port, Task
    from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
    from graphrag_dagster.kernel.questions.context.context_chunks import Count
    from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
    from graphrag_dagster.kernel.questions.scope.scope_selection import Scope
    from graphrag_dagster.kernel.retrieval.retriever import Retriever
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
    from graphrag_dagster.kernel.settings.search_settings import SearchSettings
    from graphrag_dagster.kernel.tasks.answering_ports import Reranker, SupportJudge
    from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
    from graphrag_dagster.kernel.text.prompt_templates import Turn


#: Text of a refusal, followed by what was searched. Test ``Answer.refused`` instead of this text.
REFUSAL = "No answer was found."
LONGEST_QUESTION = 4000

_HALVES = re.compile("[\ud800-\udfff]")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Engines(Protocol):
    """The providers of the language tasks of a question; each is created on first use."""

    def task(self, task: Task[Port], /) -> Port:
        """Return the provider of a task; None if only a model could do it and there is none."""

    def embedder(self) -> CorpusEmbedder:
        """Return the embedder for the question."""

    def reranker(self) -> Reranker | None:
        """Return the reranker of the first text units found; None: they keep their order."""

    def support_judge(self) -> SupportJudge:
        """Return the judge of whether cited words support a statement."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question. Values of None default to the settings of the corpus.

    Attributes:
        text: at most 4,000 characters; surrounding whitespace is stripped.
        method: a search method of the catalogue, or ``C<k>`` of a deeper level; default: global if a level
            is given, else that of the settings.
        level: community level, such as ``C1``, for search methods with a selectable level.
        filters: which documents to answer from.
        history: the conversation so far, oldest first; not every search method uses it.
        response_type: length and layout of the answer in at most 200 characters, such as ``single sentence``.
        general_knowledge: a model may add general knowledge, marked ``[LLM: verify]``.
    """

    text: str
    method: str | None = None
    level: str | None = None
    filters: Filters = ALL
    history: tuple[Turn, ...] = ()
    response_type: str | None = None
    general_knowledge: bool | None = None

    def validated(self) -> Question:
        """Return the validated question, stripped of surrounding whitespace.

        Raises:
            QuestionError: the question is blank or too long, or it or the history has invalid characters.
        """
        check_turns(text for turn in self.history for text in (turn.question, turn.answer))
        return replace(self, text=validate_question(self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a search method answers any question from.

    Attributes:
        method: the search method.
        index: the tables of the corpus.
        count: counts the tokens of a text.
        settings: of the corpus.
        level: community level to read, k of Ck; None if the search method reads none.
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
        """Finds text units and entities; created once per snapshot on first use."""
        return retriever_of(self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Basis):
    """A question with its search method and everything it is answered from.

    Attributes:
        question: the question.
        engines: provides the language tasks.
        support: compares statements with the words they cite; None: by shared words.
        scope: what the index was restricted to; None: the whole index.
    """

    question: Question
    engines: Engines
    support: Support | None = None
    scope: Scope | None = None

    @property
    def supporting(self) -> Support:
        """Compares statements with the words they cite, using the support judge of the engines."""
        return (self.support or Support()).with_judge(self.engines.support_judge())

    @property
    def favour(self) -> Favour:
        """Documents that the question names; if it names none, those of the previous question."""
        soft, exact = self.question.filters.soft, self.options.hard_filters
        if not (self.options.soft_filters if soft is None else soft):
            return Favour()
        favours = self.index.once(_favours)
        favour = favours(self.question.text, exact=exact)
        if favour.clues or favour.notes or not self.question.history:
            return favour
        return favours(self.question.history[-1].question, exact=exact)

    @property
    def course(self) -> Course | None:
        """What the question wants to hear over time; None for any other question."""
        return course_of(self.question.text)

    @property
    def language_gap(self) -> tuple[str, str] | None:
        """ISO 639 codes of the question and of most of the texts, where they surely differ."""
        asked = language_of(self.question.text)
        if asked is None:
            return None
        read = self.index.once(_language_of_texts)
        return None if asked == read else (asked, read)

    def asked_of(self, engine: str, rows: Iterable[ContextUnit]) -> str:
        """Return the question for an engine to answer from rows.

        One without a model goes by words: where all rows are of documents that the question names exactly, it
        is asked without the words that name them.
        """
        text = self.question.text
        if asks_model(engine) or not all(row.selected for row in rows):
            return text
        return self.favour.asked_inside(text)


#: Text units by which the language of all is told.
_COMPARED = 50


def _language_of_texts(index: IndexSnapshot) -> str:
    texts = index.text_chunks["text"]
    return main_language(texts.gather_every(max(1, len(texts) // _COMPARED)).to_list())


def validate_question(question: str) -> str:
    """Return the question without surrounding whitespace.

    Raises:
        QuestionError: it has no letter or digit, has control characters, or exceeds 4,000 characters.
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


def check_turns(texts: Iterable[str]) -> None:
    """Check earlier questions and answers of a conversation.

    Raises:
        QuestionError: one has half of a surrogate pair, which cannot be stored or sent.
    """
    if any(map(_HALVES.search, texts)):
        raise QuestionError(
            "the conversation so far holds half of a surrogate pair, which is not a character; take it out"
        )


#: Questions whose favour is kept: each is asked for several times.
_KEPT = 64


def _favours(index: IndexSnapshot) -> Callable[..., Favour]:
    return lru_cache(_KEPT)(partial(favour_of, index=index))
