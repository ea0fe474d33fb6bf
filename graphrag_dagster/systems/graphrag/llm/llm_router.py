"""What a model decides before a question is answered: the search method."""

from collections.abc import Mapping, Sequence
from typing import Literal

from graphrag_dagster.kernel.models.chat.chat_model import ChatModel
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, read_typed
from graphrag_dagster.kernel.models.chat.reply_schemas import Shape, or_named
from graphrag_dagster.kernel.models.chat.structured_output import Asker, UnusableReply, ask
from graphrag_dagster.kernel.tasks.answering_ports import Routed
from graphrag_dagster.kernel.text import prompts
from graphrag_dagster.kernel.text.prompt_templates import enclose
from graphrag_dagster.systems.graphrag.llm.prompt_examples import WorkedExample

_LONGEST_REASON = 300


class RouteShape(Shape):
    """A choice as the endpoint is asked for it."""

    # Before the method, so that a model chooses with the reason before its eyes.
    reason: str = or_named("reason", "why", "because")
    method: str = or_named("method", "route", "way", "choice")


class GraphRouteShape(Shape):
    """A choice of what of a graph is looked up, as the endpoint is asked for it."""

    reason: str
    route: str


#: By the beginning of their prompts' names.
_SHAPES: Mapping[str, type[RouteShape | GraphRouteShape]] = {
    "route": RouteShape,
    "graph_route": GraphRouteShape,
}


class LlmRouter(Asker):
    """Asks a model for the search method of a question, or for what to look up in a graph.

    Args:
        chooses: ``route``, or ``graph_route`` for what of a graph is looked up.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        chooses: Literal["route", "graph_route"] = "route",
        max_tokens: int = 300,
    ) -> None:
        super().__init__(model, max_tokens)
        self._chooses = chooses
        # As the prompt calls the choice.
        self._key = "method" if chooses == "route" else "route"
        self._shape = _SHAPES[chooses]
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

        def read(text: str) -> tuple[tuple[str, str], bool]:
            found, repaired = read_typed(text, self._shape)
            reason, given = " ".join(found.reason.split()), getattr(found, self._key)
            method = next((one for one in methods if one.casefold() == given.strip().casefold()), None)
            if method is None:
                raise NotUsable(f'its "{self._key}" is {given[:40]!r}; there are {", ".join(methods)}')
            if not reason:
                raise NotUsable('it has no "reason"')
            example.refuse_copies((reason,), user)
            return (method, reason[:_LONGEST_REASON].rstrip(".")), repaired

        request = self._task_request(self._chooses, system, user, self._shape)
        try:
            asked = run_one(ask(self._model, request, read, self._retry))
        except UnusableReply as lost:
            return Routed(None, "", lost.reason, lost.usage)
        return Routed(*asked.value, usage=asked.usage)
