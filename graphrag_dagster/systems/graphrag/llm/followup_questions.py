"""Intermediate answers, follow-up questions and ratings of reports by a model."""

import math
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, field_validator, model_validator

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import (
    Incomplete,
    NotUsable,
    first_value,
    read_typed,
    with_normalised_keys,
)
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.tasks.answering_ports import (
    HIGHEST_RATING,
    BatchRatings,
    Exploration,
    FollowUp,
    Rating,
)
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
from graphrag_dagster.kernel.text.citations import canonical_citations
from graphrag_dagster.kernel.text.prompt_templates import PromptSource, enclose
from graphrag_dagster.systems.graphrag.llm.llm_answerer import read_score

_NAMES = {
    "text": ("answer", "intermediate_answer", "response", "text"),
    "score": ("score", "helpfulness", "rating"),
    "follow_ups": ("follow_ups", "follow_up_questions", "follow_up_queries", "followups", "questions"),
}


class ExplorationShape(Shape):
    """An intermediate answer as the endpoint is asked for it."""

    answer: str
    score: int
    follow_ups: list[str]


class _Explored(BaseModel):
    """An intermediate answer as it is read; only its text or its follow-up questions must be there."""

    text: str
    score: Any = None
    follow_ups: list[str]

    @model_validator(mode="before")
    @classmethod
    def _normalise_keys(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        alike = with_normalised_keys(value)
        read = {field: first_value(alike, names) for field, names in _NAMES.items()}
        return read | {"text": read["text"] or "", "follow_ups": read["follow_ups"] or []}

    @field_validator("text")
    @classmethod
    def _strip(cls, text: str) -> str:
        return text.strip()

    @field_validator("follow_ups", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        listed = value if isinstance(value, list) else [value]
        texts = [one.get("question", one.get("query")) if isinstance(one, dict) else one for one in listed]
        if any(isinstance(one, dict) and said is None for one, said in zip(listed, texts, strict=True)):
            raise ValueError('every follow-up must have a "question"')
        return [" ".join(one.split()) for one in texts if isinstance(one, str) and one.strip()]


class LlmExplorer(Asker):
    """Asks a model for intermediate answers with follow-up questions."""

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 2000) -> None:
        super().__init__(model, prompts, max_tokens)
        self._primer_system = prompts.load("drift_primer_system")
        self._primer_user = prompts.load("drift_primer_user")
        self._step_system = prompts.load("drift_step_system")
        self._step_user = prompts.load("drift_step_user")

    def primer(
        self,
        question: str,
        rows: Sequence[ContextUnit],  # noqa: ARG002 - a model reads what the prompt shows.
        rendered: str,
        most: int,
    ) -> Exploration:
        """Answer a question from reports; without a usable reply the score is 0 and ``problem`` says why.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        user = self._primer_user.render(
            reports=enclose("reports", rendered), question=enclose("question", question)
        )
        return run_one(self._explore("drift_primer", self._primer_system.render(most=str(most)), user, most))

    def follow(self, asked: Sequence[str], steps: Sequence[FollowUp], most: int) -> list[Exploration]:
        """Answer follow-up questions, many at a time; one without a usable reply has score 0 and a problem.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        system = self._step_system.render(most=str(most))
        listed = enclose("conversation", "\n".join(f"- {one}" for one in asked))

        async def one(step: FollowUp) -> Exploration:
            user = self._step_user.render(
                material=enclose("material", step.rendered),
                conversation=listed,
                question=enclose("question", step.question),
            )
            return await self._explore("drift_step", system, user, most)

        return self._gather(one, steps, "Following up")

    async def _explore(self, task: str, system: str, user: str, most: int) -> Exploration:
        request = self._task_request(task, system, user, ExplorationShape)
        try:
            asked = await ask(self._model, request, _read, self._retry)
        except UnusableReply as lost:
            return Exploration("", 0, problem=lost.reason, usage=lost.usage)
        read = asked.value
        score = read_score(read.score)
        return Exploration(
            canonical_citations(read.text).strip(),
            (score or 0) if read.text else 0,
            tuple(read.follow_ups[:most]),
            problem=f"no number in the score {read.score!r}; counted as 0" if score is None else None,
            usage=asked.usage,
        )


def _read(text: str) -> tuple[_Explored, bool]:
    read, repaired = read_typed(text, _Explored)
    if not read.text and not read.follow_ups and read_score(read.score) != 0:
        raise NotUsable("the answer is empty")
    return read, repaired


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ID_NAMES, _RATING_NAMES = ("id", "report", "report_id", "number"), ("rating", "score", "relevance")
#: A record such as ``{"id": 12, "rating": 4}`` takes no more, blanks and line breaks included.
_TOKENS_PER_RATING = 24


class RatingShape(Shape):
    """The rating of one report."""

    id: int
    rating: int


class RatingsShape(Shape):
    """The ratings of all reports of a prompt."""

    ratings: list[RatingShape]


class _Ratings(BaseModel):
    """Pairs of id and rating as they came: a list of records, or an object with an id for each key."""

    ratings: list[tuple[Any, Any]]

    @model_validator(mode="before")
    @classmethod
    def _normalise_ratings(cls, value: Any) -> Any:
        if isinstance(value, dict):
            lower = {str(key).strip().lower(): item for key, item in value.items()}
            value = lower.get("ratings", [lower] if "id" in lower else lower)
        if isinstance(value, dict):
            return {"ratings": list(value.items())}
        if isinstance(value, list):
            return {"ratings": [_pair(one) for one in value]}
        return value


def _pair(record: Any) -> tuple[Any, Any]:
    if not isinstance(record, dict):
        return None, record
    lower = {str(key).strip().lower(): item for key, item in record.items()}
    named = next((lower[key] for key in _ID_NAMES if key in lower), None)
    return named, next((lower[key] for key in _RATING_NAMES if key in lower), None)


def read_rating(value: object) -> int | None:
    """Return a rating rounded to a whole number; None where there is no number from 0 to 5."""
    number = _number(value)
    return round(number) if number is not None and 0 <= number <= HIGHEST_RATING else None


def _number(value: object) -> float | None:
    found = None if isinstance(value, bool | None) else _NUMBER.search(str(value))
    number = float(found[0]) if found else math.nan
    return number if math.isfinite(number) else None


class LlmReportRater(Asker):
    """Asks a model how much reports have to do with a question, one call for each batch of them.

    Args:
        max_tokens: longest reply; more where a batch has so many reports that their ratings need it.
    """

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 1000) -> None:
        super().__init__(model, prompts, max_tokens)
        self._system = prompts.load("rate_reports_system").render()
        self._user = prompts.load("rate_reports_user")

    def rate(
        self, question: str, batches: Sequence[Sequence[ContextUnit]], rendered: Sequence[str]
    ) -> list[BatchRatings]:
        """Return the ratings of each batch; a report whose rating is missing or unusable has None.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """

        async def one(task: tuple[Sequence[ContextUnit], str]) -> BatchRatings:
            return await self._rate_batch(question, *task)

        return self._gather(one, list(zip(batches, rendered, strict=True)), "Rating reports")

    async def _rate_batch(self, question: str, batch: Sequence[ContextUnit], rendered: str) -> BatchRatings:
        user = self._user.render(reports=enclose("reports", rendered), question=enclose("question", question))
        least = _TOKENS_PER_RATING * len(batch)
        request = self._task_request("rate_reports", self._system, user, RatingsShape, least)
        ids = [unit.id for unit in batch]
        try:
            asked = await ask(self._model, request, lambda text: _ratings_by_report(text, ids), self._retry)
        except UnusableReply as lost:
            return BatchRatings(tuple(Rating(None, lost.reason) for _ in batch), lost.usage)
        return BatchRatings(tuple(_rating(asked.value.get(one)) for one in ids), asked.usage)


