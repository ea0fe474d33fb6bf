"""Error responses for requests that are refused or fail."""

import logging
import re
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphrag_dagster.errors import (
    CorpusError,
    DamagedError,
    EndpointError,
    EngineError,
    GraphragError,
    MissingError,
    OutOfCredit,
    QuestionError,
)
from graphrag_dagster.kernel.common.printable import printable
from graphrag_dagster.kernel.models.cache.cache_schema import CacheFileError
from graphrag_dagster.kernel.storage.home import corpora_root, home, published_url, warehouse_template

LOG = logging.getLogger("graphrag_dagster.service")
OPENAI_PREFIX = "/v1/"
_LOGGED_FRAMES = 6
_LONGEST_TOLD = 2000
# All but the last part of an absolute path; the slashes of a URL follow its scheme or host.
_PATH = re.compile(r"(?<![\w.:/…-])/(?:[^/\s'\"]+/)+")
_INTERNAL = "internal error; see the server log"
_OPENAI_TYPES = {
    401: "authentication_error",
    402: "insufficient_quota",
    429: "rate_limit_error",
    500: "server_error",
}


class ErrorDetail(BaseModel):
    """Why a request was refused or failed."""

    type: str = Field(description="what happened, for programs")
    message: str = Field(description="what happened and how to fix it, for people")


class ErrorBody(BaseModel):
    """The body of every answer that is no success."""

    error: ErrorDetail


class OpenAIErrorDetail(ErrorDetail):
    """Why a request was refused or failed, in the shape of OpenAI's API."""

    param: str | None = None
    code: str | None = Field(None, description="the same as `type` of the other routes")


class OpenAIErrorBody(BaseModel):
    """The body of every answer below ``/v1`` that is no success."""

    error: OpenAIErrorDetail


