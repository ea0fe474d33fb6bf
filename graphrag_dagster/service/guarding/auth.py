"""Authentication by the Host, Origin, Authorization and Cookie headers of a request."""

import secrets
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from graphrag_dagster.service.guarding.cookie import shows_token
from graphrag_dagster.service.guarding.errors import Refusal, error_response
from graphrag_dagster.service.guarding.settings import LOCAL_NAMES, TOKEN, ServiceSettings

#: Routes that need no token: they hold nothing of any corpus.
OPEN_PATHS = frozenset({"/", "/health", "/login"})
#: Below it lie the files of the page, which need none either.
OPEN_BELOW = "/page/"
_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})


def host_of(header: str) -> str:
    """Return the name in a Host header, without port and brackets, in small letters; empty if malformed."""
    try:
        parts = urlsplit(f"//{header}")
        port_is_number = parts.port is None or parts.port >= 0
    except ValueError:
        return ""
    bare = parts.netloc == header and "@" not in header and port_is_number
    return (parts.hostname or "") if bare else ""


class Guard:
    """Lets a request in only if its headers allow it.

    A server that is bound to loopback answers only under the names of this machine, so that a page whose
    name was made to resolve to 127.0.0.1 (DNS rebinding) reaches nothing, and only pages of this machine.

    Args:
        app: what is guarded.
        settings: address, names and token.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings) -> None:
        self._app = app
        self._token = settings.token.encode() if settings.token is not None else None
        self._names = (
            LOCAL_NAMES | {settings.host.lower().strip("[]")} | {h.lower() for h in settings.allowed_hosts}
            if settings.local
            else None
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http":
            refusal = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
            if refusal is not None:
                await error_response(scope["path"], refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, path: str, headers: Headers) -> Refusal | None:
        if self._names is not None:
            hosts = headers.getlist("host")
            if len(hosts) != 1 or host_of(hosts[0]) not in self._names:
                return Refusal(421, "wrong_host", "call this server as localhost or 127.0.0.1")
            origin = headers.get("origin")
            if origin is not None and host_of(origin.partition("://")[2]) not in self._names:
                return Refusal(403, "wrong_origin", "pages of other sites may not call this server")
        if self._token is None or path in OPEN_PATHS or path.startswith(OPEN_BELOW):
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), self._token):
            return None
        if shows_token(headers, self._token):
            return None if method in _HARMLESS else _unless_own_page(headers)
        return Refusal(
            401,
            "unauthorized",
            f"send the token of the server (its variable {TOKEN}) as 'Authorization: Bearer …'",
            {"WWW-Authenticate": "Bearer"},
        )


def _unless_own_page(headers: Headers) -> Refusal | None:
    """Refuse what a page of another site has a browser send along with our cookie."""
    origin = headers.get("origin", "").partition("://")[2]
    if origin and origin == headers.get("host"):
        return None
    return Refusal(403, "wrong_origin", "pages of other sites may not call this server")
