"""Usage of a model: calls, tokens, money and time."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Sums over calls of one task to one model.

    ``calls`` reached the endpoint and were answered, whether or not the reply could be used; ``cached``
    are replies from memory, with ``saved_tokens`` in and out that were not paid again; ``retries`` were
    sent again for failing on the way; ``failed`` got no answer at all, or were given up on their way,
    whose tokens are counted by estimate. So what was sent is ``calls`` + ``retries`` + ``failed``.
    ``timeouts`` are those of it that no answer came to in time, ``repeated`` those of the calls that ask
    again after a reply that could not be used. ``cached_input_tokens`` are those of ``input_tokens`` that
    the provider had in its own cache. ``usd`` is the money of all calls whose price is known,
    ``unpriced`` counts the others. ``seconds`` is the sum of the times that the endpoint was waited for,
    in vain or not.
    """

    calls: int = 0
    cached: int = 0
    retries: int = 0
    failed: int = 0
    timeouts: int = 0
    repeated: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    saved_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0

    def __add__(self, other: "ModelUse") -> "ModelUse":
        sums = {name: getattr(self, name) + getattr(other, name) for name in USE_FIELDS}
        return ModelUse(**sums)

    @property
    def sent(self) -> int:
        """Requests that went to the endpoint, each time that they did."""
        return self.calls + self.retries + self.failed

    @property
    def tokens(self) -> int:
        """Tokens sent for, in and out."""
        return self.input_tokens + self.output_tokens

    @property
    def money(self) -> float | None:
        """US dollars; None where the price of any call is unknown."""
        return None if self.unpriced else round(self.usd, 6)


USE_FIELDS = tuple(field.name for field in fields(ModelUse))
