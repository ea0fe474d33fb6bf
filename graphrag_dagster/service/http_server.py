"""The HTTP server's process, which drops connections that are slow to begin a request."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import HANDLED_SIGNALS

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.open_indexes import Library
from graphrag_dagster.service.settings import ServiceSettings


class RequestTimeoutProtocol(H11Protocol):
    """A connection on which the head of a request must arrive within ``seconds``.

    It counts from the opening of the connection, and from the first byte of any later request; the body has
    a limit of its own (:class:`graphrag_dagster.service.request_limits.BodyLimit`).
    """

    seconds = 30.0
    _hanging_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        super().data_received(data)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._hanging_up is None:
            self._hanging_up = self.loop.call_later(self.seconds, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None

    def _hang_up(self) -> None:
        self._hanging_up = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()


def request_timeout_protocol(seconds: float) -> type[RequestTimeoutProtocol]:
    """Return the protocol with its time."""
    return type("RequestTimeoutProtocol", (RequestTimeoutProtocol,), {"seconds": seconds})


_SECONDS_TO_END = 5


class Server(uvicorn.Server):
    """Says when it can be called.

    Args:
        config: of uvicorn.
        ready: called once, when requests are accepted.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self.stopped_by: int | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note a signal, and begin to end."""
        self.stopped_by = self.stopped_by or sig
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Have signals end the server in order; who called it goes on then, instead of hearing them again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept requests."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def bind(settings: ServiceSettings) -> socket.socket:
    """Return a socket bound to the address of the settings.

    Raises:
        SettingsError: the address cannot be used.
    """
    host = settings.host.strip("[]")
    try:
        family = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}; "
            "use another port or host"
        ) from error


def make_server(
    settings: ServiceSettings,
    bound: socket.socket,
    announce: Callable[[str], None],
    library: Library | None = None,
) -> Server:
    """Return the server that :func:`run` runs, for a socket that is bound."""
    host = settings.host.strip("[]")
    url = f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
    config = uvicorn.Config(
        make_app(settings, library),
        log_level="warning",
        # Its lines hold the words that were searched for.
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=request_timeout_protocol(settings.request_seconds),
        ws="none",
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )
    return Server(config, lambda: announce(url))


def run(
    settings: ServiceSettings,
    announce: Callable[[str], None] = lambda _: None,
    library: Library | None = None,
) -> int | None:
    """Serve until interrupted.

    Args:
        settings: address, token and limits.
        announce: told the URL once requests are accepted.
        library: where indexes are opened; default: the corpora of this machine.

    Returns:
        the number of the signal that ended it.

    Raises:
        SettingsError: the address cannot be used.
    """
    with bind(settings) as bound:
        server = make_server(settings, bound, announce, library)
        server.run(sockets=[bound])
    return server.stopped_by
