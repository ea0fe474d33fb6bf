"""The OpenAI-compatible routes below ``/v1``: each corpus is a model."""

import time
import uuid
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from fastapi.sse import format_sse_event

from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.kernel.catalogue.search_methods import AUTO
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.document_filters import ALL
from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.error_responses import OPENAI_PREFIX, Refusal, documented_errors, error_body
from graphrag_dagster.service.openai.chat_messages import (
    ChatCompletion,
    ChatUsage,
    Choice,
    MarkFilter,
    Model,
    ModelList,
    ModelType,
    ReplyMessage,
    headed,
    listed_sources,
    question_of,
)
from graphrag_dagster.service.openai.chat_parameters import ChatBody, ReplyLimit
from graphrag_dagster.service.openai.chat_tasks import task_reply
from graphrag_dagster.service.openai.embedding_routes import DOCUMENTS, QUERIES
from graphrag_dagster.service.question_stream import (
    Heard,
    cancel_on_disconnect,
    event,
    stream,
    stream_responses,
    streaming,
)

_LISTED_METHODS = [one.name for one in methods().values() if one.suits_a_chat and one.name != AUTO]
_NOTHING_USED = ChatUsage(prompt_tokens=0, completion_tokens=0, total_tokens=0)
_DONE = format_sse_event(data_str="[DONE]")
_STREAMED = stream_responses("The answer; with `stream`, its chunks as events.")


def usage_of(answer: Answer) -> ChatUsage:
    """Return the tokens of an answer."""
    used = answer.usage
    return ChatUsage(
        prompt_tokens=used.input_tokens,
        completion_tokens=used.output_tokens,
        total_tokens=used.input_tokens + used.output_tokens,
    )


class Chunks:
    """Renders what is heard of one answer as chunks of a chat completion."""

    def __init__(self, model: str, limit: ReplyLimit, *, with_usage: bool) -> None:
        self._head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self._with_usage = with_usage
        self._limit = limit
        self._marks = MarkFilter()
        self._begun = self._spoken = False

    def render(self, heard: Heard | Refusal) -> list[bytes]:
        """Return the events of a piece of text, of the answer or of an error."""
        if isinstance(heard, Refusal):
            return [event(error_body(OPENAI_PREFIX, heard))]
        if isinstance(heard, Answer):
            return self._ending(heard)
        return self._text(self._marks.feed(heard)) if heard else []

    def whole(self, text: str) -> list[bytes]:
        """Return the events of a text that no corpus was asked for."""
        return [*self._text(text), *self._end(_NOTHING_USED)]

    def _ending(self, answer: Answer) -> list[bytes]:
        text = self._marks.rest() if self._spoken else headed(answer)
        return [*self._text(text + listed_sources(answer)), *self._end(usage_of(answer))]

    def _end(self, used: ChatUsage) -> list[bytes]:
        events = [*self._sent(self._limit.rest()), self._chunk({}, finish_reason=self._limit.finish)]
        if self._with_usage:
            events.append(event({**self._head, "choices": [], "usage": used.model_dump()}))
        return [*events, _DONE]

    def _text(self, text: str) -> list[bytes]:
        self._spoken = self._spoken or bool(text)
        return self._sent(self._limit.feed(text))

    def _sent(self, text: str) -> list[bytes]:
        if not text:
            return []
        delta = {"content": text} if self._begun else {"role": "assistant", "content": text}
        self._begun = True
        return [self._chunk(delta)]

    def _chunk(self, delta: dict[str, str], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return event({**self._head, "choices": [choice]})


def completion(model: str, text: str, limit: ReplyLimit, used: ChatUsage) -> ChatCompletion:
    """Return a text as a chat completion, cut where the request says."""
    message = ReplyMessage(content=limit.feed(text) + limit.rest())
    return ChatCompletion(
        id=f"chatcmpl-{uuid.uuid4().hex}",
        created=int(time.time()),
        model=model,
        choices=[Choice(message=message, finish_reason=limit.finish)],
        usage=used,
    )


def chat_router(backend: Backend) -> APIRouter:
    """Return the routes that an OpenAI client uses."""
    router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])

    @router.get("/models", responses=documented_errors(openai=True))
    async def list_models(type: ModelType = "chat") -> ModelList:  # noqa: A002 - its name in the address.
        """List the corpora as models, by themselves and with the methods that suit a chat; or what embeds.

        What embeds is listed only where it is asked for: front ends offer all that is listed for a chat.
        """
        if type == "embedding":
            return ModelList(data=[Model(id=one, type=type) for one in await _embedding(backend)])
        known = await backend.methods()
        return ModelList(
            data=[
                Model(id=one)
                for name, made in known.items()
                for one in (name, *(f"{name}:{method}" for method in _LISTED_METHODS if method in made))
            ]
        )

    @router.get("/models/{model}", responses=documented_errors(404, openai=True))
    async def read_model(model: str) -> Model:
        """Say whether a corpus can be asked."""
        if model.partition(":")[0] in await backend.names():
            embeds = model.partition(":")[2] in (DOCUMENTS, QUERIES)
            return Model(id=model, type="embedding" if embeds else "chat")
        if model in await backend.embedders():
            return Model(id=model, type="embedding")
        raise Refusal(404, "model_not_found", f"there is no corpus for the model {model!r}")

    @router.post(
        "/chat/completions",
        response_model=ChatCompletion,
        responses={200: _STREAMED, **documented_errors(400, 402, 404, 409, 429, 502, 504, openai=True)},
    )
    async def chat(body: ChatBody, request: Request) -> Response:
        """Answer the last message of the user, with a list of sources.

        A task of a chat page, such as a title or tags, is answered from the conversation.
        """
        corpus, _, method = body.model.partition(":")
        options = body.stream_options
        body.check()
        chunks = Chunks(body.model, body.limit, with_usage=bool(options and options.include_usage))
        if (made := task_reply(body.messages, body.response_format)) is not None:
            await _known(backend, corpus)
            return _at_once(body, chunks, made)
        body.check_format()
        question = question_of(body.messages, method or None, body.filters or ALL)
        asking = await cancel_on_disconnect(request, backend.ask(corpus, question))
        if not body.stream:
            answer = await cancel_on_disconnect(request, asking.answer())
            text = headed(answer) + listed_sources(answer)
            return JSONResponse(completion(body.model, text, body.limit, usage_of(answer)).model_dump())
        settings = backend.settings
        first = await cancel_on_disconnect(request, asking.hear(settings.head_start_seconds))
        return streaming(stream(asking, first, chunks.render, settings.ping_seconds))

    return router


async def _known(backend: Backend, corpus: str) -> None:
    if corpus not in await backend.names():
        raise Refusal(404, "model_not_found", f"there is no corpus for the model {corpus!r}")


def _at_once(body: ChatBody, chunks: Chunks, made: str) -> Response:
    async def events() -> AsyncIterator[bytes]:
        for one in chunks.whole(made):
            yield one

    if body.stream:
        return streaming(events())
    return JSONResponse(completion(body.model, made, body.limit, _NOTHING_USED).model_dump())


async def _embedding(backend: Backend) -> list[str]:
    corpora = await backend.names()
    # Where a corpus has the name of an embedder, the name means the corpus.
    others = [name for name in await backend.embedders() if name not in corpora]
    return [*(f"{name}:{side}" for name in corpora for side in (DOCUMENTS, QUERIES)), *others]
