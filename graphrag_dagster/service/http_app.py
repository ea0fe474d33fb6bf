"""The HTTP server's application, and the headers that it sends to browsers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.security import HTTPBearer
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphrag_dagster import __version__
from graphrag_dagster.service.authentication import Guard, login_router
from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.corpora_routes import corpora_router
from graphrag_dagster.service.error_responses import UnhandledErrors, add_handlers, documented_errors
from graphrag_dagster.service.explorer.explorer_routes import explorer_router
from graphrag_dagster.service.explorer.page_bundle import page_response, page_router
from graphrag_dagster.service.mcp_server import McpOverHttp
from graphrag_dagster.service.open_indexes import Library
from graphrag_dagster.service.openai.chat_completions import chat_router
from graphrag_dagster.service.openai.embedding_routes import embeddings_router
from graphrag_dagster.service.request_limits import BodyLimit
from graphrag_dagster.service.request_models import Health
from graphrag_dagster.service.settings import ServiceSettings

#: Of every response, errors included, that does not say otherwise itself, as the explorer's page does.
BROWSER_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}


class BrowserHeaders:
    """Adds :data:`BROWSER_HEADERS` to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in BROWSER_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


class HeadAsGet:
    """Answers HEAD on every route as GET, without the body; a stream that is asked for so ends at once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b""})

        await self._app({**scope, "method": "GET"}, receive, without_body)


#: Bytes of an answer that is worth to be compressed, and how hard that is tried.
_COMPRESSED_FROM, _COMPRESSION = 1_000, 5


def make_app(settings: ServiceSettings, library: Library | None = None) -> FastAPI:
    """Return the application."""
    backend = Backend(settings, library)
    mcp = McpOverHttp(backend)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        readying = asyncio.create_task(backend.make_ready())
        try:
            async with mcp.running():
                yield
        finally:
            readying.cancel()
            backend.close()

    app = FastAPI(
        title="graphrag_dagster",
        version=__version__,
        description="Ask questions about corpora, and look up the evidence behind the answers.",
        lifespan=lifespan,
        # The pages they would show load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
    )
    app.state.backend = backend

    @app.get("/health", tags=["health"], responses=documented_errors())
    async def health() -> Health:
        """Say that the server answers."""
        return Health()

    # The guard has checked the token before; this tells of it in the OpenAPI document.
    guarded: dict[str, Any] = (
        {"dependencies": [Depends(HTTPBearer(auto_error=False))]} if settings.token is not None else {}
    )
    app.include_router(front_router(backend))
    app.include_router(page_router())
    app.include_router(login_router(settings))
    app.include_router(corpora_router(backend), **guarded)
    app.include_router(explorer_router(backend), **guarded)
    app.include_router(chat_router(backend), **guarded)
    app.include_router(embeddings_router(backend), **guarded)
    app.router.routes.append(mcp.route)
    add_handlers(app)
    # The last one added is the first to see a request. What is sent event by event is left as it is.
    app.add_middleware(GZipMiddleware, minimum_size=_COMPRESSED_FROM, compresslevel=_COMPRESSION)
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit, max_bytes=settings.max_body_bytes, seconds=settings.request_seconds)
    app.add_middleware(Guard, settings=settings)
    app.add_middleware(UnhandledErrors)
    app.add_middleware(BrowserHeaders)
    return app


_ROUTES = (
    ("/", "the explorer, in a browser"),
    ("/corpora", "the corpora that can be asked"),
    ("/openapi.json", "the OpenAPI description of all routes"),
    ("/health", "health check"),
    ("/v1/models", "the corpora as models, for OpenAI clients (base URL: this address and /v1)"),
    ("/mcp", "the tools of the Model Context Protocol"),
)


def front_router(backend: Backend) -> APIRouter:
    """Return the route of the page."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def front(request: Request) -> Response:
        """Show the explorer, or say as text what is served."""
        if "text/html" in request.headers.get("accept", ""):
            return page_response()
        # This needs no token, so with one it tells nothing that the token guards.
        names = await backend.names() if backend.settings.token is None else None
        return PlainTextResponse(_text(names, str(request.base_url).rstrip("/")))

    return router


def _corpora(names: list[str] | None) -> str:
    if names is None:
        return "Listing the corpora needs the server's token."
    return ", ".join(names) if names else "None yet; create one with: graphrag-dagster index PATH"


def _example(names: list[str] | None, url: str) -> str:
    name = names[0].replace(" ", "%20") if names else "NAME"
    token = "" if names is not None else " -H 'Authorization: Bearer TOKEN'"
    body = "-H 'Content-Type: application/json' -d '{\"question\": \"What are the main themes?\"}'"
    return f"curl {url}/corpora/{name}/ask{token} {body}"


def _text(names: list[str] | None, url: str) -> str:
    routes = "\n".join(f"  {url}{path}  {what}" for path, what in _ROUTES)
    return (
        f"graphrag_dagster {__version__}\n\nCorpora: {_corpora(names)}\n\n{routes}\n\n"
        f"To ask:\n  {_example(names, url)}\n"
    )
