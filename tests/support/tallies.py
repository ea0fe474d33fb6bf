"""Accounts of what a server was asked: by task, how much at a time, how long, how often the same."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from support.conversations import asked_of
from support.faults import Body, canonical


@dataclass
class Logged:
    """One request as it came, and what became of it.

    ``begun`` and ``ended`` are monotonic seconds, ``seconds`` those that the answer was to take. ``sent``: the
    whole answer was written to a client that was still there. ``answered``: it was sent, with status 200, and
    was no broken JSON.
    """

    path: str
    body: Body
    headers: dict[str, str]
    begun: float = 0.0
    ended: float | None = None
    status: int | None = None
    sent: bool = False
    answered: bool = False
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    number: int = field(default=0, repr=False)

    @property
    def messages(self) -> list[dict[str, str]]:
        return list(self.body.get("messages", []))

    @property
    def last(self) -> str:
        """The last message."""
        return self.messages[-1]["content"]

    @property
    def tokens(self) -> int:
        """Tokens of prompt and reply."""
        return self.input_tokens + self.output_tokens

    @cached_property
    def task(self) -> str:
        """What a chat asks for; of other requests the part of their path after ``/v1/``."""
        if "messages" in self.body:
            return asked_of(self.body).task
        if "input" in self.body:
            return "embeddings"
        return self.path.partition("/v1/")[2].partition("/")[0].partition("?")[0] or self.path

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the body, however its keys are ordered."""
        return canonical(self.body)


def tally(requests: Sequence[Logged]) -> dict[str, Any]:
    """Count requests.

    Returns:
        ``calls`` by task and ``statuses``; ``repeated``: chats beyond the first whose identical body had been
        answered well; ``highest`` and ``mean`` number of requests at a time, the mean over the time in which
        there was any; ``latency_sum``: seconds that the answers were to take; ``input_tokens``,
        ``output_tokens``; ``batched``: how many came as lines of a batch.
    """
    alone = [one for one in requests if one.path != "batch"]
    answered = Counter(one.digest for one in requests if one.answered and "messages" in one.body)
    highest, mean = concurrency(alone)
    return {
        "calls": dict(sorted(Counter(one.task for one in requests).items())),
        "statuses": dict(sorted(Counter(str(one.status) for one in requests).items())),
        "repeated": sum(count - 1 for count in answered.values()),
        "highest": highest,
        "mean": mean,
        "latency_sum": sum(one.seconds for one in requests),
        "input_tokens": sum(one.input_tokens for one in requests),
        "output_tokens": sum(one.output_tokens for one in requests),
        "batched": len(requests) - len(alone),
    }


def concurrency(requests: Iterable[Logged], *, gaps: bool = False) -> tuple[int, float]:
    """The highest and the mean number of requests at a time; ``gaps``: the time with none counts too."""
    now = time.monotonic()
    spans = [(one.begun, now if one.ended is None else one.ended) for one in requests]
    changes = sorted([(begun, 1) for begun, _ in spans] + [(ended, -1) for _, ended in spans])
    at_once = highest = 0
    area = busy = 0.0
    before = changes[0][0] if changes else 0.0
    for moment, change in changes:
        area += at_once * (moment - before)
        busy += (moment - before) if at_once or gaps else 0.0
        at_once += change
        highest = max(highest, at_once)
        before = moment
    return highest, area / busy if busy else 0.0


def concurrency_by_task(requests: Iterable[Logged]) -> dict[str, tuple[int, float]]:
    """By task the highest and the mean number of its requests between its first and its last."""
    by_task: dict[str, list[Logged]] = {}
    for one in requests:
        if one.path != "batch":
            by_task.setdefault(one.task, []).append(one)
    return {task: concurrency(ones, gaps=True) for task, ones in sorted(by_task.items())}
