"""The HTTP server's process."""

import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from graphrag_dagster.core.errors import SettingsError
from graphrag_dagster.service.app import make_app
from graphrag_dagster.service.library import Library
from graphrag_dagster.service.patience import impatient
from graphrag_dagster.service.settings import ServiceSettings

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
        http=impatient(settings.request_seconds),
        ws="none",
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )
    return Server(config, lambda: announce(url))


def run(
    settings: ServiceSettings,
    announce: Callable[[str], None] = lambda _: None,
    library: Library | None = None,
) -> None:
    """Serve until interrupted.

    Args:
        settings: address, token and limits.
        announce: told the URL once requests are accepted.
        library: where indexes are opened; default: the corpora of this machine.

    Raises:
        SettingsError: the address cannot be used.
    """
    # After its orderly end the server raises again the signal that ended it.
    with bind(settings) as bound, suppress(KeyboardInterrupt):
        make_server(settings, bound, announce, library).run(sockets=[bound])
