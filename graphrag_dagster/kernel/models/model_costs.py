"""Usage of a model, prices, and a hard limit on tokens and money."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from urllib.parse import urlsplit

from graphrag_dagster.errors import GraphragError


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

    def __add__(self, other: ModelUse) -> ModelUse:
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


_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    cached_input: float

    def of(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> float:
        """Return the US dollars of a call; the cached tokens are part of the input tokens."""
        fresh = input_tokens - cached_input_tokens
        dollars = fresh * self.input + cached_input_tokens * self.cached_input + output_tokens * self.output
        return dollars / _MILLION

    def times(self, factor: float) -> Price:
        """Return the price at a discount, such as that of a batch."""
        return Price(self.input * factor, self.output * factor, self.cached_input * factor)


@cache
def listed_price(model: str, url: str) -> Price | None:
    """Return the price of a model behind an endpoint by the price list; None where it knows none.

    An endpoint on this machine or in a private network has no price there, whatever its model's name.
    """
    if _is_private(urlsplit(url).hostname or ""):
        return None
    fresh = _price_from_list(model, url, input_tokens=_MILLION, output_tokens=0)
    if fresh is None:
        return None
    output = _price_from_list(model, url, input_tokens=0, output_tokens=_MILLION)
    cached = _price_from_list(model, url, input_tokens=_MILLION, cache_read_tokens=_MILLION, output_tokens=0)
    return Price(fresh, output or 0.0, fresh if cached is None else cached)


def _price_from_list(model: str, url: str, **tokens: int) -> float | None:
    from genai_prices import Usage, calc_price

    # A price list that knows the model but not the endpoint, a proxy for instance, is better than none.
    for endpoint in (url, None):
        try:
            return float(calc_price(Usage(**tokens), model, provider_api_url=endpoint).total_price)
        except (LookupError, ValueError):
            continue
    return None


def _is_private(host: str) -> bool:
    import ipaddress

    if host == "localhost" or host.endswith((".local", ".internal")) or "." not in host:
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


#: Most tokens, in and out, of a run beyond the index that is given no limit.
RESEARCH_TOKENS = 2_000_000


class BudgetExhausted(GraphragError):
    """The next call might pass the limit that was set. Nothing that was done is lost."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a run.

    Args:
        max_tokens: most tokens in and out; None does not limit.
        max_usd: most US dollars; None does not limit.
    """

    max_tokens: int | None = None
    max_usd: float | None = None

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.max_tokens is not None or self.max_usd is not None

    def allows(self, spent: ModelUse) -> bool:
        """Whether so much may be spent."""
        tokens = self.max_tokens is None or spent.tokens <= self.max_tokens
        return tokens and (self.max_usd is None or spent.usd <= self.max_usd + 1e-12)

    def exceeded_reason(self, spent: ModelUse, worst: ModelUse) -> str:
        """Say why a call is not sent that may cost ``worst``."""
        limits = []
        if self.max_tokens is not None:
            limits.append(f"{spent.tokens:,} of {self.max_tokens:,} tokens")
        if self.max_usd is not None:
            limits.append(f"${spent.usd:.4f} of ${self.max_usd:.4f}")
        return (
            f"stopped before the limit: this run has spent {' and '.join(limits)}, and the next call may "
            f"need {worst.tokens:,} tokens. Paid replies are cached: run again, with the same or a "
            "higher limit, to continue"
        )
