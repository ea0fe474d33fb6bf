"""The port to taking answers apart into atomic claims (spec_graphrag §10)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from graphrag_dagster.core.language.tasks import OfEngine, Usage

#: ``kept`` and ``rewritten`` sentences have claims, of their own words or of a part or rewording of them; the
#: others have none: nothing in them can be checked, what they speak of stays open, or it could not be told.
SentenceState = Literal["kept", "rewritten", "not_verifiable", "ambiguous", "failed"]


@dataclass(frozen=True, slots=True)
class AnswerText:
    """An answer and the question it was given to."""

    question: str
    text: str


@dataclass(frozen=True, slots=True)
class SentenceClaims:
    """What became of one sentence of an answer.

    ``sentence`` is as the answer has it, without citations, list marks and Markdown. ``reason`` says why
    there are no claims, or what was rewritten.
    """

    sentence: str
    state: SentenceState
    claims: tuple[str, ...] = ()
    reason: str | None = None
    usage: Usage = field(default_factory=Usage)


class ClaimDecomposer(OfEngine, Protocol):
    """Finds in each sentence of answers the claims that could be checked, each standing on its own."""

    def decompose(self, answers: Sequence[AnswerText]) -> Iterator[tuple[SentenceClaims, ...]]:
        """Yield one tuple per answer, in their order: each of its sentences exactly once, in its order."""
