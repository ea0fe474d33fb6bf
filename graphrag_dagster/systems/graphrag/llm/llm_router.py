"""What a model decides before a question is answered: the search method, and the steps that it takes."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, field_validator, model_validator

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.prompt_templates import (
    PromptSource,
    enclose,
    enclosed_conversation,
)
from graphrag_dagster.kernel.models.chat.reply_parsing import (
    NotUsable,
    first_value,
    read_typed,
    with_normalised_keys,
)
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.tasks.answering_ports import STEP_REFERENCE, Routed, SplitQuestion, StepAnswer
from graphrag_dagster.kernel.tasks.task_ports import Turn
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.llm.prompt_examples import WorkedExample

_LONGEST_REASON = 300
_NAMES = {"reason": ("reason", "why", "because"), "method": ("method", "route", "way", "choice")}


class RouteShape(Shape):
    """A choice as the endpoint is asked for it."""

    # Before the method, so that a model chooses with the reason before its eyes.
    reason: str
    method: str


class GraphRouteShape(Shape):
    """A choice of what of a graph is looked up, as the endpoint is asked for it."""

    reason: str
    route: str


#: By the beginning of their prompts' names.
_SHAPES: Mapping[str, type[Shape]] = MappingProxyType({"route": RouteShape, "graph_route": GraphRouteShape})


class _Route(BaseModel):
    """A choice as it is read, whatever its keys are called."""

    reason: str
    method: str

    @model_validator(mode="before")
    @classmethod
    def _normalise_keys(cls, value: Any) -> Any:
        alike = with_normalised_keys(value)
        return {name: first_value(alike, names) for name, names in _NAMES.items()} if alike else value


class LlmRouter(Asker):
    """Asks a model for the search method of a question, or for what to look up in a graph.

    Args:
        chooses: ``route``, or ``graph_route`` for what of a graph is looked up.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: PromptSource,
        *,
        chooses: Literal["route", "graph_route"] = "route",
        max_tokens: int = 300,
    ) -> None:
        super().__init__(model, prompts, max_tokens)
        self._chooses = chooses
        self._system = prompts.load(f"{chooses}_system")
        self._user = prompts.load("route_user")

    def route(self, question: str, methods: Mapping[str, str], names: Sequence[str]) -> Routed:
        """Return which of the search methods suits a question; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        told = "\n".join(f'- "{name}": {text}' for name, text in methods.items())
        system = self._system.render(methods=told)
        known = enclose("entity_names", "\n".join(names) or "none")
        user = self._user.render(names=known, question=enclose("question", question))
        example = WorkedExample.of(system)

        def read(text: str) -> tuple[_Route, bool]:
            found, repaired = read_typed(text, _Route)
            reason = " ".join(found.reason.split())
            method = next((one for one in methods if one.casefold() == found.method.strip().casefold()), None)
            if method is None:
                key = "method" if self._chooses == "route" else "route"
                raise NotUsable(f'its "{key}" is {found.method[:40]!r}; there are {", ".join(methods)}')
            if not reason:
                raise NotUsable('it has no "reason"')
            example.refuse_copies((reason,), user)
            return _Route(reason=reason[:_LONGEST_REASON].rstrip("."), method=method), repaired

        request = self._task_request(self._chooses, system, user, _SHAPES[self._chooses])
        try:
            asked = run_one(ask(self._model, request, read, self._retry))
        except UnusableReply as lost:
            return Routed(None, "", lost.reason, lost.usage)
        return Routed(asked.value.method, asked.value.reason, usage=asked.usage)


_NUMBERING = re.compile(r"\s*(?:#?\d+[.):]|[-*•])\s+")
_NO_ANSWER = re.compile(
    r"\W*|(?:none|null|n/?a|unknown|no answer|empty(?: text)?|not (?:stated|given|mentioned|known))\W*",
    re.I,
)
_LONGEST_STEP = 200
#: Words that stand for an earlier answer, which a search cannot know.
_POINTS_BACK = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|its|their|(?:in|of|at|from|by|for) (?:that|this) \w+)\b", re.I
)


class QuestionsShape(Shape):
    """The questions that a question is split into, as the endpoint is asked for them."""

    questions: list[str]


class StepShape(Shape):
    """The answer to one of them, as the endpoint is asked for it."""

    answer: str


class _Questions(BaseModel):
    """Questions as they are read: a list of texts or of records, whatever its key is called."""

    questions: list[str]

    @model_validator(mode="before")
    @classmethod
    def _normalise_keys(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {"questions": value}
        names = ("questions", "sub_questions", "subquestions", "steps")
        return {"questions": first_value(with_normalised_keys(value), names)}

    @field_validator("questions", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        listed = value if isinstance(value, list) else []
        read = [one.get("question") if isinstance(one, dict) else one for one in listed]
        texts = [one for one in read if isinstance(one, str)]
        if not isinstance(value, list) or len(texts) < len(read):
            raise ValueError("must be a list of questions, each a text")
        return [_NUMBERING.sub("", " ".join(one.split()), count=1) for one in texts if one.strip()]


def _step_problem(number: int, step: str, question: str) -> str | None:
    """Return why a step of a question cannot be looked up; None where it can."""
    referred = [int(one) for one in STEP_REFERENCE.findall(step)]
    if wrong := [one for one in referred if not 0 < one < number]:
        return f"question {number} refers to #{wrong[0]}, which is no question before it"
    if normalise(step) == normalise(question):
        return f"question {number} is the question itself; ask for what it needs first"
    said = _POINTS_BACK.search(step)
    if said and number > 1 and not referred:
        return f'question {number} says "{said[0]}"; write # and the number of an earlier question instead'
    return None


class LlmDecomposer(Asker):
    """Asks a model to split a question, and for the answer to each of its steps."""

    def __init__(self, model: ChatModel, prompts: PromptSource, *, max_tokens: int = 400) -> None:
        super().__init__(model, prompts, max_tokens)
        self._split_system = prompts.load("decompose_system")
        self._split_user = prompts.load("decompose_user")
        self._step_system = prompts.load("decompose_step_system").render()
        self._step_user = prompts.load("decompose_step_user")

    def split(self, question: str, most: int, history: Sequence[Turn] = ()) -> SplitQuestion:
        """Return the questions that a question is split into; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        system = self._split_system.render(most=str(most))
        user = self._split_user.render(
            conversation=enclosed_conversation(history), question=enclose("question", question)
        )
        example = WorkedExample.of(system)

        def read(text: str) -> tuple[list[str], bool]:
            found, repaired = read_typed(text, _Questions)
            kept = found.questions[:most]
            # A single question is not used.
            for number, one in enumerate(kept if kept[1:] else (), start=1):
                if problem := _step_problem(number, one, question):
                    raise NotUsable(problem)
            example.refuse_copies(kept, user)
            return kept, repaired or len(kept) < len(found.questions)

        request = self._task_request("decompose", system, user, QuestionsShape)
        try:
            asked = run_one(ask(self._model, request, read, self._retry))
        except UnusableReply as lost:
            return SplitQuestion((), lost.reason, lost.usage)
        return SplitQuestion(tuple(asked.value), usage=asked.usage)

    def answer(self, question: str, rendered: str) -> StepAnswer:
        """Answer one of the questions; see the port.

        Raises:
            EndpointError: the endpoint cannot be used at all.
        """
        user = self._step_user.render(
            material=enclose("material", rendered), question=enclose("question", question)
        )

        def read(text: str) -> tuple[str, bool]:
            found, repaired = read_typed(text, StepShape)
            answer = " ".join(found.answer.split()).rstrip(".")
            if len(answer) > _LONGEST_STEP:
                raise NotUsable(f'its "answer" has {len(answer):,} characters; give at most ten words')
            return "" if _NO_ANSWER.fullmatch(answer) else answer, repaired

        request = self._task_request("decompose_step", self._step_system, user, StepShape)
        try:
            asked = run_one(ask(self._model, request, read, self._retry))
        except UnusableReply as lost:
            return StepAnswer("", lost.reason, lost.usage)
        return StepAnswer(asked.value, usage=asked.usage)
