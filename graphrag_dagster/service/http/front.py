"""What is told at ``/``: the explorer to a browser, and what is served to who asks for text."""

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from graphrag_dagster import __version__
from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.explorer.page import page_response

_ROUTES = (
    ("/", "the explorer, in a browser"),
    ("/corpora", "the corpora that can be asked"),
    ("/openapi.json", "every route, for programs"),
    ("/health", "whether the server answers"),
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
        return "The corpora are told to those who send the token of this server."
    return ", ".join(names) if names else "There are none yet: graphrag-dagster index PATH makes one."


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
