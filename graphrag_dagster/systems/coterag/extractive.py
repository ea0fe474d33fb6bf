"""Rule-based implementations of CoTeRAG-S's tasks, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from graphrag_dagster.kernel.common.stable_values import Scores, cosines, round_for_comparison
from graphrag_dagster.kernel.tasks.task_ports import Layout
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.statement_reading import answer_sentences
from graphrag_dagster.systems.coterag.coterag_options import PAPER, TermUnit
from graphrag_dagster.systems.coterag.search.term_coverage import (
    QuestionTerms,
    coverage,
    question_terms,
    share,
    terms,
)
from graphrag_dagster.systems.coterag.settings import CoteragSettings
from graphrag_dagster.systems.coterag.tasks import (
    CommunitySummary,
    EvidenceAnswer,
    RouteCues,
    RoutedQuestion,
    SourceSentence,
    SummaryRequest,
    Validation,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from graphrag_dagster.kernel.models.embedders import Embedder
    from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, Engine, Quote
    from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
    from graphrag_dagster.systems.coterag.tasks import (
        AnswerValidator,
        CommunitySummariser,
        EvidenceAnswerer,
        EvidenceRouter,
    )


def community_summariser(session: TaskProvider) -> CommunitySummariser:
    """Who summarises communities."""
    own = session.settings.section(CoteragSettings)
    return ExtractiveCommunitySummariser(own.summary_words, own.exact_names)


def evidence_router(_session: TaskProvider) -> EvidenceRouter:
    """Who says whether a question needs the documents."""
    return ExtractiveEvidenceRouter()


def evidence_answerer(session: TaskProvider) -> EvidenceAnswerer:
    """Who answers from a context, and says where it is not enough."""
    from graphrag_dagster.kernel.models.local_embedders import shared_static

    own = session.settings.section(CoteragSettings)
    return ExtractiveEvidenceAnswerer(
        shared_static(), own.coverage_unit, own.thresholds.coverage, overview=own.overview
    )


def answer_validator(session: TaskProvider) -> AnswerValidator:
    """Who checks answers against their context."""
    own = session.settings.section(CoteragSettings)
    return ExtractiveAnswerValidator(own.coverage_unit, own.thresholds.coverage)


_MOST_SENTENCES = 6
#: Share of the best cosine from which a sentence is quoted that covers nothing new.
_NEAR_BEST = 0.8
_CLOSED = re.compile(r"[.!?…:;][\"'”’»)\]]*\Z")
_EMPTY_LINE = re.compile(r"[ \t]*\r?\n[ \t]*\r?\n")
#: Stems from which the end of a sentence says something.
_LEAST_STEMS = 5


class ExtractiveEvidenceRouter:
    """Takes a question for specific where it names an entity, or one is nearer than unrelated ones are."""

    engine: Final[Engine] = "extractive"

    def route(self, _question: str, cues: RouteCues) -> RoutedQuestion:
        """Return the route; see the port."""
        if cues.names:
            return RoutedQuestion("specific", f"it names {cues.names[0]}")
        near = cues.nearest > cues.background
        shown = f"the nearest entity has the cosine {cues.nearest:.3f}, unrelated ones {cues.background:.3f}"
        return RoutedQuestion("specific" if near else "general", shown)


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    row: int
    quote: Quote | None
    stems: frozenset[str]


class ExtractiveEvidenceAnswerer:
    """Quotes up to six sentences of text units: those nearest to the question that cover more of its terms.

    It asks for more where the sentences cover too few of the terms, and says nothing where they cover none.
    The end of a sentence that began in another text unit is quoted only where it is long enough.

    Args:
        enough: share of them that must be exceeded.
        overview: the first sentence of the best community's summary stands before these.
    """

    engine: Final[Engine] = "extractive"

    def __init__(
        self,
        embedder: Embedder,
        unit: TermUnit = "words",
        enough: float = PAPER.coverage,
        *,
        overview: bool = False,
    ) -> None:
        self._embedder = embedder
        self._overview = overview
        self._unit = unit
        self._enough = enough

    def answer(self, question: str, rows: Sequence[ContextUnit]) -> EvidenceAnswer:
        """Return sentences of the text units among the rows, each cited; see the port."""
        asked = question_terms(question, self._unit)
        chosen = self._choose_sentences(question, asked, _candidates(rows))
        covered = coverage(asked, frozenset().union(*(one.stems for one in chosen)))
        if not covered:
            chosen = []
        said = [f"{one.text} [Data: Sources ({one.row})]" for one in chosen]
        quotes = [(one.text, one.row, one.quote) for one in chosen]
        ends = accumulate(len(one) + 1 for one in said)
        quotations = [
            Span(end - len(one) - 1, end - len(one) - 1 + len(quote.text))
            for end, one, quote in zip(ends, said, chosen, strict=True)
        ]
        if self._overview and chosen and (opening := _opening(rows)):
            said.insert(0, f"{opening[0]} [Data: Reports ({opening[1]})]")
            quotes.insert(0, (*opening, None))
            # A summary may hold citations of its own.
            quotations = []
        return EvidenceAnswer(
            " ".join(said),
            self.engine,
            search_more=covered <= self._enough,
            coverage=covered,
            quotes=tuple(quotes),
            layout=Layout(tuple(quotations)),
        )

    def answer_directly(self, _question: str) -> None:
        """Return None: nothing is known but the documents."""

    def _choose_sentences(
        self, question: str, asked: QuestionTerms, pool: Sequence[_Candidate]
    ) -> list[_Candidate]:
        if not pool or not asked.units:
            return []
        vectors = self._embedder.embed([question, *(one.text for one in pool)])
        near = cosines(vectors[1:], vectors[0])
        open_ = np.ones(len(pool), dtype=np.bool_)
        chosen: list[_Candidate] = []
        held: set[str] = set()
        while open_.any() and len(chosen) < _MOST_SENTENCES:
            before = asked.terms_covered(held)
            gain = np.array([_gain(asked, before, held | one.stems) for one in pool])
            open_ &= (gain > 0) | (near >= _NEAR_BEST * near.max())
            if not open_.any():
                break
            best = int(np.where(open_, round_for_comparison(near + gain), -np.inf).argmax())
            open_[best] = False
            chosen.append(pool[best])
            held |= pool[best].stems
        return chosen


class ExtractiveAnswerValidator:
    """Accepts answers whose sentences all stand in the context and cover more than half of the terms.

    Args:
        enough: share of them that must be exceeded.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, unit: TermUnit = "words", enough: float = PAPER.coverage) -> None:
        self._unit = unit
        self._enough = enough

    def validate(self, question: str, rows: Sequence[ContextUnit], answer: EvidenceAnswer) -> Validation:
        """Return the verdict; see the port."""
        said = [text for text, _, _ in answer.quotes] or [one.text for one in answer_sentences(answer.text)]
        context = "\n".join(" ".join(row.text.split()) for row in rows)
        if foreign := next((one for one in said if " ".join(one.split()) not in context), None):
            return Validation("insufficient", f"the context does not hold: {foreign[:200]}")
        covered = coverage(question_terms(question, self._unit), terms(" ".join(said)))
        if covered <= self._enough:
            return Validation("insufficient", f"it covers {covered:.0%} of the question's terms")
        return Validation("ok", f"it quotes the context and covers {covered:.0%} of the question's terms")


