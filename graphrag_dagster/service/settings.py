"""Server settings: address, token and limits."""

import ipaddress
import os
from dataclasses import dataclass, field

from graphrag_dagster.errors import SettingsError

TOKEN = "GRAPHRAG_DAGSTER_TOKEN"  # noqa: S105 - the name of the variable, not a token.
_SHORTEST_TOKEN = 16
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def token_from_environment() -> str | None:
    """Return ``$GRAPHRAG_DAGSTER_TOKEN``, None where it is not set or empty."""
    return os.environ.get(TOKEN) or None


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach a server that is bound to ``host``."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Address, token and limits of the servers.

    Attributes:
        host: address to bind.
        port: port to bind; 0 takes any that is free.
        token: what callers give as ``Authorization: Bearer …``; None lets everybody on this machine in.
        allowed_hosts: further names under which the server may be called while bound to loopback.
        max_open: opened corpora that are kept.
        max_asks: questions that are answered at the same time.
        queue_seconds: how long a further question waits for its turn.
        answer_seconds: longest time for an answer.
        head_start_seconds: how long a stream waits before it begins, so that an early failure still gets its
            own status.
        ping_seconds: a stream in which nothing happens gets a sign of life as often.
        max_question: longest question in characters.
        max_body_bytes: largest body of a request.
        request_seconds: how long the head of a request may take to arrive, and how long its body.
        max_connections: connections at the same time; further ones are answered with 503.

    Raises:
        SettingsError: the token is too short, the host is not loopback and there is no token, or a number is
            out of range.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = field(default=None, repr=False)
    allowed_hosts: frozenset[str] = frozenset()
    max_open: int = 4
    max_asks: int = 16
    queue_seconds: float = 10.0
    answer_seconds: float = 300.0
    head_start_seconds: float = 2.0
    ping_seconds: float = 15.0
    max_question: int = 4_000
    max_body_bytes: int = 1_000_000
    request_seconds: float = 30.0
    max_connections: int = 500

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < _SHORTEST_TOKEN:
            raise SettingsError(f"{TOKEN} is too short: use at least {_SHORTEST_TOKEN} characters")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise SettingsError(f"{TOKEN} cannot be sent in a header: use printable ASCII characters")
        if not self.local and self.token is None:
            raise SettingsError(
                f"the host {self.host!r} can be reached from other machines: set {TOKEN} to at least "
                f"{_SHORTEST_TOKEN} characters, or use 127.0.0.1"
            )
        for name in ("max_open", "max_asks", "max_question", "max_body_bytes", "max_connections"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; use 1 or more")
        if not 0 <= self.port <= 65_535:
            raise SettingsError(f"port is {self.port}; use 0 to 65535")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)
