"""The port of writing evaluation questions: personas, their tasks and their questions (paper §3.2).

Each step is told what is there already, so that what turned out to be a repetition can be asked for again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar

from graphrag_dagster.core.language.tasks import Items, OfEngine, Usage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Described:
    """What a corpus is about; blank where a model's reply could not be used, and ``problem`` says why."""

    text: str
    problem: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class PersonaDraft:
    """An invented user of the corpus: who it is, and what the person wants of the corpus."""

    name: str
    description: str


#: What was written at one request: more or fewer than were asked for, and unchecked; ``problem`` also says
#: why there cannot be as many as asked for.
Drafts: TypeAlias = Items[T]


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """Asks for ``count`` tasks of a persona, none of them in ``avoid``."""

    description: str
    persona: PersonaDraft
    count: int
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """Asks for ``count`` questions of a persona at a task, none of them in ``avoid``."""

    description: str
    persona: PersonaDraft
    task: str
    count: int
    avoid: tuple[str, ...] = ()


class QuestionWriter(OfEngine, Protocol):
    """Writes questions that need an understanding of the whole corpus, not low-level facts."""

    def describe(self, texts: Sequence[str]) -> Described:
        """Describe a corpus from texts sampled of it; the caller sees to it that they fit into a prompt."""

    def personas(
        self, description: str, count: int, avoid: Sequence[PersonaDraft] = ()
    ) -> Drafts[PersonaDraft]:
        """Return personas who might use a corpus of that description."""

    def tasks(self, requests: Sequence[TaskRequest]) -> list[Drafts[str]]:
        """Return the drafts of each request, in the order of the requests."""

    def questions(self, requests: Sequence[QuestionRequest]) -> list[Drafts[str]]:
        """Return the drafts of each request, in the order of the requests."""
