"""The entry point to all search methods, over one snapshot of an index."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from graphrag_dagster.errors import EngineError, QuestionError
from graphrag_dagster.kernel.catalogue.registry import (
    answers_are_quotes,
    embedders,
    load_target,
    method_at_level,
    methods,
    plugin_errors,
)
from graphrag_dagster.kernel.catalogue.search_methods import AUTO, GLOBAL, SearchMethod
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.progress import stage, without_progress
from graphrag_dagster.kernel.questions.context.answer import Answer, Source
from graphrag_dagster.kernel.questions.context.context_chunks import Count
from graphrag_dagster.kernel.questions.context.context_units import spans_of
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.document_filters import level_of
from graphrag_dagster.kernel.questions.finding import prior_of, text_query
from graphrag_dagster.kernel.questions.question import REFUSAL, Basis, Engines, Question, Search
from graphrag_dagster.kernel.questions.scope.scope_selection import restrict_index, scope_of, selected
from graphrag_dagster.kernel.questions.several_questions import MOST_QUESTIONS, TOO_MANY, joined, questions_in
from graphrag_dagster.kernel.questions.unknown_words import Reading, reading_of
from graphrag_dagster.kernel.retrieval.search_words import words_with_case
from graphrag_dagster.kernel.retrieval.sentence_relevance import asked_words
from graphrag_dagster.kernel.tasks.task_ports import Quote
from graphrag_dagster.kernel.text.languages import language_name
from graphrag_dagster.kernel.text.markup_spans import Span, mark_before
from graphrag_dagster.kernel.text.prompt_templates import Turn
from graphrag_dagster.kernel.text.quotable_sentences import readability
from graphrag_dagster.kernel.text.text_similarity import stem, stems

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.call_estimates import MethodSize
    from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
    from graphrag_dagster.kernel.settings.search_settings import SearchSettings


#: Text units searched for the nearest passage, and the most characters of it shown.
_UNITS, _SHOWN = 5, 300
#: Words of the question that no text has, at most so many of which are shown.
_UNKNOWN = 3
#: What rows of a context are called, in the singular and in the plural.
_FILTERS = {
    "documents": "document",
    "folders": "folder",
    "date_from": "from",
    "date_to": "to",
    "where": "where",
    "conditions": "where",
}
_ROWS = {"source": ("text unit",), "entity": ("entity", "entities"), "summary": ("summary", "summaries")}


def with_search_summary(search: Search, made: Answer, remark: str = "") -> Answer:
    """Add what was searched to a refusal for lack of results; return any other answer unchanged.

    ``nearest`` becomes the sentence that shares the most words with the question. It is found lexically, so
    that no model is called. A refusal with another text is returned unchanged.

    Args:
        search: the question, over the documents that were searched.
        made: its answer.
        remark: what else is told, before the nearest passage.
    """
    if not made.refused or made.text != REFUSAL:
        return made
    if not made.method or not search.method.tables:
        return replace(made, text=f"{REFUSAL} No document was searched.")
    nearest = _nearest_sentence(search, made)
    told = " ".join(filter(None, (language_note(search, made), _search_summary(search, made), remark)))
    text = f"{REFUSAL} {told}"
    return replace(made, text="\n\n".join(filter(None, (text, _describe_nearest(nearest)))), nearest=nearest)


def language_note(search: Search, made: Answer) -> str:
    """Return what it means that a question is in another language than the texts; blank where it is not.

    Args:
        search: the question, over the documents that were searched.
        made: its answer.
    """
    if search.language_gap is None:
        return ""
    kind = embedders().get(search.settings.embeddings.embedder)
    if kind is None or not kind.languages:
        return ""
    asked, read = map(language_name, search.language_gap)
    told = f"The question is in {asked} and most of the texts are in {read}"
    if kind.languages == "many":
        by_meaning = f"{told}: sentences were compared by meaning alone, and the nearest may not answer."
        return by_meaning if answers_are_quotes(made.engine) else ""
    return (
        f"{told}, and the embedder {kind.name} compares English alone, so that only names and numbers are "
        f"found: ask in {read}, or set embeddings.embedder: multilingual-e5 and index again."
    )


def _search_summary(search: Search, answer: Answer) -> str:
    within = _searched(search, answer)
    rows = Counter(row.kind for row in answer.context)
    read = ", ".join(plural(number, *_ROWS.get(kind, (kind,))) for kind, number in rows.items())
    summary = f"The method {answer.method} searched {within}{f' and read {read}' if read else ''}"
    filters = ", ".join(_filters(search.scope.filters)) if search.scope else ""
    ends = f"; filters in force: {filters}." if filters else "."
    unknown = " or ".join(f"“{word}”" for word in _unknown_words(search))
    return f"{summary}{ends}{f' No text has {unknown}.' if unknown else ''}"


def _unknown_words(search: Search) -> list[str]:
    """Return the first words of the question, as written, that say what to look for and no text has."""
    asked = set(asked_words(search.question.text))
    forms = words_with_case(search.question.text)
    found = [
        written
        for word, written in zip(forms.folded, forms.written, strict=True)
        if word in asked and not search.retriever.has_word(written)
    ]
    return list(dict.fromkeys(found))[:_UNKNOWN]


def _searched(search: Search, answer: Answer) -> str:
    """Return how many documents and text units were searched, and of how many if the question names them."""
    documents, units = search.index.documents, search.index.text_chunks
    chosen = search.favour.selected if any(one.only for one in answer.favoured) else None
    if chosen is None:
        return f"{plural(len(documents), 'document')} ({plural(len(units), 'text unit')})"
    inside = units["document_id"].is_in(list(chosen)).sum()
    return (
        f"the {len(chosen):,} of {plural(len(documents), 'document')} that the question names ({inside:,} of "
        f"{plural(len(units), 'text unit')})"
    )


def _filters(given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        if name not in _FILTERS:
            continue
        values = " or ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield f"{_FILTERS[name]} {values}"


def _nearest_sentence(search: Search, answer: Answer) -> Source | None:
    """Return the readable sentence of what was searched that shares most words with the question, if any."""
    index, asked, prior = search.index, search.question.text, None
    if index.text_chunks.is_empty():
        return None
    if any(one.only for one in answer.favoured):
        asked, prior = search.favour.asked_inside(asked), prior_of(search)
    wanted = frozenset(map(stem, asked_words(asked))) or frozenset(stems(asked))
    ranking = search.retriever.units(asked, None, "lexical", most=_UNITS, prior=prior)
    best: tuple[int, float, Quote] | None = None
    for unit_id in ranking.ids:
        for span, words in spans_of(index, unit_id):
            shared, readable = len(wanted.intersection(stems(words))), readability(words)
            if shared and readable and (best is None or (shared, readable) > best[:2]):
                best = shared, readable, _without_mark(index, Quote(unit_id, span))
    return _source(index, best[2]) if best else None


def _without_mark(index: IndexSnapshot, quote: Quote) -> Quote:
    return Quote(quote.unit_id, Span(quote.span.start + mark_before(index.words(quote)), quote.span.end))


def _source(index: IndexSnapshot, quote: Quote) -> Source:
    title = index.passages[quote.unit_id].document_title
    return Source(1, "source", quote.unit_id, title, evidence=index.evidence_of(quote))


def _describe_nearest(nearest: Source | None) -> str:
    if nearest is None or nearest.evidence is None:
        return "No passage shares a word with the question."
    passage = nearest.evidence.told
    words = passage.said.strip()
    short = words if len(words) <= _SHOWN else f"{words[:_SHOWN].rsplit(' ', 1)[0]} …"
    return f"The nearest passage is in {passage.location}: {passage.with_mark(short)}"


B = TypeVar("B", bound=Basis)


def find_method(name: str) -> SearchMethod | None:
    """Return the search method of a name, ignoring case; includes ``C<k>`` of other levels."""
    for method_name, method in methods().items():
        if method_name.casefold() == name.casefold():
            return method
    try:
        return method_at_level(level_of(name.upper())) if _is_level_method(name) else None
    except QuestionError:
        return None


def require_method(name: str) -> SearchMethod:
    """Return the search method of a name.

    Raises:
        QuestionError: there is none, or the name has an invalid level; the message lists the methods.
    """
    if (method := find_method(name)) is not None:
        return method
    if _is_level_method(name):
        return method_at_level(level_of(name.upper()))
    raise QuestionError(f"there is no search method {name!r}; there are {', '.join(methods())}")


def _is_level_method(name: str) -> bool:
    return name[:1] in {"C", "c"} and name[1:].removeprefix("-").isdigit()


#: Level read where none is chosen.
_USUAL_LEVEL = 1


def level_read(
    method: SearchMethod, chosen: int | None, options: "SearchSettings", index: IndexSnapshot
) -> int | None:
    """Return the community level that a search method reads.

    Args:
        method: the search method.
        chosen: the requested level.
        options: with the default level.
        index: the corpus: where it has levels above C0, a method that reads all of a level reads the top one
            by default. Not so in a part of the corpus: hardly any report of the top is about that part alone.
    """
    if not method.levelled:
        return method.level
    wanted = options.level if chosen is None else chosen
    if wanted is not None:
        return wanted
    if index.restricted:
        return index.once(_usual_level)
    if not method.reads_whole_level:
        return _USUAL_LEVEL
    top = index.once(top_level)
    return top if top < 0 else index.once(_usual_level)


def _usual_level(index: IndexSnapshot) -> int:
    """Return C1, or C0 where there are reports, but none of C1 has been written yet."""
    of_level = index.communities.filter(pl.col("level") == _USUAL_LEVEL)["community_id"]
    reports = index.reports["report_id"]
    unwritten = len(reports) and len(of_level) and not of_level.is_in(reports.implode()).any()
    return 0 if unwritten else _USUAL_LEVEL


def top_level(index: IndexSnapshot) -> int:
    """Return the coarsest level: 0, or one above C0."""
    found: int | None = index.communities["level"].min()  # type: ignore[assignment]
    return min(found or 0, 0)


def with_method(basis: B, name: str) -> B:
    """Return a copy with another search method.

    Raises:
        QuestionError: there is no search method of that name.
    """
    method = require_method(name)
    return replace(basis, method=method, level=level_read(method, None, basis.options, basis.index))


def answer_question(search: Search) -> Answer:
    """Return the answer of a question's search method.

    Raises:
        CatalogueError: its declaration names something that cannot be loaded.
        EngineError: it returned something other than an answer.
        PluginError: code of another package failed.
    """
    with plugin_errors(f"answering a question by {search.method.name}"):
        answer = load_target(search.method.answer)(search)
    if not isinstance(answer, Answer):
        raise EngineError(
            f"the search method {search.method.name} returned a {type(answer).__name__}, not an Answer"
        )
    return answer


def _answered(search: Search, reading: Reading | None = None) -> Answer:
    """Answer a question by its search method, with what was searched, and notes on documents and language.

    Args:
        search: the question, as it is read.
        reading: how it was read; what it says is missing lets no quotation answer.
    """
    answer = answer_question(search)
    if reading and reading.missing and not answer.query:
        answer = refused(answer)
    answer = with_search_summary(search, answer, reading.offer if reading else "")
    scope_note = search.scope.description if search.scope else None
    note = "" if answer.refused or not search.method.tables else language_note(search, answer)
    read_as = reading.note if reading else ""
    return replace(answer, why="; ".join(filter(None, (read_as, answer.why, scope_note, note))) or None)


def refused(answer: Answer) -> Answer:
    """Return an answer as a refusal; what was read and called stays."""
    return replace(answer, text=REFUSAL, refused=True, sources=(), statements=(), marks=(), query=None)


#: Cached restrictions of the snapshot; each may be as large as the whole.
_KEPT = 4


class Searcher:
    """Answers questions over one snapshot.

    Args:
        index: the tables of the corpus.
        settings: of the corpus.
        count: counts the tokens of a text.
        support: compares statements with the words they cite.
    """

    def __init__(
        self, index: IndexSnapshot, settings: "CorpusSettings", count: Count, support: Support | None = None
    ) -> None:
        self.index = index
        self.settings = settings
        self.count = count
        self._support = support
        # A conversation tends to keep its filters.
        self._restricted = lru_cache(_KEPT)(partial(restrict_index, index))

    def answer(self, question: Question, engines: Engines) -> Answer:
        """Answer a question.

        Args:
            question: the question.
            engines: provides the language tasks.

        Raises:
            QuestionError: the question, method or level is invalid, or no document matches the filters; the
                message says what to do.
            EngineError: an engine cannot do what was asked.
            EndpointError: the model endpoint cannot be used.
        """
        start = monotonic()
        search = self._search(question, engines)
        if answers_are_quotes(self.settings.engine_of("search")):
            answer = self._by_words(search)
        else:
            answer = _answered(search)
        return replace(
            answer,
            question=search.question.text,
            scope=search.scope,
            seconds=round(monotonic() - start, 3),
        )

    def _by_words(self, search: Search) -> Answer:
        """Answer without a model, which goes by words: each question of a message by itself."""
        asked = search.question
        questions = questions_in(asked.text)
        if not questions:
            nothing = refused(answer_question(search))
            return with_search_summary(search, nothing, "The question has no word to look for.")
        turns, parts = asked.history, []
        for text in questions[:MOST_QUESTIONS]:
            one = replace(search, question=replace(asked, text=text, history=turns))
            reading = reading_of(one)
            one = replace(one, question=replace(one.question, text=reading.text))
            parts.append((text, _answered(one, reading)))
            turns = (*turns, Turn(text, ""))
        first = parts[0][1]
        for text in questions[MOST_QUESTIONS:]:
            parts.append((text, Answer(text, first.method, None, TOO_MANY, first.engine, refused=True)))
        return first if len(parts) == 1 else joined(asked.text, parts)

    def size(self, method: str) -> "MethodSize":
        """Estimate the model calls of one question by a search method.

        Raises:
            QuestionError: there is no such search method.
        """
        from graphrag_dagster.kernel.models.call_estimates import with_support_judging

        search_method = require_method(method)
        level = level_read(search_method, None, self.settings.search, self.index)
        basis = Basis(
            method=search_method, index=self.index, count=self.count, settings=self.settings, level=level
        )
        with plugin_errors(f"telling the size of {search_method.name}"):
            estimate: MethodSize = load_target(search_method.size)(basis)
        # A method that reads nothing cites nothing, so there is nothing to judge.
        return (
            with_support_judging(estimate, self.settings.search.support) if search_method.tables else estimate
        )

    def with_settings(self, settings: "CorpusSettings") -> "Searcher":
        """Return a searcher of the same snapshot with other settings."""
        return Searcher(self.index, settings, self.count, self._support)

    def with_options(self, **changes: Any) -> "Searcher":
        """Return a searcher of the same snapshot with changes to the section ``search``."""
        options = self.settings.search.model_copy(update=changes)
        return self.with_settings(self.settings.model_copy(update={"search": options}))

    def entities(self, query: str, limit: int, engines: Engines) -> list[tuple[str, float]]:
        """Return the entities that match a query as (id, score), best first.

        Args:
            query: like a question.
            limit: most entities returned.
            engines: provides the embedder.

        Raises:
            QuestionError: the query is blank or too long.
        """
        search = self._search(Question(query, AUTO), engines)
        ranking = text_query(search, search.question.text).local(limit)
        return list(zip(ranking.entities.ids, ranking.entities.scores, strict=True))

    def _search(self, question: Question, engines: Engines) -> Search:
        """Resolve the method, level and documents of a question."""
        method = require_method(
            question.method or (GLOBAL if question.level else self.settings.search.method)
        )
        level = None if question.level is None else level_of(question.level)
        if level is not None:
            method = require_method(method.with_level) if method.with_level else method
            if not method.levelled:
                levelled = " or ".join(other.name for other in methods().values() if other.levelled)
                raise QuestionError(
                    f"{method.name} has no selectable level; leave it out, or ask by {levelled}"
                )
        index, scope, filters = self.index, None, question.filters
        question = question.validated()
        if filters.restricting:
            chosen = selected(filters, self.index)
            index = self._restricted(chosen.document_ids)
            scope = scope_of(filters, chosen, self.index, index)
        return Search(
            method=method,
            index=index,
            count=self.count,
            settings=self.settings,
            level=level_read(method, level, self.settings.search, index),
            question=question,
            engines=engines,
            support=self._support,
            scope=scope,
        )


def answer_all(
    searcher: Searcher,
    engines: Engines,
    questions: Sequence[Question],
    at_once: int,
) -> Iterator[Answer]:
    """Yield the answers in the order of the questions.

    Most search methods make one model call after the other, so questions run concurrently.

    Args:
        searcher: answers the questions; thread-safe.
        engines: provides the language tasks.
        questions: the questions.
        at_once: questions answered concurrently.

    Raises:
        GraphragError: of the first question that fails; questions not yet started are cancelled.
    """

    def answer(question: Question) -> Answer:
        with without_progress():
            return searcher.answer(question, engines)

    with stage("Answering questions", len(questions)) as running, ThreadPoolExecutor(at_once) as pool:
        pending = [pool.submit(answer, question) for question in questions]
        try:
            for future in pending:
                yield future.result()
                running.advance()
        finally:
            for future in pending:
                future.cancel()
