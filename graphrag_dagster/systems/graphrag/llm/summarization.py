"""Merged descriptions and community reports by a model (paper §3.1.3, §3.1.5)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, field_validator

from graphrag_dagster.kernel.models.chat.chat_model import (
    ChatModel,
    ChatRequest,
    Usage,
    collect_reused_replies,
)
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_in_order, run_largest_first
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape, or_named
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask_typed
from graphrag_dagster.kernel.tasks.task_ports import (
    DescriptionGroup,
    Finding,
    MergedDescription,
    ReportRequest,
    ReportWriter,
    WrittenReport,
)
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.citations import canonical_citations, parse_citations
from graphrag_dagster.kernel.text.prompt_templates import enclose, one_line
from graphrag_dagster.kernel.text.tokenization import Tokenizer, get_tokenizer

#: Length of a merged description that is asked for.
_MOST_WORDS = 500
_APOLOGY = re.compile(
    r"(?:I['’]?m sorry|I am sorry|sorry,|I apologi[sz]e|I can(?:no|['’])t\b|I am unable|as an AI\b)",
    re.IGNORECASE,
)


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def _no_apology(text: str) -> str:
    if _APOLOGY.match(text):
        raise ValueError("must not be an apology")
    return text


#: Checked where a reply is read, and no part of its schema.
_Filled = Annotated[str, AfterValidator(_filled)]


class DescriptionShape(Shape):
    """A merged description."""

    description: Annotated[_Filled, AfterValidator(_no_apology)]


class LlmDescriptionMerger(Asker):
    """Asks a model for one description of each element that has several.

    Args:
        merge_above_tokens: distinct descriptions that together are no longer than this are joined as they
            are, without a call; 0 sends every element that has two.
        max_input_tokens: descriptions sent in one call; what does not fit is folded in by further calls.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        merge_above_tokens: int = 0,
        max_input_tokens: int = 4000,
        max_output_tokens: int = 1500,
    ) -> None:
        super().__init__(model, max_output_tokens)
        self._system = prompts.load("summarize_descriptions_system").render(max_words=str(_MOST_WORDS))
        self._user = prompts.load("summarize_descriptions_user")
        self._above = merge_above_tokens
        self._budget = max_input_tokens
        self._tokenizer = get_tokenizer("cl100k_base")

    def merge(self, groups: Sequence[DescriptionGroup]) -> list[MergedDescription]:
        """Return one description per group; one distinct description is kept word for word, without a call,
        and so are several that are short together.

        Where no reply could be used the descriptions are joined as they are, and ``problem`` says why.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        distinct = [_distinct_descriptions(one) for one in groups]
        long = [place for place, texts in enumerate(distinct) if self._needs_model(texts)]
        merged = [MergedDescription(" ".join(texts), self.engine) for texts in distinct]
        made = run_largest_first(
            self._merge,
            [(groups[place].names, distinct[place]) for place in long],
            size=lambda task: sum(map(len, task[1])),
            name="Merging descriptions",
            calls=self._model.concurrency,
        )
        for place, one in zip(long, made, strict=True):
            merged[place] = one
        return merged

    async def _merge(self, task: tuple[Sequence[str], Sequence[str]]) -> MergedDescription:
        names, distinct = task
        usage, text = Usage(), ""
        try:
            for batch in self._batches(distinct):
                asked = await ask_typed(
                    self._model,
                    self._request(names, [text, *batch] if text else batch),
                    DescriptionShape,
                    self._retry,
                )
                usage += asked.usage
                text = asked.value.description
        except UnusableReply as lost:
            return MergedDescription(" ".join(distinct), "extractive", lost.reason, usage + lost.usage)
        return MergedDescription(text, self.engine, usage=usage)

    def first_requests(self, groups: Iterable[DescriptionGroup]) -> list[tuple[ChatRequest, int]]:
        """Return the first request about each element that is asked about, and how many calls follow it."""
        made = []
        for group in groups:
            if self._needs_model(distinct := _distinct_descriptions(group)):
                first, *rest = self._batches(distinct)
                made.append((self._request(group.names, first), len(rest)))
        return made

    def _needs_model(self, distinct: Sequence[str]) -> bool:
        if len(distinct) < 2 or not self._above:
            return len(distinct) > 1
        return self._tokenizer.count(" ".join(distinct)) > self._above

    def _batches(self, descriptions: Sequence[str]) -> list[list[str]]:
        """Fill calls up to the budget; each after the first leaves room for the description so far."""
        most = max(self._budget - self._max_tokens, self._budget // 2, 1)
        batches: list[list[str]] = [[]]
        used = 0
        for piece, tokens in _pieces(descriptions, self._tokenizer, most):
            room = self._budget if len(batches) == 1 else most
            if batches[-1] and used + tokens > room:
                batches.append([])
                used = 0
            batches[-1].append(piece)
            used += tokens
        return batches

    def _request(self, names: Sequence[str], descriptions: Sequence[str]) -> ChatRequest:
        listed = "\n".join(f"- {one_line(text)}" for text in descriptions)
        user = self._user.render(
            element=enclose("element", " / ".join(names)), descriptions=enclose("descriptions", listed)
        )
        return self._task_request("summarize_descriptions", self._system, user, DescriptionShape)


def _distinct_descriptions(group: DescriptionGroup) -> list[str]:
    return list(dict.fromkeys(text for text in group.descriptions if text.strip()))


def _pieces(descriptions: Sequence[str], tokenizer: Tokenizer, most: int) -> list[tuple[str, int]]:
    """Descriptions with their tokens; one longer than a call may hold comes in several pieces."""
    pieces = []
    for text, tokens in zip(descriptions, tokenizer.counts(descriptions), strict=True):
        if tokens <= most:
            pieces.append((text, tokens))
        else:
            windows = tokenizer.windows(text, most, 0)
            pieces += [(text[start:end], count) for start, end, count in windows]
    return pieces


_HIGHEST = 10.0
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class FindingShape(Shape):
    """A finding of a report."""

    summary: str
    explanation: _Filled


class ReportShape(Shape):
    """A community report (paper, Appendix E.2)."""

    title: _Filled
    summary: _Filled = or_named("summary", "executive_summary")
    rating: float = or_named("rating", "impact_severity_rating")
    rating_explanation: str = or_named("rating_explanation", "ratingexplanation", missing=str)
    findings: list[FindingShape] = or_named("findings", "detailed_findings")

    @field_validator("rating", mode="before")
    @classmethod
    def _parse_rating(cls, value: Any) -> Any:
        number = _NUMBER.search(value) if isinstance(value, str) else None
        return float(number[0]) if number else value

    @field_validator("rating")
    @classmethod
    def _clamp_rating(cls, rating: float) -> float:
        return min(max(rating, 0.0), _HIGHEST) if rating == rating else 0.0

    @field_validator("findings")
    @classmethod
    def _require_finding(cls, findings: list[FindingShape]) -> list[FindingShape]:
        if not findings:
            raise ValueError("must hold at least one finding")
        return findings


class LlmReportWriter(Asker):
    """Asks a model for the report of each community.

    Args:
        fallback: writes the report where no reply could be used; ``problem`` then says why.
        profile: ``paper`` asks for the contents and the rating of the paper's prompt (Appendix E.2).
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        fallback: ReportWriter,
        profile: Literal["default", "paper"] = "default",
        max_output_tokens: int = 2000,
    ) -> None:
        super().__init__(model, max_output_tokens)
        name = "community_report_paper_system" if profile == "paper" else "community_report_system"
        self._system = prompts.load(name).render()
        self._user = prompts.load("community_report_user")
        outside = prompts.load("community_report_context_nodes").render()
        self._system_with_context_nodes = f"{self._system}\n\n{outside}"
        self._fallback = fallback

    def write(self, requests: Sequence[ReportRequest]) -> Iterator[WrittenReport]:
        """Yield one report per request; citations in it are those of the context, not yet checked.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        asked = [(request.context, bool(request.context_nodes)) for request in requests]
        return self.completed(requests, self.ask(asked))

    def ask(self, contexts: Sequence[tuple[str, bool]]) -> Iterator[WrittenReport | UnusableReply]:
        """Yield what the model says of each context, which is told whether it has context nodes.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        return run_in_order(self._ask, contexts, calls=self._model.concurrency)

    def completed(
        self, requests: Sequence[ReportRequest], said: Iterable[WrittenReport | UnusableReply]
    ) -> Iterator[WrittenReport]:
        """Yield what :meth:`ask` gave for the contexts of requests, or else a report without a model."""
        for request, report in zip(requests, said, strict=True):
            if isinstance(report, WrittenReport):
                yield report
            else:
                (replaced,) = self._fallback.write([request])
                yield replace(replaced, problem=report.reason, usage=replaced.usage + report.usage)

    async def _ask(self, asked: tuple[str, bool]) -> WrittenReport | UnusableReply:
        context, has_context_nodes = asked
        user = self._user.render(community=enclose("community", context))
        system = self._system_with_context_nodes if has_context_nodes else self._system
        asking = self._task_request("community_report", system, user, ReportShape)
        with collect_reused_replies() as noted:
            try:
                asked_for = await ask_typed(self._model, asking, ReportShape, self._retry)
            except UnusableReply as lost:
                return lost
        return replace(_report(asked_for.value), usage=asked_for.usage, replies=tuple(noted))


def _report(reply: ReportShape) -> WrittenReport:
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
