"""The tools over streamable HTTP, inside the HTTP server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from graphrag_dagster.service.backend import Backend
from graphrag_dagster.service.guarding.errors import Refusal, error_response
from graphrag_dagster.service.tools.mcp_server import make_server

PATH = "/mcp"


class McpOverHttp:
    """Serves the tools at ``/mcp`` while it is running.

    Args:
        backend: what the tools use.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._app: ASGIApp | None = None
        self.route = Route(PATH, endpoint=self, include_in_schema=False)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while inside."""
        server = make_server(self._backend)
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            max_request_body_size=self._backend.settings.max_body_bytes,
            # The guard of the application has checked Host and Origin.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        async with server.session_manager.run():
            self._app = app
            try:
                yield
            finally:
                self._app = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._app is None:
            refusal = Refusal(503, "not_running", "the server is starting or ending; try again in a moment")
            await error_response(PATH, refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)
