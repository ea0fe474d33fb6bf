"""What is said where nothing was found: what was searched, and the passage that comes nearest."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.questions.context.answer import Answer, Source
from graphrag_dagster.kernel.questions.context.context_units import spans_of
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.question import REFUSAL, Search
from graphrag_dagster.kernel.retrieval.reranking.answer_features import asked_words
from graphrag_dagster.kernel.tasks.ports import Quote
from graphrag_dagster.kernel.text.marks import mark_before
from graphrag_dagster.kernel.text.quotable import readability
from graphrag_dagster.kernel.text.similarity import stem, stems
from graphrag_dagster.kernel.text.spans import Span

#: Text units that the nearest passage is looked for in, and characters of it that are shown.
_UNITS, _SHOWN = 5, 300
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


def telling_what_was_searched(search: Search, made: Answer) -> Answer:
    """Return an answer; one that is refused for want of anything found says what was searched.

    Its ``nearest`` is the sentence that shares the most words with the question, found by words alone, so
    that no model is asked. What says itself why it is refused stays as it is.

    Args:
        search: the question, over the documents that were searched.
        made: its answer.
    """
    if not made.refused or made.text != REFUSAL:
        return made
    if not made.method or not search.way.tables:
        return replace(made, text=f"{REFUSAL} No document was searched.")
    nearest = _nearest(search)
    text = f"{REFUSAL} {_searched(search, made)}"
    return replace(made, text="\n\n".join(filter(None, (text, _shown(nearest)))), nearest=nearest)


def _searched(search: Search, made: Answer) -> str:
    index = search.index
    within = f"{counted(len(index.documents), 'document')} ({counted(len(index.text_chunks), 'text unit')})"
    rows = Counter(one.kind for one in made.context)
    read = ", ".join(counted(number, *_ROWS.get(kind, (kind,))) for kind, number in rows.items())
    told = f"The method {made.method} searched {within}{f' and read {read}' if read else ''}"
    filters = ", ".join(_filters(search.scope.filters)) if search.scope else ""
    return f"{told}; filters in force: {filters}." if filters else f"{told}."


def _filters(given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        if name not in _FILTERS:
            continue
        shown = " or ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield f"{_FILTERS[name]} {shown}"


def _nearest(search: Search) -> Source | None:
    """The readable sentence that shares the most words with the question; None where none shares any."""
    index = search.index
    if index.text_chunks.is_empty():
        return None
    wanted = frozenset(map(stem, asked_words(search.question.text))) or frozenset(stems(search.question.text))
    ranking = search.retriever.units(search.question.text, None, "lexical", most=_UNITS)
    best: tuple[int, float, Quote] | None = None
    for unit_id in ranking.ids:
        for span, words in spans_of(index, unit_id):
            shared, reads = len(wanted.intersection(stems(words))), readability(words)
            if shared and reads and (best is None or (shared, reads) > best[:2]):
                best = shared, reads, _without_mark(index, Quote(unit_id, span))
    return _source(index, best[2]) if best else None


def _without_mark(index: IndexSnapshot, quote: Quote) -> Quote:
    return Quote(quote.unit_id, Span(quote.span.start + mark_before(index.words(quote)), quote.span.end))


def _source(index: IndexSnapshot, quote: Quote) -> Source:
    title = index.passages[quote.unit_id].document_title
    return Source(1, "source", quote.unit_id, title, evidence=index.evidence_of(quote))


def _shown(nearest: Source | None) -> str:
    if nearest is None or nearest.evidence is None:
        return "No passage shares a word with the question."
    told = nearest.evidence.told
    said = told.said.strip()
    short = said if len(said) <= _SHOWN else f"{said[:_SHOWN].rsplit(' ', 1)[0]} …"
    return f"The nearest passage is in {told.where}: {told.marked(short)}"
