"""A model endpoint for tests: a real HTTP server on this machine that answers by a script.

``ScriptedEndpoint(script)`` serves ``/v1/chat/completions``, ``/v1/embeddings``, ``/v1/models``, ``/v1/files``
and ``/v1/batches`` on a free port. A script takes the JSON of a chat request and returns the reply. Faults are
given as a function of the number and the JSON of the request, or as a list that is used up in order.
``/tally`` and ``/reset`` show and clear the account of what was asked.
"""

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import Any, Literal

from support.answering import answer_line
from support.batch_routes import Batch, BatchRoutes
from support.chat_replies import Capabilities, Script, completion, embeddings
from support.faults import Body, Fault, Faults
from support.http_side import Handler, Server
from support.rate_rules import RateRules
from support.script_variants import gleaning_script, wordy_script
from support.scripted_replies import Scripted, name_pattern_script
from support.tallies import Logged, concurrency_by_task, tally

__all__ = [
    "Fault",
    "Logged",
    "Scripted",
    "ScriptedEndpoint",
    "gleaning_script",
    "name_pattern_script",
    "wordy_script",
]


#: Seconds for which a request waits for others that do not come.
_LONGEST_WAIT = 20.0


@cache
def _of_word(word: str) -> tuple[int, float]:
    digest = hashlib.sha256(word.encode()).digest()
    return digest[0], math.copysign(1 + digest[1] / 255, digest[2] - 127.5)


class ScriptedEndpoint:
    """The server; a context manager that gives itself.

    Args:
        script: answers chat requests.
        faults: what goes wrong.
        seconds: how long every answer takes; refusals take no time.
        seconds_per_token: how much longer for each token of a chat reply.
        together: no answer is given before so many requests have been in flight at the same moment.
        dimension: numbers of an embedding.
        obey_limit: cut replies at the request's limit of tokens.
        context_tokens: longest prompt, in tokens of four characters.
        overflow: what happens to a longer one: an error, or its beginning is lost without a word.
        unsupported: keys of requests that are refused, such as ``logit_bias``, ``response_format.json_schema``.
        models: what ``/v1/models`` lists.
        strict_models: other models do not exist.
        requests_per_minute: limit of chats and embeddings.
        tokens_per_minute: limit of the tokens of prompts and replies.
        burst: how many minutes' worth may come at once.
        retry_after: whether what exceeds a limit is told when to come again.
        rate_headers: whether answers tell the limits; by default where there are any.
        batch_steps: how many times a batch is seen in progress.
        batch_expires_after: only so many of its requests are answered, then a batch expires.
        batch_fails: with this message every batch fails.
        port: 0 is a free one.
        listener: hears ``begin``, ``end`` and, where the end did not reach the client, ``unsent``.
    """

    def __init__(
        self,
        script: Script = name_pattern_script,
        *,
        faults: Faults = (),
        seconds: float = 0.0,
        seconds_per_token: float = 0.0,
        together: int = 1,
        dimension: int = 16,
        obey_limit: bool = False,
        context_tokens: int | None = None,
        overflow: Literal["error", "truncate"] = "error",
        unsupported: Collection[str] = (),
        models: Sequence[str] = ("scripted",),
        strict_models: bool = False,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        burst: float = 1.0,
        retry_after: bool = True,
        rate_headers: bool | None = None,
        batch_steps: int = 1,
        batch_expires_after: int | None = None,
        batch_fails: str | None = None,
        port: int = 0,
        listener: Callable[[str, Logged], None] | None = None,
    ) -> None:
        self.script = script
        self.seconds = seconds
        self.seconds_per_token = seconds_per_token
        self.dimension = dimension
        self.capabilities = Capabilities(
            models, strict_models, unsupported, obey_limit, context_tokens, overflow
        )
        self.rules = RateRules(requests_per_minute, tokens_per_minute, burst)
        self.requests: list[Logged] = []
        self.max_in_flight = 0
        self._listener = listener
        self._faults = faults if callable(faults) else iter(faults)
        self._in_flight = 0
        self._lock = threading.Lock()
        self.tells_rates = bool(self.rules) if rate_headers is None else rate_headers
        self.tells_wait = retry_after
        self.batch_routes = BatchRoutes(
            partial(answer_line, self),
            steps=batch_steps,
            expires_after=batch_expires_after,
            fails=batch_fails,
        )
        self._closing = threading.Event()
        self._together = together
        self._met = threading.Event()
        self._server = Server(("127.0.0.1", port), Handler)
        self._server.endpoint = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "ScriptedEndpoint":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
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

    @property
    def batches(self) -> dict[str, Batch]:
        """The batches by id."""
        return self.batch_routes.batches

    def tally(self) -> dict[str, Any]:
        """See :func:`support.tallies.tally`."""
        return tally(self._snapshot())

    def concurrency_by_task(self) -> dict[str, tuple[int, float]]:
        """See :func:`support.tallies.concurrency_by_task`."""
        return concurrency_by_task(self._snapshot())

    def reset(self) -> None:
        """Forget what was asked; a function of faults that can forget does so too."""
        with self._lock:
            self.requests.clear()
            self.max_in_flight = self._in_flight
            if hasattr(self._faults, "reset"):
                self._faults.reset()

    def _snapshot(self) -> list[Logged]:
        with self._lock:
            return list(self.requests)

    def begin(self, logged: Logged) -> Fault | None:
        with self._lock:
            logged.begun = time.monotonic()
            logged.number = len(self.requests)
            self.requests.append(logged)
            if logged.path != "batch":
                self._in_flight += 1
                self.max_in_flight = max(self.max_in_flight, self._in_flight)
                if self._in_flight >= self._together:
                    self._met.set()
            fault = (
                self._faults(logged.number, logged.body)
                if callable(self._faults)
                else next(self._faults, None)
            )
        self._tell("begin", logged)
        return fault

    def end(self, logged: Logged) -> None:
        """Take note of the end of a request; only the first time counts."""
        with self._lock:
            if logged.ended is not None:
                return
            logged.ended = time.monotonic()
            if logged.path != "batch":
                self._in_flight -= 1
        self._tell("end", logged)

    def unsent(self, logged: Logged) -> None:
        """Take note that the client did not get all of the answer."""
        logged.sent = logged.answered = False
        self._tell("unsent", logged)

    def _tell(self, event: str, logged: Logged) -> None:
        if self._listener is not None:
            self._listener(event, logged)

    def wait_for_others(self) -> None:
        """Wait until as many requests as are to come together have met; for a while, lest a test hang."""
        self._met.wait(_LONGEST_WAIT)

    def wait_until(self, moment: float) -> None:
        """Wait for a moment of the monotonic clock, or for the end of the server."""
        if (seconds := moment - time.monotonic()) > 0:
            self._closing.wait(min(seconds, threading.TIMEOUT_MAX))

    def answer(self, path: str, body: Body, reply: Scripted) -> Body:
        """The body of a good answer."""
        return embeddings(body, self.vector) if path.endswith("/embeddings") else completion(body, reply)

    def account(self) -> bytes:
        """What ``/tally`` shows: both accounts and the processor seconds of this process."""
        told = {
            **self.tally(),
            "concurrency_by_task": self.concurrency_by_task(),
            "cpu_seconds": time.process_time(),
        }
        return json.dumps(told).encode()

    def vector(self, text: str) -> list[float]:
        """The vector of a text before it is normalised: words hashed into a few numbers."""
        numbers = [0.0] * self.dimension
        for word in text.lower().split():
            place, number = _of_word(word)
            numbers[place % self.dimension] += number
        return numbers
