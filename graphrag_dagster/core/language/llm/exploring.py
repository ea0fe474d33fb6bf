"""Intermediate answers and follow-up questions by a model."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, field_validator, model_validator

from graphrag_dagster.core.language.chat.asker import Asker
from graphrag_dagster.core.language.chat.asking import UnusableReply, ask
from graphrag_dagster.core.language.chat.loop import run_one
from graphrag_dagster.core.language.chat.port import ChatModel
from graphrag_dagster.core.language.chat.prompt import PromptSource, enclose
from graphrag_dagster.core.language.chat.replies import NotUsable, read_typed
from graphrag_dagster.core.language.chat.schemas import Shape
from graphrag_dagster.core.language.exploring import Exploration, FollowUp
from graphrag_dagster.core.language.llm.answerer import read_score
from graphrag_dagster.core.language.tasks import ContextUnit
from graphrag_dagster.core.text.citations import canonical_citations

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
    def _named_alike(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        lower = {str(key).strip().lower().replace("-", "_"): item for key, item in value.items()}
        read = {
            field: next((lower[name] for name in names if lower.get(name) is not None), None)
            for field, names in _NAMES.items()
        }
        return read | {"text": read["text"] or "", "follow_ups": read["follow_ups"] or []}

    @field_validator("text")
    @classmethod
    def _stripped(cls, text: str) -> str:
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
    """Asks a model for intermediate answers with follow-up questions.

    Args:
        model: answers.
        prompts: ``drift_primer_system``, ``drift_primer_user``, ``drift_step_system``, ``drift_step_user``
            and ``retry``.
        max_tokens: longest reply.
    """

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
        return run_one(self._explored("drift_primer", self._primer_system.render(most=str(most)), user, most))

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
            return await self._explored("drift_step", system, user, most)

        return self._each(one, steps, "Following up")

    async def _explored(self, task: str, system: str, user: str, most: int) -> Exploration:
        request = self._asking(task, system, user, ExplorationShape)
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
