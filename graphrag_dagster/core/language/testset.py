"""The port of who writes questions with reference answers, each from one document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from graphrag_dagster.core.language.tasks import Items, OfEngine


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    """Asks for ``count`` questions about a document, none of them in ``avoid``.

    Attributes:
        title: of the document.
        text: of it, as much as is shown.
        count: how many.
        avoid: questions that there are already.
    """

    title: str
    text: str
    count: int
    avoid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceDraft:
    """A question with the right answer by the document, and words of the document that say so.

    Each is blank where it was not given; nobody has looked yet whether the document has the words.
    """

    question: str
    reference: str
    evidence: str = ""


#: What was written at one request: more or fewer than were asked for, and unchecked.
ReferenceDrafts: TypeAlias = Items[ReferenceDraft]


class TestsetWriter(OfEngine, Protocol):
    """Writes questions that a single document answers."""

    def write(self, requests: Sequence[DocumentRequest]) -> list[ReferenceDrafts]:
        """Return the drafts of each request, in the order of the requests."""
