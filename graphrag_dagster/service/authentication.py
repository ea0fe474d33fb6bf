"""Authentication of a request by its headers, and the login of a browser."""

import hashlib
import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from graphrag_dagster.service.error_responses import Refusal, error_response
from graphrag_dagster.service.settings import LOCAL_NAMES, TOKEN, ServiceSettings

_DAYS = 30
_PURPOSE = b"graphrag_dagster explorer"


def cookie_name(host: str) -> str:
    """Return the name of the cookie of the server at ``host``, a Host header.

    Browsers send cookies to every port of a host, so that servers beside each other need names of their own.
    """
    port = host.rpartition(":")[2]
    return f"graphrag_dagster_{port}" if port.isdecimal() else "graphrag_dagster"


def cookie_value(token: bytes) -> str:
    """Return what only who knows the token can make, and from which the token cannot be told."""
    return hmac.new(token, _PURPOSE, hashlib.sha256).hexdigest()


def is_valid_cookie(headers: Headers, token: bytes) -> bool:
    """Say whether a request has the cookie of this token."""
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return False
    found = cookies.get(cookie_name(headers.get("host", "")))
    return found is not None and hmac.compare_digest(found.value.encode(), cookie_value(token).encode())


def set_cookie(response: Response, headers: Headers, token: bytes) -> None:
    """Give a browser the cookie: scripts cannot read it, and pages of other sites do not send it."""
    response.set_cookie(
        cookie_name(headers.get("host", "")),
        cookie_value(token),
        max_age=_DAYS * 86_400,
        secure=headers.get("origin", "").startswith("https:"),
        httponly=True,
        samesite="strict",
    )


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
                return Refusal(403, "wrong_origin", "requests from pages of other sites are not allowed")
        if self._token is None or path in OPEN_PATHS or path.startswith(OPEN_BELOW):
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), self._token):
            return None
        if is_valid_cookie(headers, self._token):
            return None if method in _HARMLESS else _refuse_other_sites(headers)
        return Refusal(
            401,
            "unauthorized",
            f"send the server's token (the value of {TOKEN}) as 'Authorization: Bearer …'",
            {"WWW-Authenticate": "Bearer"},
        )


def _refuse_other_sites(headers: Headers) -> Refusal | None:
    """Refuse what a page of another site has a browser send along with our cookie."""
    origin = headers.get("origin", "").partition("://")[2]
    if origin and origin == headers.get("host"):
        return None
    return Refusal(403, "wrong_origin", "requests from pages of other sites are not allowed")


class LoginBody(BaseModel):
    """The token of the server."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    token: str = Field(repr=False)


def login_router(settings: ServiceSettings) -> APIRouter:
    """Return the routes by which a browser gets its cookie, and gives it back."""
    router = APIRouter(include_in_schema=False)
    token = settings.token.encode() if settings.token is not None else None

    @router.post("/login")
    async def login(body: LoginBody, request: Request) -> Response:
        """Give who knows the token a cookie in its place."""
        if token is not None and not secrets.compare_digest(body.token.strip().encode(), token):
            raise Refusal(401, "unauthorized", f"wrong token; use the server's token (the value of {TOKEN})")
        response = Response(status_code=204)
        if token is not None:
            set_cookie(response, request.headers, token)
        return response

    @router.post("/logout")
    async def logout(request: Request) -> Response:
        """Take the cookie back."""
        response = Response(status_code=204)
        response.delete_cookie(cookie_name(request.headers.get("host", "")), httponly=True, samesite="strict")
        return response

    return router
