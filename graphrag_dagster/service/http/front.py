"""The page at ``/``, for a person who opens the server in a browser."""

from html import escape

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response

from graphrag_dagster import __version__
from graphrag_dagster.service.backend import Backend

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_ROUTES = (
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
        """Say what is served, as a page or as text."""
        # The page needs no token, so with one it tells nothing that the token guards.
        names = await backend.names() if backend.settings.token is None else None
        url = str(request.base_url).rstrip("/")
        if "text/html" in request.headers.get("accept", ""):
            return HTMLResponse(_page(names, url), headers=_HEADERS)
        return PlainTextResponse(_text(names, url), headers=_HEADERS)

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


def _page(names: list[str] | None, url: str) -> str:
    routes = "".join(
        f'<li><a href="{path}"><code>{path}</code></a> {escape(what)}</li>' for path, what in _ROUTES
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>graphrag_dagster</title>'
        '<meta name="viewport" content="width=device-width"></head><body>'
        f"<h1>graphrag_dagster</h1><p>Version {escape(__version__)}. Corpora: {escape(_corpora(names))}</p>"
        f"<ul>{routes}</ul><p>To ask:</p><pre>{escape(_example(names, url))}</pre></body></html>"
    )
