"""Community reports by a model (paper §3.1.5, Appendix E.2; spec_graphrag §6)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, field_validator, model_validator

from graphrag_dagster.kernel.models.chat.asker import Asker
from graphrag_dagster.kernel.models.chat.asking import UnusableReply, ask_typed
from graphrag_dagster.kernel.models.chat.loop import run_in_order
from graphrag_dagster.kernel.models.chat.port import ChatModel, noted_replies
from graphrag_dagster.kernel.models.chat.prompt import PromptSource, enclose
from graphrag_dagster.kernel.models.chat.replies import spelt_alike
from graphrag_dagster.kernel.models.chat.schemas import ReportShape
from graphrag_dagster.kernel.questions.citations import canonical_citations, parse_citations
from graphrag_dagster.kernel.tasks.ports import Finding, ReportRequest, ReportWriter, WrittenReport

_HIGHEST = 10.0
_FIRST_SENTENCE = re.compile(r"\A.{1,160}?[.!?:](?=\s|\Z)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_OTHER_NAMES = {
    "ratingexplanation": "rating_explanation",
    "impact_severity_rating": "rating",
    "executive_summary": "summary",
    "detailed_findings": "findings",
}


class _Finding(BaseModel):
    summary: str
    explanation: str

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            first = _FIRST_SENTENCE.match(value.strip())
            return {"summary": first[0] if first else value[:160], "explanation": value}
        return value

    @model_validator(mode="after")
    def _says_something(self) -> "_Finding":
        if not self.explanation.strip():
            raise ValueError("the explanation is empty")
        return self


class ReportReply(BaseModel):
    """A report as it is read: more tolerant than the shape the endpoint is asked for."""

    title: str
    summary: str
    rating: float
    rating_explanation: str = ""
    findings: list[_Finding]

    @model_validator(mode="before")
    @classmethod
    def _named_alike(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {_OTHER_NAMES.get(name, name): item for name, item in spelt_alike(value).items()}

    @field_validator("title", "summary")
    @classmethod
    def _not_empty(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("must not be empty")
        return text.strip()

    @field_validator("rating", mode="before")
    @classmethod
    def _number_in(cls, value: Any) -> Any:
        number = _NUMBER.search(value) if isinstance(value, str) else None
        return float(number[0]) if number else value

    @field_validator("rating")
    @classmethod
    def _on_the_scale(cls, rating: float) -> float:
        return min(max(rating, 0.0), _HIGHEST) if rating == rating else 0.0

    @field_validator("findings")
    @classmethod
    def _at_least_one(cls, findings: list[_Finding]) -> list[_Finding]:
        if not findings:
            raise ValueError("must hold at least one finding")
        return findings


class LlmReportWriter(Asker):
    """Asks a model for the report of each community.

    Args:
        model: answers.
        prompts: ``community_report_system``, ``community_report_user``, ``community_report_context_nodes``,
            which only communities with context nodes are asked with, and ``retry``.
        fallback: writes the report where no reply could be used; ``problem`` then says why.
        max_output_tokens: longest reply.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        fallback: ReportWriter,
        max_output_tokens: int = 2000,
    ) -> None:
        super().__init__(model, prompts, max_output_tokens)
        self._system = prompts.load("community_report_system").render()
        self._user = prompts.load("community_report_user")
        outside = prompts.load("community_report_context_nodes").render()
        self._system_with_context_nodes = f"{self._system}\n\n{outside}"
        self._fallback = fallback

    def write(self, requests: Sequence[ReportRequest]) -> Iterator[WrittenReport]:
        """Yield one report per request; citations in it are those of the context, not yet checked.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        written = run_in_order(self._write, requests, calls=self._model.concurrency)
        for request, report in zip(requests, written, strict=True):
            if isinstance(report, WrittenReport):
                yield report
            else:
                (replaced,) = self._fallback.write([request])
                yield replace(replaced, problem=report.reason, usage=replaced.usage + report.usage)

    async def _write(self, request: ReportRequest) -> WrittenReport | UnusableReply:
        user = self._user.render(community=enclose("community", request.context))
        system = self._system_with_context_nodes if request.context_nodes else self._system
        asking = self._asking("community_report", system, user, ReportShape)
        with noted_replies() as noted:
            try:
                asked = await ask_typed(self._model, asking, ReportReply, self._retry)
            except UnusableReply as lost:
                return lost
        return replace(_report(asked.value), usage=asked.usage, replies=tuple(noted))


def _report(reply: ReportReply) -> WrittenReport:
    findings = []
    for found in reply.findings:
        summary, explanation = canonical_citations(found.summary), canonical_citations(found.explanation)
        # A report's context holds no text units: what calls itself a source is read where it is checked.
        cited = tuple(c for c in parse_citations(f"{summary} {explanation}") if c.kind != "source")
        findings.append(Finding(summary.strip(), explanation.strip(), cited))
    return WrittenReport(
        title=reply.title,
        summary=canonical_citations(reply.summary),
        rating=reply.rating,
        rating_explanation=reply.rating_explanation.strip(),
        findings=tuple(findings),
        engine="llm",
    )
