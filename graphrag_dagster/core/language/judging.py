"""The port of judging: which of two answers to a question is better by a criterion (paper §3.3)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from graphrag_dagster.core.language.tasks import OfEngine, Usage

#: What each means stands in the prompts ``judge_criterion_…``.
Criterion = Literal["comprehensiveness", "diversity", "empowerment", "directness"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
#: 1 or 2: the answer that was shown first or second; 0: neither.
Winner = Literal[0, 1, 2]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two answers to a question in the order in which they are shown, and by what they are compared.

    ``replicate`` tells apart comparisons that are the same on purpose: each gets a verdict of its own.
    """

    question: str
    answer_1: str
    answer_2: str
    criterion: Criterion
    replicate: int = 0

    @property
    def identical(self) -> bool:
        """Whether the two answers are the same text, white space aside."""
        return self.answer_1.split() == self.answer_2.split()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who won and why.

    ``problem`` says why no usable reply came, else None; ``winner`` is 0 then, so that what cannot be judged
    counts as a tie. ``usage`` is all zero where no model was needed.
    """

    winner: Winner
    reason: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


#: The verdict on answers that are the same text: whatever a judge made of them would be noise.
IDENTICAL = Verdict(0, "The two answers are the same text.")


class AnswerJudge(OfEngine, Protocol):
    """Compares answers."""

    def judge(self, comparisons: Sequence[Comparison]) -> Iterator[Verdict]:
        """Yield one verdict per comparison, in their order, each as soon as it and those before it are there.

        Identical answers get :data:`IDENTICAL` without any call.
        """
