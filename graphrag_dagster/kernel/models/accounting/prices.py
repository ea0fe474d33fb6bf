"""Prices of models: from settings, else from a price list that is maintained elsewhere."""

from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; ``source`` says where they are from."""

    input: float
    output: float
    cached_input: float
    source: str

    def of(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> float:
        """Return the US dollars of a call; the cached tokens are part of the input tokens."""
        fresh = input_tokens - cached_input_tokens
        dollars = fresh * self.input + cached_input_tokens * self.cached_input + output_tokens * self.output
        return dollars / _MILLION

    def times(self, factor: float) -> "Price":
        """Return the price at a discount, such as that of a batch."""
        return Price(self.input * factor, self.output * factor, self.cached_input * factor, self.source)


@cache
def listed_price(model: str, url: str) -> Price | None:
    """Return the price of a model behind an endpoint by the price list; None where it knows none.

    An endpoint on this machine or in a private network has no price there, whatever its model's name.
    """
    if _is_private(urlsplit(url).hostname or ""):
        return None
    fresh = _listed(model, url, input_tokens=_MILLION, output_tokens=0)
    if fresh is None:
        return None
    output = _listed(model, url, input_tokens=0, output_tokens=_MILLION)
    cached = _listed(model, url, input_tokens=_MILLION, cache_read_tokens=_MILLION, output_tokens=0)
    return Price(fresh, output or 0.0, fresh if cached is None else cached, "genai-prices")


def _listed(model: str, url: str, **tokens: int) -> float | None:
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
