"""Connections that are slow on purpose: who does not begin a request in time is hung up on."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


class Impatient(H11Protocol):
    """A connection on which the head of a request must arrive within ``seconds``.

    It counts from the opening of the connection, and from the first byte of any later request; the body has
    a limit of its own (:class:`graphrag_dagster.service.guarding.limits.BodyLimit`).
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


def impatient(seconds: float) -> type[Impatient]:
    """Return the protocol with its time."""
    return type("Impatient", (Impatient,), {"seconds": seconds})
