"""The port of judging answers and their context: statements, verdicts on them, questions to an answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from graphrag_dagster.kernel.tasks.ports import Items, ItemVerdict, OfEngine, Usage

#: What is asked of each item:
#: ``relevant_to_question`` has a statement to do with the question (idk: it does not answer, but may help);
#: ``true_to_context`` does the context say so (no: it contradicts; idk: it does not tell);
#: ``attributable_to_context`` does some part of the context say so (yes or no);
#: ``useful_node`` does a node of the context hold a part of the reference answer (yes or no).
VerdictKind = Literal["relevant_to_question", "true_to_context", "attributable_to_context", "useful_node"]


#: The statements of a text, in its order; none where it states nothing.
StatementsOf: TypeAlias = Items[str]


@dataclass(frozen=True, slots=True)
class VerdictRequest:
    """One question asked of each of many items.

    Args:
        kind: what is asked.
        items: the statements; for ``useful_node`` the nodes of the context, best first.
        question: for ``relevant_to_question`` and ``useful_node``.
        context: texts of the nodes, for ``true_to_context`` and ``attributable_to_context``.
        reference: the reference answer, for ``useful_node``.
    """

    kind: VerdictKind
    items: tuple[str, ...]
    question: str = ""
    context: tuple[str, ...] = ()
    reference: str = ""


#: One verdict for each item of a request, in their order: verdicts on some of the items only are unusable.
VerdictsOf: TypeAlias = Items[ItemVerdict]


@dataclass(frozen=True, slots=True)
class GeneratedQuestions:
    """Questions that an answer would fit, and whether it evades; ``problem`` says why there are none."""

    questions: tuple[str, ...]
    noncommittal: bool = False
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


class QualityJudge(OfEngine, Protocol):
    """Judges statements and nodes; what it cannot judge has a problem, never a guess."""

    def statements(self, texts: Sequence[str]) -> list[StatementsOf]:
        """Return the statements of each text."""

    def verdicts(self, requests: Sequence[VerdictRequest]) -> list[VerdictsOf]:
        """Return the verdicts of each request."""

    def questions_for(self, answers: Sequence[str], count: int) -> list[GeneratedQuestions]:
        """Return ``count`` questions for each answer."""
