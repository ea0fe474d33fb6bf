"""Probes: small questions that detect what an endpoint can do, and what follows from the answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message
from graphrag_dagster.kernel.models.chat.reply_parsing import visible_text
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.endpoint.request_bodies import capabilities_of, thinking_keys
from graphrag_dagster.kernel.models.probing.endpoint_check import (
    ROOMS,
    find_request_form,
    listed_models,
    send_small_request,
    some_names,
)

#: The probe of what reranks, which may be no model at an endpoint.
RERANKER = "reranker"
#: The probes of the models that extract, where these are on this machine.
ENTITY_MODEL, RELATION_MODEL = "entity model", "relation model"

Outcome = Literal["works", "fallback", "fails", "skipped"]
_CUT_AT = 5
_TOKENS_OVER = 2
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """Result of a probe.

    ``consequence`` is what we do about it, or the fix. ``endpoint`` names model, place and tasks.
    ``settings`` are those that fit the result, by key with dots.
    """

    probe: str
    verdict: Outcome
    found: str
    consequence: str = ""
    endpoint: str = ""
    settings: Mapping[str, int | float | bool | str] = field(default_factory=dict)


class Unusable(Exception):
    """The endpoint is unusable for anything further; holds the findings that say so."""

    def __init__(self, *findings: ProbeFinding) -> None:
        super().__init__()
        self.findings = findings


async def first_contact(model: OpenAIChatModel) -> list[ProbeFinding]:
    """Probe whether the endpoint is there, has the model, and answers.

    Raises:
        Unusable: it does not.
    """
    models = await _listing(model)
    try:
        answered = await send_small_request(model, "Reply with the word: ready")
    except EndpointError as error:
        raise Unusable(*_no_contact(model, models, str(error))) from None
    seconds = f"{answered.seconds:.2f} s"
    findings = [
        ProbeFinding("reachable", "works", f"a small reply took {seconds}"),
        _model_finding(model, models),
    ]
    if text := " ".join(visible_text(answered.reply.text).split()):
        return [*findings, ProbeFinding("chat", "works", f"replied {text[:40]!r}")]
    remedy = "choose another model, or fix its chat template"
    raise Unusable(
        *findings, ProbeFinding("chat", "fails", f"an empty reply within {ROOMS[-1]} tokens", remedy)
    )


async def reasoning(model: OpenAIChatModel) -> list[ProbeFinding]:
    """Probe whether the model reasons where nobody sees it, and whether that can be switched off."""
    name, wanted = "hidden reasoning", model.settings.reasoning
    url, question = model.connection.url, "What is 17 plus 25? Reply with the number alone."
    answered = await send_small_request(model, question)
    if wanted != "off":
        seen = "seen" if answered.reasoned else "none seen"
        return [ProbeFinding(name, "works", seen, f"unchanged: model.reasoning is {wanted}")]
    while answered.reasoned and capabilities_of(url, model.name).silence != "impossible":
        answered = await send_small_request(model, question)
    if answered.reasoned:
        remedy = "it is stripped, but costs time and tokens; a model that does not reason is cheaper"
        return [ProbeFinding(name, "fallback", "seen, and nothing disables it", remedy)]
    if keys := thinking_keys(model.settings, capabilities_of(url, model.name)):
        [(key, value)] = keys.items()
        return [ProbeFinding(name, "works", f"seen, disabled by {key}", f"every request has {key} {value}")]
    return [ProbeFinding(name, "works", "none seen")]


async def json_modes(model: OpenAIChatModel) -> list[ProbeFinding]:
    """Probe which is the best way to get JSON, and keep to it."""
    *refused, last = await find_request_form(model)
    tried = "".join(f"; {one.format}: {one.problem}" for one in refused)
    found = f"{last.format}: {last.problem or 'data of the expected shape'}{tried}"
    if last.problem is None and last.format == "json_schema":
        return [ProbeFinding("JSON", "works", found, "the server decodes replies by schema")]
    if last.problem is None:
        consequence = "the schema is part of the prompt; unreadable replies are requested again"
        return [ProbeFinding("JSON", "fallback", found, consequence)]
    if model.settings.replies == "tuples":
        consequence = "model.replies: tuples needs no JSON; reports are written without the model"
        return [ProbeFinding("JSON", "fallback", found, consequence)]
    remedy = "choose a model that follows instructions, or set model.replies: tuples, which needs no JSON"
    return [ProbeFinding("JSON", "fails", found, remedy)]


async def output_limit(model: OpenAIChatModel) -> list[ProbeFinding]:
    """Probe whether a reply ends at the limit of its tokens, and says so."""
    name = "output limit"
    asked = (Message("user", "Count from one to one hundred in words."),)
    reply = (await model.send(ChatRequest("probe", asked, _CUT_AT))).reply
    key = capabilities_of(model.connection.url, model.name).limit
    tokens = reply.output_tokens or len(reply.text) // _CHARACTERS_PER_TOKEN
    if tokens > _CUT_AT + _TOKENS_OVER or (tokens > _CUT_AT and reply.finish_reason != "length"):
        remedy = "replies may be longer than planned for, and cost more; set the limit at the server"
        return [ProbeFinding(name, "fails", f"{key} {_CUT_AT} gave {tokens} tokens", remedy)]
    if reply.finish_reason == "length":
        consequence = "a reply that is cut off is requested again with a higher limit"
        return [ProbeFinding(name, "works", f"{key} is obeyed and the cut is reported", consequence)]
    consequence = "a cut reply is only detected if its JSON is incomplete"
    return [
        ProbeFinding(
            name, "fallback", f"{key} is obeyed; finish_reason is {reply.finish_reason!r}", consequence
        )
    ]


async def _listing(model: OpenAIChatModel) -> list[str] | None:
    try:
        return await listed_models(model.connection)
    except (EndpointError, TimeoutError):
        return None


def _model_finding(model: OpenAIChatModel, models: list[str] | None) -> ProbeFinding:
    if models is None:
        return ProbeFinding("model", "works", "answers; the endpoint lists no models")
    if model.name in models:
        listed = f"one of {len(models)} that are listed" if len(models) > 1 else "the only one listed"
        return ProbeFinding("model", "works", listed)
    consequence = "another model may have answered under this name; see model.name"
    return ProbeFinding(
        "model", "fallback", f"answers, but is not listed; listed: {some_names(models)}", consequence
    )


def _no_contact(model: OpenAIChatModel, models: list[str] | None, error: str) -> list[ProbeFinding]:
    if models is None:
        return [ProbeFinding("reachable", "fails", error)]
    reached = ProbeFinding("reachable", "works", f"it lists {len(models)} models")
    if models and model.name not in models:
        remedy = f"set model.name; it has {some_names(models)}"
        fix = {"model.name": models[0]} if len(models) == 1 else {}
        return [reached, ProbeFinding("model", "fails", error, remedy, settings=fix)]
    return [reached, ProbeFinding("chat", "fails", error, "see the endpoint's message")]
