"""moto's S3 server on this machine, which can be stopped, and interrupted before a request."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any
from urllib.parse import unquote

import pytest

#: The secret must not be in any message.
SECRET_KEY = "wJalrXUtnFEMI-never-shown"
BUCKET = "shared"


@dataclass
class S3Server:
    """Keeps its objects when it is stopped and started again.

    Attributes:
        before: called with method and path of every request; False answers that the server has failed.
        requests: methods and paths, as they came.
    """

    before: Callable[[str, str], bool] = lambda _method, _path: True
    requests: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0
    _server: Any = None

    def start(self) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Silent(WSGIRequestHandler):
            def log(self, *_args: object) -> None:
                """Nothing."""

        moto = DomainDispatcherApplication(create_backend_app)

        def app(environ: dict[str, Any], start_response: Any) -> Any:
            method, path = environ["REQUEST_METHOD"], unquote(environ["PATH_INFO"])
            self.requests.append((method, path))
            if not self.before(method, path):
                start_response("503 Service Unavailable", [("Content-Length", "0")])
                return [b""]
            return moto(environ, start_response)

        self._server = make_server("127.0.0.1", self.port, app, threaded=True, request_handler=Silent)
        self.port = self._server.port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def call(self, method: str, path: str, data: bytes | None = None) -> None:
        """Send a request without credentials."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, f"/{path}", data, {"Content-Type": "text/plain"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        connection.close()


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """A server with a bucket, which the environment names, with keys."""
    server = S3Server()
    server.start()
    server.call("PUT", BUCKET)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "AKIDTESTS")
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        patch.setenv("AWS_REGION", "us-east-1")
        try:
            yield server
        finally:
            server.stop()
