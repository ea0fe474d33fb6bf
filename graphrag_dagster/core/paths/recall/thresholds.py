"""How much of the answers the subgraph of a question is to hold (second paper B.5, spec_lego §6)."""

from dataclasses import dataclass
from typing import Literal

from graphrag_dagster.core.paths.recall.question_classes import QuestionClass

Application = Literal["normal", "critical", "lightweight"]

#: Where nothing speaks for more or less.
START = 0.60
COMPLEX = 0.075
CRITICAL, LIGHTWEIGHT = 0.075, -0.05
DENSE, SPARSE = -0.05, 0.05
LEAST, MOST = 0.50, 0.80
#: Thresholds are told to a tenth of a percent.
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least share of the answers, 0–1, and what it is made of."""

    value: float
    why: str


def threshold_of(kind: QuestionClass, application: Application = "normal", start: float = START) -> Threshold:
    """Return the least recall for a class of questions.

    Args:
        kind: the class.
        application: critical, such as health, law and finance, or lightweight.
        start: before anything is added.
    """
    parts = {
        "complex": COMPLEX if kind.is_complex else 0.0,
        application: {"normal": 0.0, "critical": CRITICAL, "lightweight": LIGHTWEIGHT}[application],
        f"{kind.density} seeds": {"dense": DENSE, "medium": 0.0, "sparse": SPARSE}[kind.density],
    }
    total = round(start + sum(parts.values()), _DIGITS)
    value = min(max(total, LEAST), MOST)
    told = "".join(f", {name} {part:+.3f}" for name, part in parts.items() if part)
    cut = "" if value == total else f", kept within {LEAST:.2f} and {MOST:.2f}"
    return Threshold(value, f"{start:.3f}{told}{cut}")
