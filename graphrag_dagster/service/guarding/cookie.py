"""The cookie by which a browser shows that it was given the server's token, which is not the token itself."""

import hashlib
import hmac
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.responses import Response

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


def shows_token(headers: Headers, token: bytes) -> bool:
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
