"""The way from a row to what it rests on."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from graphrag_dagster.core.text.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Step:
    """A row on the way: what it is, what it says, what it rests on, and the rows it was made from.

    ``facts`` are further columns of the row; ``left_out`` counts the rows below that are not in ``steps``.
    """

    kind: str
    id: str
    title: str
    text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    steps: tuple["Step", ...] = ()
    left_out: int = 0

    def all_evidence(self) -> Iterator[Evidence]:
        """Yield the evidence of this row and of all below."""
        yield from self.evidence
        for step in self.steps:
            yield from step.all_evidence()

    def to_dict(self) -> dict[str, Any]:
        """Return the row and all below as values that JSON can hold."""
        return asdict(self)
