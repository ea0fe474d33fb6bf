"""What a model decides before a question is answered: the search method."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, model_validator

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import (
    NotUsable,
    first_value,
    read_typed,
    with_normalised_keys,
)
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.tasks.answering_ports import Routed
from graphrag_dagster.kernel.text.prompt_templates import (
    PromptSource,
    enclose,
)
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