def _opening(rows: Sequence[ContextUnit]) -> tuple[str, int] | None:
    """The first sentence of the first summary, and its row."""
    row = next((row for row in rows if row.kind == "report"), None)
    if row is None:
        return None
    first = next((row.text[one.start : one.end] for one in sentence_spans(row.text)), row.text)
    return " ".join(first.split()), row.id


def _candidates(rows: Sequence[ContextUnit]) -> list[_Candidate]:
    found: dict[str, _Candidate] = {}
    for row in rows:
        if row.kind == "source":
            for text, quote in row.sentences:
                if _is_heading(row.text, text, quote):
                    continue
                found.setdefault(text, _Candidate(text, row.id, quote, frozenset(terms(text))))
    pool = [one for one in found.values() if one.stems]
    return [one for one in pool if not _is_fragment(one)] or pool


def _is_heading(unit: str, text: str, quote: Quote | None) -> bool:
    """Whether it is marked as a heading, or is not closed before an empty line."""
    if text.startswith("#") or quote is None:
        return text.startswith("#")
    return not _CLOSED.search(text) and _EMPTY_LINE.match(unit, quote.span.end) is not None


def _is_fragment(one: _Candidate) -> bool:
    """Whether it is the little that a text unit has of the end of a sentence."""
    return one.text[:1].islower() and len(one.stems) < _LEAST_STEMS


