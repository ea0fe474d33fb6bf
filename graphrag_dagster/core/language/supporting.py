"""The port of judging whether words of the documents support what an answer says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from graphrag_dagster.core.language.tasks import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphrag_dagster.catalogue.support import Verdict


@dataclass(frozen=True, slots=True)
class Cited:
    """A statement with the words that it cites; ``about`` has the names of what these are about."""

    statement: str
    words: tuple[str, ...]
    about: str = ""


@dataclass(frozen=True, slots=True)
class SupportOf:
    """Whether words support a statement.

    ``score``: 0–1, how probable it is that a person would call it supported; None where who judges does not
    tell. ``reason``: in a few words why it is not wholly supported, else blank. ``problem``: why who was
    asked could not say, else None; the rest is then what rules say.
    """

    verdict: Verdict
    score: float | None
    reason: str = ""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One :class:`SupportOf` for each statement, in their order, and what was used for it."""

    items: tuple[SupportOf, ...]
    usage: Usage = field(default_factory=Usage)


class SupportJudge(Protocol):
    """Says of statements whether the words they cite support them."""

    def judge(self, statements: Sequence[Cited]) -> Judged:
        """Return what holds of each statement; each has words, and none is a quotation of them."""
