"""Reports that were written elsewhere, and stay as they are."""

from collections.abc import Mapping
from dataclasses import dataclass

from graphrag_dagster.core.language.tasks import Finding, RecordKind, WrittenReport

#: Stands where other reports have the engine that wrote them.
IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A report as it came.

    ``findings``: headline and explanation of each; ``cited``: for each kind of record, the ids here by the
    numbers that its text cites them with.
    """

    title: str
    summary: str
    content: str
    rating: float
    rating_explanation: str
    findings: tuple[tuple[str, str], ...]
    cited: Mapping[RecordKind, Mapping[int, str]]

    def written(self) -> WrittenReport:
        """Return it as reports of communities above it are written from it."""
        return WrittenReport(
            title=self.title,
            summary=self.summary,
            rating=self.rating,
            rating_explanation=self.rating_explanation,
            findings=tuple(Finding(summary, explanation) for summary, explanation in self.findings),
            engine=IMPORTED,
        )
