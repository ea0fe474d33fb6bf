"""Routing, answering and validating by rule."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from graphrag_dagster.kernel.common.stable_scores import comparable, cosines
from graphrag_dagster.kernel.models.embedder import Embedder
from graphrag_dagster.kernel.questions.support.answer_sentences import answer_sentences
from graphrag_dagster.kernel.tasks.ports import ContextUnit, Engine, Quote
from graphrag_dagster.systems.coterag.options import PAPER, TermUnit
from graphrag_dagster.systems.coterag.tasks import EvidenceAnswer, RouteCues, RoutedQuestion, Validation
from graphrag_dagster.systems.coterag.terms import QuestionTerms, coverage, question_terms, share, terms

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
        embedder: compares sentences with the question.
        unit: of the question's terms.
        enough: share of them that must be exceeded.
    """

    engine: Final[Engine] = "extractive"

    def __init__(self, embedder: Embedder, unit: TermUnit = "words", enough: float = PAPER.coverage) -> None:
        self._embedder = embedder
        self._unit = unit
        self._enough = enough

    def answer(self, question: str, rows: Sequence[ContextUnit]) -> EvidenceAnswer:
        """Return sentences of the text units among the rows, each cited; see the port."""
        asked = question_terms(question, self._unit)
        chosen = self._chosen(question, asked, _candidates(rows))
        covered = coverage(asked, frozenset().union(*(one.stems for one in chosen)))
        if not covered:
            chosen = []
        return EvidenceAnswer(
            " ".join(f"{one.text} [Data: Sources ({one.row})]" for one in chosen),
            self.engine,
            search_more=covered <= self._enough,
            coverage=covered,
            quotes=tuple((one.text, one.row, one.quote) for one in chosen),
        )

    def answer_directly(self, _question: str) -> None:
        """Return None: nothing is known but the documents."""

    def _chosen(self, question: str, asked: QuestionTerms, pool: Sequence[_Candidate]) -> list[_Candidate]:
        if not pool or not asked.units:
            return []
        vectors = self._embedder.embed([question, *(one.text for one in pool)])
        near = cosines(vectors[1:], vectors[0])
        open_ = np.ones(len(pool), dtype=np.bool_)
        chosen: list[_Candidate] = []
        held: set[str] = set()
        while open_.any() and len(chosen) < _MOST_SENTENCES:
            before = asked.covered_by(held)
            gain = np.array([_gain(asked, before, held | one.stems) for one in pool])
            open_ &= (gain > 0) | (near >= _NEAR_BEST * near.max())
            if not open_.any():
                break
            best = int(np.where(open_, comparable(near + gain), -np.inf).argmax())
            open_[best] = False
            chosen.append(pool[best])
            held |= pool[best].stems
        return chosen


class ExtractiveAnswerValidator:
    """Accepts answers whose sentences all stand in the context and cover more than half of the terms.

    Args:
        unit: of the question's terms.
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


def _candidates(rows: Sequence[ContextUnit]) -> list[_Candidate]:
    found: dict[str, _Candidate] = {}
    for row in rows:
        if row.kind == "source":
            for text, quote in row.sentences:
                if _is_heading(row.text, text, quote):
                    continue
                found.setdefault(text, _Candidate(text, row.id, quote, frozenset(terms(text))))
    pool = [one for one in found.values() if one.stems]
    return [one for one in pool if not _is_scrap(one)] or pool


def _is_heading(unit: str, text: str, quote: Quote | None) -> bool:
    """Whether it is marked as a heading, or is not closed before an empty line."""
    if text.startswith("#") or quote is None:
        return text.startswith("#")
    return not _CLOSED.search(text) and _EMPTY_LINE.match(unit, quote.span.end) is not None


def _is_scrap(one: _Candidate) -> bool:
    """Whether it is the little that a text unit has of the end of a sentence."""
    return one.text[:1].islower() and len(one.stems) < _LEAST_STEMS


def _gain(asked: QuestionTerms, before: Sequence[bool], held: set[str] | frozenset[str]) -> float:
    now = asked.covered_by(held)
    return share([new and not old for new, old in zip(now, before, strict=True)])