def _ratings_by_report(text: str, ids: Sequence[int]) -> tuple[dict[int, list[Any]], bool]:
    """Return what was given for each report.

    Raises:
        Incomplete: not every report has a rating.
        NotUsable: none has.
    """
    reply, repaired = read_typed(text, _Ratings)
    given: dict[int, list[Any]] = {}
    for named, rating in reply.ratings:
        number = _number(named)
        if number is not None and number in ids:
            given.setdefault(int(number), []).append(rating)
    rated = {one for one, ratings in given.items() if any(read_rating(each) is not None for each in ratings)}
    if not rated:
        raise NotUsable(f'it gives no "rating" from 0 to {HIGHEST_RATING} for the "id" of any report')
    if missing := [str(one) for one in ids if one not in rated]:
        named = ", ".join(missing[:10])
        raise Incomplete(f'it gives no "rating" from 0 to {HIGHEST_RATING} for number {named}', given)
    return given, repaired


def _rating(given: Sequence[Any] | None) -> Rating:
    """The highest counts where a report was rated more than once."""
    if given is None:
        return Rating(None, "the model gave it no rating")
    usable = [number for number in map(read_rating, given) if number is not None]
    if usable:
        return Rating(max(usable))
    return Rating(None, f"no number from 0 to {HIGHEST_RATING} in the rating {str(given[0])[:40]!r}")
