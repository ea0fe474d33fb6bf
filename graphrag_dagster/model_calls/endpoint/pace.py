"""How fast a model answers, learned from what its calls took, and how long the next may therefore take."""

from dataclasses import dataclass

#: Reading a token takes this share of the time that writing one takes, or less.
_READING = 1 / 16
#: A limit is so many times what is expected.
_GENEROUS = 3.0
_LONGEST = 3600.0
#: A smaller answer that came quickly tells how long the way is, not how fast the model is.
_TELLING, _SLOW = 40.0, 2.0
_FORGETTING = 0.1


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens of a call: of its prompt, by estimate, and of its longest reply."""

    prompt: int = 0
    reply: int = 0

    @property
    def work(self) -> float:
        """The same in written tokens, of which reading costs a share."""
        return max(self.reply + self.prompt * _READING, 1.0)


class Pace:
    """Seconds that a model takes for a token, queueing at the endpoint included; None while nothing is known.

    A slow answer is believed at once, a quick one little by little: a limit that is too long costs little.
    """

    def __init__(self, seconds_per_token: float | None = None) -> None:
        self.seconds_per_token = seconds_per_token

    def answered(self, size: Size, seconds: float) -> None:
        """Learn from an answer; ``size`` is what it had in fact."""
        if size.work < _TELLING and seconds < _SLOW:
            return
        seen, known = seconds / size.work, self.seconds_per_token or 0.0
        self.seconds_per_token = max(seen, known + _FORGETTING * (seen - known))

    def silent(self, size: Size, seconds: float) -> None:
        """Learn from a call that got no answer within its limit: the next of its size has twice as long."""
        least = 2.0 * seconds / (_GENEROUS * size.work)
        self.seconds_per_token = max(self.seconds_per_token or 0.0, least)

    def written(self, size: Size, seconds: float) -> int:
        """Return the tokens of a reply that are written after so many seconds, by estimate."""
        if self.seconds_per_token is None:
            return 0
        worked = seconds / self.seconds_per_token - size.prompt * _READING
        return min(max(round(worked), 0), size.reply)

    def limit(self, size: Size, least: float) -> float:
        """Return the seconds that a call may take, from ``least`` to the longer of it and an hour."""
        expected = (self.seconds_per_token or 0.0) * size.work
        return max(least, min(_GENEROUS * expected, _LONGEST))


#: By URL and model, for as long as the process lives.
_known: dict[tuple[str, str], Pace] = {}


def pace_of(url: str, model: str) -> Pace:
    """Return what is known of a model behind an endpoint."""
    return _known.setdefault((url, model), Pace())
