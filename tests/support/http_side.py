"""The HTTP side of the scripted endpoint: reads requests, keeps the time of answers, breaks connections."""

import json
import math
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from support.answering import Answer, respond
from support.faults import Fault
from support.streams import LAST_CHUNK, chunked
from support.tallies import Logged

if TYPE_CHECKING:
    from support.endpoint import ScriptedEndpoint


class Server(ThreadingHTTPServer):
    daemon_threads = True
    # Many clients connect at the same moment; a refused one would try again after a second.
    request_queue_size = 256
    endpoint: "ScriptedEndpoint"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        endpoint = self.server.endpoint
        if self.path in {"/tally", "/reset"}:
            if self.path == "/reset":
                endpoint.reset()
            self._write(200, endpoint.account(), {})
            return
        kind = self.headers.get("Content-Type") or ""
        try:
            body = json.loads(content) if content and not kind.startswith("multipart/") else {}
        except ValueError:
            self._write(400, b'{"error": {"message": "We could not parse the JSON body."}}', {})
            return
        logged = Logged(self.path, body, dict(self.headers.items()))
        fault = endpoint.begin(logged) or Fault()
        endpoint.wait_for_others()
        try:
            self._answer(logged, fault, kind, content)
        except OSError:
            endpoint.unsent(logged)
            self.close_connection = True
        finally:
            endpoint.end(logged)

    def _answer(self, logged: Logged, fault: Fault, kind: str, content: bytes) -> None:
        endpoint = self.server.endpoint
        if fault.hang:
            logged.seconds = fault.hang
            endpoint.wait_until(logged.begun + fault.hang)
            self._hang_up()
            return
        if fault.stall and not logged.body.get("stream"):
            endpoint.wait_until(math.inf)
            self._hang_up()
            return
        answer = respond(endpoint, logged, fault, self.command, kind, content)
        logged.seconds = answer.seconds + answer.writing
        endpoint.wait_until(logged.begun + answer.seconds)
        if answer.events is not None:
            self._stream(logged, fault, answer, answer.events)
        elif (fault.drop and answer.status == 200) or self._client_left():
            self._hang_up()
        else:
            self._send(logged, fault, answer)

    def _send(self, logged: Logged, fault: Fault, answer: Answer) -> None:
        content = answer.content if isinstance(answer.content, bytes) else json.dumps(answer.content).encode()
        logged.status = answer.status
        if fault.truncated:
            self._write(answer.status, content[: len(content) // 2], answer.headers, len(content))
            self._hang_up()
            return
        # Noted before it is done, so that a client that has its answer finds it in the account.
        logged.sent = True
        logged.answered = answer.status == 200 and not fault.malformed
        self.server.endpoint.end(logged)
        self._write(answer.status, content, {**answer.headers, **fault.headers})

    def _stream(self, logged: Logged, fault: Fault, answer: Answer, events: list[bytes]) -> None:
        endpoint = self.server.endpoint
        broken = fault.drop or fault.truncated or fault.stall
        half = len(events) // 2
        sent = [*events[:half], events[half][: len(events[half]) // 2] if fault.truncated else b""]
        waits = answer.writing / len(events)
        logged.status = answer.status
        headers = {**answer.headers, **fault.headers, "Transfer-Encoding": "chunked"}
        self.wfile.write(self._head(answer.status, headers, "text/event-stream"))
        pieces = [b"".join(sent if broken else events)] if not waits else sent if broken else events
        for number, piece in enumerate(pieces):
            endpoint.wait_until(logged.begun + answer.seconds + waits * number)
            if self._client_left():
                self._hang_up()
                return
            last = number == len(pieces) - 1 and not broken
            if last:
                logged.sent, logged.answered = True, not fault.malformed
                endpoint.end(logged)
            self.wfile.write(chunked(piece) + (LAST_CHUNK if last else b""))
        if broken:
            if fault.stall:
                endpoint.wait_until(math.inf)
            self._hang_up()

    def _head(self, status: int, headers: dict[str, str], kind: str) -> bytes:
        lines = [f"HTTP/1.1 {status} {self.responses.get(status, ('Unnamed',))[0]}", f"Content-Type: {kind}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _write(self, status: int, content: bytes, headers: dict[str, str], length: int | None = None) -> None:
        told = {**headers, "Content-Length": str(len(content) if length is None else length)}
        self.wfile.write(self._head(status, told, "application/json") + content)

    def _client_left(self) -> bool:
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
