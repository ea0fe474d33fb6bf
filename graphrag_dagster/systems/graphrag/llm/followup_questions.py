"""Intermediate answers, follow-up questions and ratings of reports by a model."""

from collections.abc import Sequence

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, read_typed
from graphrag_dagster.kernel.models.chat.reply_schemas import (
    AnyNumber,
    Line,
    Shape,
    or_named,
    read_some_words,
)
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.tasks.answering_ports import (
    HIGHEST_RATING,
    BatchRatings,
    Exploration,
    FollowUp,
    Rating,
)
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.citations import canonical_citations
from graphrag_dagster.kernel.text.prompt_templates import enclose
from graphrag_dagster.systems.graphrag.llm.llm_answerer import read_score


class ExplorationShape(Shape):
    """An intermediate answer as the endpoint is asked for it."""

    # Only its text or its follow-up questions must be there.
    answer: str = or_named("answer", "intermediate_answer", "response", "text", missing=str)
    score: AnyNumber = or_named("score", "helpfulness", "rating", missing=type(None))
    follow_ups: list[Line] = or_named(
        "follow_ups", "follow_up_questions", "follow_up_queries", "followups", "questions", missing=list
    )


class LlmExplorer(Asker):
    """Asks a model for intermediate answers with follow-up questions."""

    def __init__(self, model: ChatModel, *, max_tokens: int = 2000) -> None:
        super().__init__(model, max_tokens)
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
            canonical_citations(read.answer).strip(),
            (score or 0) if read.answer.strip() else 0,
            tuple(filter(None, read.follow_ups))[:most],
            problem=f"no number in the score {read.score!r}; counted as 0" if score is None else None,
            usage=asked.usage,
        )


def _read(text: str) -> tuple[ExplorationShape, bool]:
    read, repaired = read_typed(text, ExplorationShape)
    if not read.answer.strip() and not any(read.follow_ups) and read_score(read.score) != 0:
        raise NotUsable("the answer is empty")
    return read, repaired


#: A record such as ``{"id": 12, "rating": 4}`` takes no more, blanks and line breaks included.
_TOKENS_PER_RATING = 24
_RATINGS = {str(number): str(number) for number in range(HIGHEST_RATING + 1)}


class RatingShape(Shape):
    """The rating of one report."""

    id: int
    rating: int


class RatingsShape(Shape):
    """The ratings of all reports of a prompt."""

    ratings: list[RatingShape]


class LlmReportRater(Asker):
    """Asks a model how much reports have to do with a question, one call for each batch of them.

    Args:
        max_tokens: longest reply; more where a batch has so many reports that their ratings need it.
    """

    def __init__(self, model: ChatModel, *, max_tokens: int = 1000) -> None:
        super().__init__(model, max_tokens)
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

        def read(text: str) -> tuple[dict[int, tuple[str, str]], bool]:
            return read_some_words(text, len(batch), _RATINGS, "rating")

        try:
            asked = await ask(self._model, request, read, self._retry)
        except UnusableReply as lost:
            return BatchRatings(tuple(Rating(None, lost.reason) for _ in batch), lost.usage)
        lacking = Rating(None, asked.lacking)
        given = {number: Rating(int(word)) for number, (word, _) in asked.value.items()}
        return BatchRatings(tuple(given.get(unit.id, lacking) for unit in batch), asked.usage)
