"""How long the replies to each task have been, for the rates and for the limits of those that follow."""

from collections import deque
from dataclasses import dataclass, field

from graphrag_dagster.core.language.chat.port import ChatRequest

#: Tokens of a reply before any of its task was seen.
_FIRST_GUESS = 500
_NEW = 0.1
#: How many of the last whole replies to a task tell how long one may be, since what is large is begun first;
#: how much longer than all of them it may be; and what any may have.
_FEWEST, _LAST, _ROOM, _ALWAYS = 20, 60, 2, 1000


def _last() -> "deque[float]":
    return deque(maxlen=_LAST)


@dataclass(slots=True)
class _Seen:
    """Of replies of a kind: the mean length; lengths of the last whole ones, and these over the expected."""

    mean: float
    lengths: "deque[float]" = field(default_factory=_last)
    ratios: "deque[float]" = field(default_factory=_last)


class ReplyLengths:
    """Learns from the replies of a model, by task; a continuation is another thing than a first reply."""

    def __init__(self) -> None:
        self._tasks: dict[tuple[str, bool], _Seen] = {}

    def learn(self, request: ChatRequest, tokens: int, *, whole: bool) -> None:
        """Take note of a reply; one that was cut off tells nothing of how long whole ones are."""
        seen = self._tasks.setdefault(_kind(request), _Seen(tokens))
        seen.mean += _NEW * (tokens - seen.mean)
        if whole and tokens:
            seen.lengths.append(tokens)
            if request.expected:
                seen.ratios.append(tokens / request.expected)

    def expected(self, request: ChatRequest) -> int:
        """Return the tokens that a reply is likely to have."""
        seen = self._tasks.get(_kind(request))
        return min(_FIRST_GUESS if seen is None else int(seen.mean), request.max_tokens)

    def limit(self, request: ChatRequest) -> int:
        """Return the tokens after which a first reply is better cut off: it runs on without an end.

        Nothing is lost with one that does end: what was cut off is asked for again, with all the room.
        """
        most, seen = request.max_tokens, self._tasks.get(_kind(request))
        if seen is None:
            return most
        likely = [
            factor * max(of)
            for of, factor in ((seen.lengths, 1), (seen.ratios, request.expected))
            if len(of) >= _FEWEST and factor
        ]
        return min(most, max(round(_ROOM * min(likely)), _ALWAYS)) if likely else most


def _kind(request: ChatRequest) -> tuple[str, bool]:
    return request.task, request.continues
