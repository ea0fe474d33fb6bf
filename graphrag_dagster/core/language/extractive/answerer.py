"""Global answers made of quotations (spec_graphrag §12)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from graphrag_dagster.core.language.answer_form import AnswerForm, most_sentences
from graphrag_dagster.core.language.extractive.parsing.quotable import readability
from graphrag_dagster.core.language.tasks import ContextUnit, Engine, FinalAnswer, PartialAnswer, Quote, Turn
from graphrag_dagster.core.ranks import comparable
from graphrag_dagster.core.text.citations import LABELS, ContextKind, parse_citations
from graphrag_dagster.core.text.embedder import Embedder
from graphrag_dagster.core.text.relevance import Relevance, asks_for_overview, relevance
from graphrag_dagster.core.text.similarity import diverse, repeats, words
from graphrag_dagster.errors import EngineError

_Titles = dict[int, tuple[str, ContextKind]]

_PER_PARTIAL = 15
_IN_ANSWER = 12
_TOP = 3
_BALANCE = 0.7
#: Least share of the best sentence's relevance, and most sentences of one report.
_FOCUSED, _OVERVIEW = (0.5, 4), (0.25, 2)
_MEDIAN = 0.5


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    unit: int
    place: int
    size: int
    chunk: int
    quote: Quote | None


class ExtractiveAnswerer:
    """Quotes the sentences of the context that have to do with the question; invents nothing.

    A sentence is related to the question if it is near enough to it by static embeddings and shared words
    (:mod:`graphrag_dagster.core.text.relevance`). A chunk's score is 100 times the mean
    percentile of its three most relevant sentences among the related sentences of all chunks; below 50, or
    without a related sentence, it is 0. Hence a question about something else is refused.

    Args:
        embedder: makes vectors of questions and sentences.
        form: what is wished of the answer; of its response type only a number of sentences or points can be
            met, which is then the most that are quoted.

    Raises:
        EngineError: the form asks for what quotations cannot give.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, embedder: Embedder, form: AnswerForm | None = None) -> None:
        own = form or AnswerForm()
        self._embedder = embedder
        self._most = _allowed_by(own.response_type) if own.response_type else None
        if own.general_knowledge:
            raise EngineError(
                "the extractive engine quotes the documents and knows nothing of the world; leave general "
                "knowledge out, or set search.engine: llm"
            )

    def map(
        self,
        question: str,
        chunks: Sequence[Sequence[ContextUnit]],
        rendered: Sequence[str],
    ) -> list[PartialAnswer]:
        """Return per chunk its most relevant sentences, each cited, under the titles of their units.

        They are at most half as long as the chunk, so that more than one partial answer can be joined.
        """
        sentences = [
            _Sentence(text, unit.id, place, len(unit.sentences), number, quote)
            for number, chunk in enumerate(chunks)
            for unit in chunk
            for place, (text, quote) in enumerate(unit.sentences)
            if readability(text) > 0
        ]
        titles = {unit.id: (unit.title, unit.kind) for chunk in chunks for unit in chunk}
        found = self._relevance(question, sentences)
        percentile = found.percentile
        answers = []
        for number in range(len(chunks)):
            own = [
                place for place, one in enumerate(sentences) if one.chunk == number and found.related[place]
            ]
            own.sort(key=lambda place: (-found.value[place], sentences[place].unit, sentences[place].place))
            top = [percentile[place] for place in own[:_TOP]]
            mean = fsum(top) / len(top) if top else 0.0
            kept = _unrepeated([sentences[place] for place in own], len(rendered[number]) // 2)[: self._most]
            answers.append(
                PartialAnswer(
                    text=_text(kept, titles),
                    score=round(100 * mean) if mean >= _MEDIAN else 0,
                    units=tuple(dict.fromkeys(one.unit for one in kept)),
                    quotes=tuple((one.text, one.unit, one.quote) for one in kept),
                )
            )
        return answers

    def reduce(self, question: str, partials: Sequence[PartialAnswer]) -> FinalAnswer:
        """Join partial answers: the most relevant sentences that do not repeat, grouped by their reports.

        Reports follow each other by their most relevant sentence; inside one the sentences keep the order of
        relevance. Every sentence is followed by its citation.
        """
        found = list(dict.fromkeys(quote for partial in partials for quote in partial.quotes))
        sizes = {unit: sum(one[1] == unit for one in found) for _, unit, _ in found}
        places: dict[int, int] = {}
        sentences = []
        for text, unit, quote in found:
            place = places[unit] = places.get(unit, -1) + 1
            sentences.append(_Sentence(text, unit, place, sizes[unit], 0, quote))
        titles = {unit: title for partial in partials for unit, title in _titles(partial.text).items()}
        chosen = [sentences[place] for place in self._chosen(question, sentences)]
        ordered = [
            one for unit in dict.fromkeys(s.unit for s in chosen) for one in chosen if one.unit == unit
        ]
        quotes = tuple((one.text, one.unit, one.quote) for one in ordered)
        return FinalAnswer(_text(ordered, titles), self.engine, quotes)

    def answer(
        self,
        question: str,
        rows: Sequence[ContextUnit],
        rendered: str,
        history: Sequence[Turn] = (),  # noqa: ARG002 - what was said before is part of what was retrieved.
    ) -> FinalAnswer:
        """Quote the most relevant sentences of the rows' sources; blank where none is related."""
        partials = [one for one in self.map(question, [rows], [rendered]) if one.score]
        return self.reduce(question, partials) if partials else FinalAnswer("", self.engine)

    def _relevance(self, question: str, sentences: Sequence[_Sentence]) -> Relevance:
        return relevance(
            question,
            [one.text for one in sentences],
            [one.place for one in sentences],
            [one.size for one in sentences],
            self._embedder,
        )

    def _chosen(self, question: str, sentences: Sequence[_Sentence]) -> list[int]:
        found = self._relevance(question, sentences)
        value = comparable(found.value * [0.4 + 0.6 * readability(one.text) for one in sentences])
        share, per_report = _OVERVIEW if asks_for_overview(question) else _FOCUSED
        least = share * value.max(initial=0.0)

        def allowed(place: int, chosen: Sequence[int]) -> bool:
            own = sentences[place]
            same = sum(sentences[other].unit == own.unit for other in chosen)
            others = (words(sentences[other].text) for other in chosen)
            return value[place] >= least and same < per_report and not repeats(words(own.text), others)

        return diverse(value, found.vectors, self._most or _IN_ANSWER, _BALANCE, allowed)


def _allowed_by(response_type: str) -> int:
    most = most_sentences(response_type, _IN_ANSWER)
    if most is None:
        raise EngineError(
            f"the extractive engine quotes sentences and cannot give {response_type!r}; ask for a single "
            f"sentence, for 2 to {_IN_ANSWER} sentences or a list of so many points, or for multiple "
            "paragraphs, or set search.engine: llm"
        )
    return most


def _unrepeated(sentences: Sequence[_Sentence], characters: int) -> list[_Sentence]:
    kept: list[_Sentence] = []
    length = 0
    for one in sentences:
        if len(kept) == _PER_PARTIAL or (kept and length + len(one.text) > characters):
            break
        if not repeats(words(one.text), (words(other.text) for other in kept)):
            kept.append(one)
            length += len(one.text)
    return kept


def _text(sentences: Sequence[_Sentence], titles: _Titles) -> str:
    """Return paragraphs of cited sentences, each under the title of its row."""
    paragraphs: dict[int, list[str]] = {}
    for one in sentences:
        label = LABELS[titles[one.unit][1]]
        paragraphs.setdefault(one.unit, []).append(f"{one.text} [Data: {label} ({one.unit})]")
    return "\n\n".join(f"**{titles[unit][0]}**\n\n{' '.join(cited)}" for unit, cited in paragraphs.items())


def _titles(text: str) -> _Titles:
    """Read titles and kinds of the cited rows back from a text that :func:`_text` made."""
    blocks = text.split("\n\n")
    return {
        cited.id: (heading[2:-2], cited.kind)
        for heading, paragraph in zip(blocks[::2], blocks[1::2], strict=False)
        for cited in parse_citations(paragraph)[:1]
    }