class Refusal(Exception):
    """A request that gets no answer."""

    def __init__(
        self,
        status: int,
        kind: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.headers = dict(headers or {})
        self.param = param


class ClientDisconnected(Exception):
    """Nobody waits for the answer any more."""


def refusal_of(error: Exception) -> Refusal:
    """Return what a caller is told of an error; one that nobody foresaw is logged and not shown."""
    if isinstance(error, Refusal):
        return error
    told = without_paths(str(error))
    if isinstance(error, MissingError):
        return Refusal(404, f"{error.kind}_not_found", told)
    if isinstance(error, QuestionError):
        return Refusal(400, "bad_question", told)
    if isinstance(error, CorpusError):
        return Refusal(404, "corpus_not_found", told)
    if isinstance(error, OutOfCredit):
        # No client tries that again by itself, as it would a 429 or a 502.
        return Refusal(402, "insufficient_quota", told)
    if isinstance(error, EngineError | EndpointError):
        return Refusal(502, "model_failed", told)
    if isinstance(error, DamagedError | CacheFileError):
        LOG.error("%s", printable(str(error)))
        return Refusal(500, "damaged", told)
    if isinstance(error, GraphragError):
        LOG.warning("%s", printable(str(error)))
        return Refusal(409, "corpus_not_ready", told)
    log_failure(error)
    return Refusal(500, "internal_error", _INTERNAL)


def without_paths(text: str) -> str:
    """Return a text with no more of the server's paths than the last part of each."""
    for place in (home(), Path(corpora_root()).absolute(), Path(warehouse_template()).absolute().parent):
        # Of a path with blanks the pattern would leave the beginning.
        text = text.replace(f"{place}/", "…/").replace(str(place), "…")
    if shared := published_url():
        text = text.replace(shared.rstrip("/"), "…")
    return _PATH.sub("…/", text)


def log_failure(error: BaseException) -> None:
    """Log the kind of an error and the lines of code it passed, not its text, which may quote a question."""
    passed = traceback.extract_tb(error.__traceback__)[-_LOGGED_FRAMES:]
    places = "; ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in passed)
    LOG.error("%s at %s", type(error).__name__, places or "an unknown place")


def error_body(path: str, refusal: Refusal) -> dict[str, Any]:
    """Return the body that tells of a refusal, in the shape of the routes that ``path`` belongs to."""
    message = printable(refusal.message)
    message = message if len(message) <= _LONGEST_TOLD else message[: _LONGEST_TOLD - 1] + "…"
    if not path.startswith(OPENAI_PREFIX):
        return ErrorBody(error=ErrorDetail(type=refusal.kind, message=message)).model_dump()
    kind = _OPENAI_TYPES.get(refusal.status) or (
        "server_error" if refusal.status >= 500 else "invalid_request_error"
    )
    detail = OpenAIErrorDetail(type=kind, message=message, param=refusal.param, code=refusal.kind)
    return OpenAIErrorBody(error=detail).model_dump()


def error_response(path: str, refusal: Refusal) -> JSONResponse:
    """Return the response that tells of a refusal."""
    return JSONResponse(error_body(path, refusal), refusal.status, refusal.headers)


def documented_errors(*statuses: int, openai: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of the refusals of a route, with those that any route may give."""
    meanings = {
        400: "The question, method or level is invalid.",
        401: "The bearer token is missing or wrong.",
        402: "The account at the model provider has no credit left.",
        403: "The request comes from a web page of another site.",
        404: "There is no such corpus, or nothing with this id in it.",
        408: "The body did not arrive in time.",
        409: "The corpus has not been indexed, or cannot be used in its current state.",
        413: "The body is too large.",
        421: "The server does not accept requests for this host name.",
        422: "The request does not match the documented schema.",
        429: "Too many questions at the same time; `Retry-After` says when to try again.",
        500: "The server failed.",
        502: "The model failed.",
        504: "The answer took too long.",
    }
    model = OpenAIErrorBody if openai else ErrorBody
    return {
        status: {"model": model, "description": meanings[status]}
        for status in sorted({*statuses, 401, 403, 408, 413, 421, 422, 500})
    }


def add_handlers(app: FastAPI) -> None:
    """Give every error that a route raises its one shape."""

    async def refuse(request: Request, error: Exception) -> Response:
        return error_response(request.url.path, refusal_of(error))

    async def malformed(request: Request, error: Exception) -> Response:
        found = error.errors() if isinstance(error, RequestValidationError) else []
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)
        return error_response(request.url.path, Refusal(422, "malformed_request", told))

    async def unrouted(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            return error_response(request.url.path, refusal_of(error))
        kind = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "refused")
        told = _no_route(request.url.path) if error.status_code == 404 else str(error.detail)
        headers = dict(error.headers or {})
        if headers.get("Allow") == "GET":
            headers["Allow"] = "GET, HEAD"
        refusal = Refusal(error.status_code, kind, told, headers)
        return error_response(request.url.path, refusal)

    async def gone(request: Request, error: Exception) -> Response:  # noqa: ARG001 - the handler's signature.
        return Response(status_code=499)

    app.add_exception_handler(Refusal, refuse)
    app.add_exception_handler(GraphragError, refuse)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, unrouted)
    app.add_exception_handler(ClientDisconnected, gone)


#: Where OpenAI clients call without the prefix.
_OF_OPENAI = frozenset({"/chat/completions", "/completions", "/embeddings", "/models", "/responses"})


def _no_route(path: str) -> str:
    if path in _OF_OPENAI:
        return f"there is no route {path}; set the client's base URL to this server's address and /v1"
    if path.startswith(OPENAI_PREFIX):
        return (
            f"there is no route {path}; there are POST /v1/chat/completions, POST /v1/embeddings and "
            "GET /v1/models"
        )
    return "there is no such route; /openapi.json has them all"


class UnhandledErrors:
    """Turns an error that nobody foresaw into one answer and one line of the log without its text."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        begun = False

        async def note(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, note)
        # Whatever it is, nobody outside is shown more of it than that it happened.
        except Exception as error:
            if scope["type"] != "http":
                raise
            refusal = refusal_of(error)
            if not begun:
                await error_response(scope["path"], refusal)(scope, receive, send)
