"""Probes: small questions that detect what an endpoint can do, and what follows from the answers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.chat.chat_model import ChatRequest, Message
from graphrag_dagster.kernel.models.chat.reply_parsing import visible_text
from graphrag_dagster.kernel.models.chat.yes_no import encoding_of_model, first_tokens
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.endpoint.request_bodies import Silence, capabilities_of
from graphrag_dagster.kernel.models.probing.endpoint_check import (
    REPLY_FORMATS,
    ROOMS,
    ReplyFormat,
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
_WORD = re.compile(r"[^\W\d_]+")
_HERE = frozenset({"localhost", "127.0.0.1", "::1", "host.docker.internal"})
_UNREACHED = re.compile(r"cannot reach|no reply from|did not answer|refused", re.IGNORECASE)
_BUSY = " answered 503: "
_WAYS_OF_SILENCE: dict[Silence, str] = {
    "not needed": "nothing",
    "template": "chat_template_kwargs",
    "none": "reasoning_effort none",
    "minimal": "reasoning_effort minimal",
    "impossible": "nothing",
}


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
    mend = "choose another model, or fix its chat template"
    raise Unusable(
        *findings, ProbeFinding("chat", "fails", f"an empty reply within {ROOMS[-1]} tokens", mend)
    )


async def reasoning(model: OpenAIChatModel) -> list[ProbeFinding]:
    """Probe whether the model reasons where nobody sees it, and whether that can be switched off."""
    name, wanted = "hidden reasoning", model.settings.reasoning
    url, question = model.connection.url, "What is 17 plus 25? Reply with the number alone."
    before = capabilities_of(url, model.name)
    answered = await send_small_request(model, question)
    if wanted != "off":
        seen = "seen" if answered.reasoned else "none seen"
        return [ProbeFinding(name, "works", seen, f"unchanged: model.reasoning is {wanted}")]
    while answered.reasoned and capabilities_of(url, model.name).silence != "impossible":
        answered = await send_small_request(model, question)
    silence = capabilities_of(url, model.name).silence
    if silence == before.silence == "not needed":
        return [ProbeFinding(name, "works", "none seen")]
    if not answered.reasoned:
        way = _WAYS_OF_SILENCE[silence]
        return [ProbeFinding(name, "works", f"seen, disabled by {way}", f"every request carries {way}")]
    mend = (
        "it is stripped from the replies, but costs time and tokens; a model that does not reason is cheaper"
    )
    return [ProbeFinding(name, "fallback", "seen, and nothing disables it", mend)]


async def json_modes(model: OpenAIChatModel) -> list[ProbeFinding]:
    """Probe which is the best way to get JSON, and keep to it."""
    attempts = await find_request_form(model)
    tried = {one.format: one.problem for one in attempts}
    findings = [
        _format_finding("json_schema", tried, attempts[-1].format, "the schema is part of the prompt"),
        _format_finding("json_object", tried, attempts[-1].format, "JSON is extracted from text"),
    ]
    if "text" not in tried:
        return findings
    if (problem := tried["text"]) is None:
        told = "the schema is part of the prompt; unreadable replies are requested again"
        return [*findings, ProbeFinding("JSON in text", "works", "data of the expected shape", told)]
    tuples = model.settings.replies == "tuples"
    mend = "choose a model that follows instructions, or a server that decodes by JSON schema"
    told = (
        "set model.replies: tuples, which needs no JSON; reports are then written without the model"
        if tuples
        else mend
    )
    return [*findings, ProbeFinding("JSON in text", "fallback" if tuples else "fails", problem, told)]


async def forced_token(model: OpenAIChatModel) -> list[ProbeFinding]:
    """Probe whether ``logit_bias`` forces one of two tokens, as the yes/no check of gleaning wants it."""
    name, otherwise = "logit_bias", "the yes/no check reads the first word of a short reply"
    if not model.settings.logit_bias:
        return [ProbeFinding(name, "skipped", "model.logit_bias is false", otherwise)]
    forced = first_tokens(encoding_of_model(model.name))
    if not forced:
        return [ProbeFinding(name, "skipped", f"the tokens of {model.name} are unknown", otherwise)]
    asked = (Message("user", "Name a colour."),)
    answered = await model.send(ChatRequest("probe", asked, 1, forced_tokens=forced))
    if not capabilities_of(model.connection.url, model.name).logit_bias:
        return [ProbeFinding(name, "fallback", "refused", otherwise)]
    word = _WORD.search(visible_text(answered.reply.text))
    if word and word[0].upper() in {"YES", "NO"}:
        return [ProbeFinding(name, "works", "forces YES or NO", "the yes/no check takes one token")]
    mend = f"{otherwise}; set model.logit_bias: false to save a call per check"
    shown = repr(word[0]) if word else "nothing"
    fix = {"model.logit_bias": False}
    return [ProbeFinding(name, "fallback", f"ignored: the reply is {shown}", mend, settings=fix)]


async def output_limit(model: OpenAIChatModel) -> list[ProbeFinding]:
    """Probe whether a reply ends at the limit of its tokens, and says so."""
    name = "output limit"
    asked = (Message("user", "Count from one to one hundred in words."),)
    reply = (await model.send(ChatRequest("probe", asked, _CUT_AT))).reply
    key = capabilities_of(model.connection.url, model.name).limit
    tokens = reply.output_tokens or len(reply.text) // _CHARACTERS_PER_TOKEN
    if tokens > _CUT_AT + _TOKENS_OVER or (tokens > _CUT_AT and reply.finish_reason != "length"):
        mend = "replies may be longer than planned for, and cost more; set the limit at the server"
        return [ProbeFinding(name, "fails", f"{key} {_CUT_AT} gave {tokens} tokens", mend)]
    if reply.finish_reason == "length":
        told = "a reply that is cut off is requested again with a higher limit"
        return [ProbeFinding(name, "works", f"{key} is obeyed and the cut is reported", told)]
    told = "a cut reply is only detected if its JSON is incomplete"
    return [
        ProbeFinding(name, "fallback", f"{key} is obeyed; finish_reason is {reply.finish_reason!r}", told)
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
    told = "another model may have answered under this name; see model.name"
    return ProbeFinding(
        "model", "fallback", f"answers, but is not listed; listed: {some_names(models)}", told
    )


def _format_finding(
    kind: ReplyFormat, tried: dict[ReplyFormat, str | None], last: ReplyFormat, otherwise: str
) -> ProbeFinding:
    if kind not in tried:
        if REPLY_FORMATS.index(last) < REPLY_FORMATS.index(kind):
            return ProbeFinding(kind, "skipped", "not needed", "")
        return ProbeFinding(kind, "fallback", "refused", otherwise)
    problem = tried[kind]
    if problem is None:
        told = "it decodes replies by schema" if kind == "json_schema" else "the shape is checked on arrival"
        return ProbeFinding(kind, "works", "data of the expected shape", told)
    return ProbeFinding(kind, "fallback", f"not obeyed: {problem}", otherwise)


def _no_contact(model: OpenAIChatModel, models: list[str] | None, error: str) -> list[ProbeFinding]:
    if models is None:
        return [ProbeFinding("reachable", "fails", error, _start_advice(model, error))]
    reached = ProbeFinding("reachable", "works", f"it lists {len(models)} models")
    if models and model.name not in models:
        mend = f"set model.name; it has {some_names(models)}"
        fix = {"model.name": models[0]} if len(models) == 1 else {}
        return [reached, ProbeFinding("model", "fails", error, mend, settings=fix)]
    return [reached, ProbeFinding("chat", "fails", error, "see the endpoint's message")]


def _start_advice(model: OpenAIChatModel, error: str) -> str:
    """Advice on what to start, or to wait for, if a server does not answer."""
    if _BUSY in error:
        return "the server is running, and busy or loading its model: run doctor again later"
    parts = urlsplit(model.connection.shown_url)
    if not _UNREACHED.search(error):
        return ""
    if parts.hostname in _HERE:
        return (
            f"nothing listens on port {parts.port} of this machine; start the server, or set model.base_url"
        )
    return f"{parts.hostname} does not answer; check model.base_url, the network, and whether the server runs"