def _gain(asked: QuestionTerms, before: Sequence[bool], held: set[str] | frozenset[str]) -> float:
    now = asked.terms_covered(held)
    return share([new and not old for new, old in zip(now, before, strict=True)])


#: What a further triple counts against being unlike what is chosen.
_BALANCE = 0.7
_TITLE_NAMES = 5


class ExtractiveCommunitySummariser:
    """Summarises communities in words of the documents.

    The title names the five best linked members. The text quotes sentences chosen by maximal marginal
    relevance, each for the triples that none before it states, and then lists exact names. Where no sentence
    states a triple, and for tiny communities, the triples themselves stand in its place.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, most_words: int = 250, exact_names: int = 20) -> None:
        self._most_words = most_words
        self._exact_names = exact_names

    def summarise(self, requests: Sequence[SummaryRequest]) -> list[CommunitySummary]:
        """Return one summary per request."""
        return [self._summary(request) for request in requests]

    def _summary(self, request: SummaryRequest) -> CommunitySummary:
        chosen = [] if request.tiny else self._choose_sentences(request)
        said = [one.text for one in chosen] or self._triples(request)
        names = f"Entities: {', '.join(request.exact_names(self._exact_names))}."
        return CommunitySummary(
            ", ".join(request.exact_names(_TITLE_NAMES)),
            " ".join([*said, names]),
            self.engine,
            tuple(one.quote for one in chosen),
        )

    def _choose_sentences(self, request: SummaryRequest) -> list[SourceSentence]:
        """Sentences in the order of the corpus."""
        pool = request.sentences
        states = np.zeros((len(pool), len(request.triples)), dtype=np.bool_)
        for row, one in enumerate(pool):
            states[row, list(one.triples)] = True
        most = max(int(states.sum(axis=1).max(initial=0)), 1)
        stems = [terms(one.text) for one in pool]
        words = [len(one.text.split()) for one in pool]
        open_ = np.ones(len(pool), dtype=np.bool_)
        told = np.zeros(len(request.triples), dtype=np.bool_)
        likeness = np.zeros(len(pool))
        left = self._most_words
        places: list[int] = []
        while open_.any():
            new = (states & ~told).sum(axis=1)
            open_ &= (new > 0) & (np.array(words) <= left)
            if not open_.any():
                break
            best = _best(new / most, likeness, open_)
            open_[best] = False
            told |= states[best]
            left -= words[best]
            places.append(best)
            likeness = np.maximum(likeness, [_stem_cosine(stems[best], other) for other in stems])
        return [pool[place] for place in sorted(places)]

    def _triples(self, request: SummaryRequest) -> list[str]:
        said: list[str] = []
        left = self._most_words
        for triple in request.triples:
            left -= len(triple.text.split())
            if left < 0 and said:
                break
            said.append(triple.text)
        return said


def _best(gain: Scores, likeness: Scores, open_: NDArray[np.bool_]) -> int:
    value = round_for_comparison(_BALANCE * gain - (1 - _BALANCE) * likeness)
    return int(np.where(open_, value, -np.inf).argmax())


def _stem_cosine(one: set[str], other: set[str]) -> float:
    """Return the cosine of two sets of stems."""
    return len(one & other) / sqrt(len(one) * len(other)) if one and other else 0.0
