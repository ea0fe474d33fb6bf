"""The port of checking answers by gold answers: Judge@1 (second paper B.4, spec_lego §9)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from graphrag_dagster.core.language.tasks import OfEngine, Usage


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer to a question, and the gold answers, any of which is one."""

    question: str
    gold: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether an answer is correct.

    Attributes:
        correct: None where no usable reply came.
        problem: why none came, else None.
        usage: all zero where no model was needed.
    """

    correct: bool | None
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


#: A blank answer is wrong, whatever a model would say of it.
BLANK = Checked(False)


class PathJudge(OfEngine, Protocol):
    """Says whether answers are correct."""

    def check(self, answers: Sequence[GivenAnswer]) -> Iterator[Checked]:
        """Yield one verdict per answer, in their order; a blank one gets :data:`BLANK` without any call."""
