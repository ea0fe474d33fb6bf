"""A model endpoint for tests: a real HTTP server on this machine that answers by a script.

``ScriptedEndpoint(script)`` serves ``/v1/chat/completions``, ``/v1/embeddings`` and ``/v1/models`` on a free
port. A script takes the JSON of a chat request and returns the reply. Faults are given as a function of the
number and the JSON of the request, or as a list that is used up in order.
"""

import hashlib
import json
import math
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.scripted_replies import Scripted, name_pattern_script

__all__ = ["Fault", "Scripted", "ScriptedEndpoint", "name_pattern_script"]

Body = dict[str, Any]
Script = Callable[[Body], "Scripted | str"]


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request.

    ``drop`` closes the connection without an answer, ``malformed`` sends a body that is no JSON, ``truncated``
    ends the connection in the middle of the body.
    """

    status: int | None = None
    message: str = "scripted failure"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    malformed: bool = False
    truncated: bool = False


Faults = Callable[[int, Body], Fault | None] | Iterable[Fault | None]


@dataclass
class Logged:
    """One request as it came."""

    path: str
    body: Body
    headers: dict[str, str]

    @property
    def messages(self) -> list[dict[str, str]]:
        return self.body.get("messages", [])

    @property
    def last(self) -> str:
        """The last message."""
        return self.messages[-1]["content"]


class ScriptedEndpoint:
    """The server; a context manager that gives itself.

    Args:
        script: answers chat requests.
        faults: what goes wrong.
        seconds: how long every answer takes.
        dimension: numbers of an embedding.
    """

    def __init__(
        self,
        script: Script = name_pattern_script,
        *,
        faults: Faults = (),
        seconds: float = 0.0,
        dimension: int = 16,
    ) -> None:
        self.script = script
        self.seconds = seconds
        self.dimension = dimension
        self.requests: list[Logged] = []
        self.max_in_flight = 0
        self._faults = faults if callable(faults) else iter(faults)
        self._in_flight = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.endpoint = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "ScriptedEndpoint":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The base URL, as settings and ``OPENAI_BASE_URL`` take it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def chats(self) -> list[Logged]:
        """The chat requests."""
        return [one for one in self.requests if one.path.endswith("/chat/completions")]

    def begin(self, logged: Logged) -> Fault | None:
        with self._lock:
            number = len(self.requests)
            self.requests.append(logged)
            self._in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self._in_flight)
            return self._faults(number, logged.body) if callable(self._faults) else next(self._faults, None)

    def end(self) -> None:
        with self._lock:
            self._in_flight -= 1

    def answer(self, path: str, body: Body) -> Body:
        if path.endswith("/embeddings"):
            return self._embeddings(body)
        if path.endswith("/models"):
            return {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
        reply = self.script(body)
        made = reply if isinstance(reply, Scripted) else Scripted(reply)
        prompt = sum(len(message["content"]) for message in body["messages"])
        return {
            "id": "scripted",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": made.finish_reason,
                    "message": {"role": "assistant", "content": made.text},
                }
            ],
            "usage": {
                "prompt_tokens": made.input_tokens if made.input_tokens is not None else prompt // 4,
                "completion_tokens": made.output_tokens
                if made.output_tokens is not None
                else len(made.text) // 4,
            },
        }

    def _embeddings(self, body: Body) -> Body:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data = [{"index": i, "embedding": self.vector(text)} for i, text in enumerate(texts)]
        return {"object": "list", "model": body["model"], "data": data[::-1]}

    def vector(self, text: str) -> list[float]:
        """The vector of a text before it is normalised: words hashed into a few numbers."""
        numbers = [0.0] * self.dimension
        for word in text.lower().split():
            digest = hashlib.sha256(word.encode()).digest()
            numbers[digest[0] % self.dimension] += math.copysign(1 + digest[1] / 255, digest[2] - 127.5)
        return numbers


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    endpoint: ScriptedEndpoint

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        self._serve(json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0)))))

    def _serve(self, body: Body) -> None:
        endpoint = self.server.endpoint
        fault = endpoint.begin(Logged(self.path, body, dict(self.headers.items()))) or Fault()
        try:
            time.sleep(endpoint.seconds + fault.delay)
            if fault.drop:
                self._hang_up()
            elif fault.status is not None:
                error = {"message": fault.message, "code": fault.code, "type": "scripted"}
                self._send(fault.status, json.dumps({"error": error}).encode(), fault)
            elif fault.malformed:
                self._send(200, b'{"choices": [{"mess', fault)
            else:
                self._send(200, json.dumps(endpoint.answer(self.path, body)).encode(), fault)
        finally:
            endpoint.end()

    def _send(self, status: int, content: bytes, fault: Fault) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if fault.truncated:
            self.wfile.write(content[: len(content) // 2])
            self.wfile.flush()
            self._hang_up()
        else:
            self.wfile.write(content)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
