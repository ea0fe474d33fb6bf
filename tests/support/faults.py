"""What goes wrong with requests, by a list, by a function or by a share of them."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from support.conversations import limit_of
from support.scripted_replies import Scripted

Body = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request.

    ``drop`` closes the connection without an answer, a streamed one in the middle; ``hang`` does so after that
    many seconds; ``stall`` sends nothing, or half of a stream, and keeps the connection; ``malformed`` sends a body that is no JSON; ``truncated`` ends the connection in the middle of
    the body. The others are good answers with a bad reply: ``text`` stands in its place, ``empty`` leaves
    nothing of it, ``cut`` half of it as if it were whole, ``length`` half of it, and says so;
    ``kind`` and ``extra`` are the type and further keys of the error. ``runaway`` goes on to the request's limit and is cut off there. ``slower`` is so many times the usual time.
    """

    status: int | None = None
    message: str = "scripted failure"
    code: str | None = None
    kind: str = "scripted"
    extra: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    malformed: bool = False
    truncated: bool = False
    hang: float = 0.0
    stall: bool = False
    text: str | None = None
    empty: bool = False
    cut: bool = False
    length: bool = False
    runaway: bool = False
    slower: float = 1.0

    def spoiled(self, reply: Scripted, body: Body) -> Scripted:
        """What is left of the script's reply to a request."""
        if self.runaway:
            return replace(reply, finish_reason="length", output_tokens=limit_of(body))
        if self.text is not None:
            return replace(reply, text=self.text, output_tokens=None)
        if self.empty:
            return replace(reply, text="", output_tokens=None)
        if self.cut or self.length:
            half = reply.text[: len(reply.text) // 2]
            reason = "length" if self.length else "stop"
            return replace(reply, text=half, finish_reason=reason, output_tokens=None)
        return reply


Faults = Callable[[int, Body], Fault | None] | Iterable[Fault | None]


def canonical(body: Body) -> str:
    """The SHA-256 of a request, the same however its keys are ordered."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class SharedFaults:
    """Lets a share of the requests fail, whatever order they arrive in.

    Whether and how a request fails depends on the seed, its body and how often this body came before.

    Args:
        error_rate: share that gets an error or a broken connection.
        malformed_rate: share that gets a reply that cannot be used as it is.
        cut_rate: share that gets a reply that runs to its limit and is cut off.
        slow_rate: share that takes four times as long.
        seed: another seed, other requests.
    """

    def __init__(
        self,
        error_rate: float = 0.0,
        malformed_rate: float = 0.0,
        seed: int = 0,
        *,
        cut_rate: float = 0.0,
        slow_rate: float = 0.0,
    ) -> None:
        self._kinds = (
            (error_rate, _ERRORS),
            (malformed_rate, _MALFORMED),
            (cut_rate, (Fault(runaway=True),)),
            (slow_rate, (Fault(slower=4.0),)),
        )
        self._seed = seed
        self._came: Counter[str] = Counter()

    def __call__(self, _number: int, body: Body) -> Fault | None:
        digest = canonical(body)
        before = self._came[digest]
        self._came[digest] += 1
        drawn = hashlib.sha256(f"{self._seed}:{before}:{digest}".encode()).digest()
        share = int.from_bytes(drawn[:8]) / 2**64
        for rate, faults in self._kinds:
            if share < rate:
                return faults[drawn[8] % len(faults)]
            share -= rate
        return None

    def reset(self) -> None:
        """Forget which bodies came."""
        self._came.clear()


_ERRORS = (
    Fault(500),
    Fault(503, "overloaded"),
    Fault(429, "slow down", "rate_limit_exceeded"),
    Fault(drop=True),
)
_MALFORMED = (
    Fault(cut=True),
    Fault(empty=True),
    Fault(text="I'm sorry, but I can't help with that."),
    Fault(
        text='Here is what I found:\n```json\n{"entities": [{"name": "Ann Lee", "type": PERSON, "desc\n```'
    ),
    Fault(length=True),
    Fault(
        text=json.dumps(
            {
                "type": "object",
                "properties": {
                    "entities": {"type": "array", "items": {"type": "object"}},
                    "relationships": {"type": "array", "items": {"type": "object"}},
                },
                "required": ["entities", "relationships"],
            }
        )
    ),
)
