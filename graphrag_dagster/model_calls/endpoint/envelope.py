"""What an endpoint puts around a reply, read whatever types and sizes it has."""

import json
import math
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

#: Bytes of an answer; one that goes on is given up.
MOST_BYTES = 32_000_000
#: Tokens that one call can have; what tells of more is not believed.
_MOST_TOKENS = 1_000_000_000


class BadAnswer(Exception):
    """Raised where an answer is of no use; its text follows the endpoint's name. ``again``: worth a try."""

    def __init__(self, text: str, *, again: bool = True) -> None:
        super().__init__(text)
        self.again = again


class Body(Protocol):
    """A response whose body is still to be read."""

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Yield the body piece by piece."""


@dataclass(frozen=True, slots=True)
class ToldUsage:
    """Tokens of a call as the endpoint tells them; 0 where it does not."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int
    reasoning_tokens: int
    total: int


async def pieces(body: Body, most: int = MOST_BYTES) -> AsyncIterator[bytes]:
    """Yield a body piece by piece, ``most`` bytes of it.

    Raises:
        BadAnswer: it goes on and on, or breaks off.
        TimeoutError: nothing came for long.
    """
    import httpx2

    size = 0
    try:
        async for piece in body.aiter_bytes():
            size += len(piece)
            if size > most:
                raise BadAnswer(f"sent more than {most // 1_000_000} MB, which is no reply", again=False)
            yield piece
    except httpx2.TimeoutException:
        raise TimeoutError from None
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise BadAnswer(f"broke off its reply: {error}") from None


async def text_of(body: Body, most: int = MOST_BYTES) -> str:
    """Return a whole body as text; raises as :func:`pieces` does."""
    return b"".join([piece async for piece in pieces(body, most)]).decode(errors="replace")


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return a JSON object; None where a text is none, or nested too deeply to be read."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def first(value: object) -> Mapping[str, Any]:
    """Return the JSON object that is first in a list, an empty one where there is none."""
    return mapping(value[0]) if isinstance(value, list) and value else {}


def count(value: object) -> int:
    """Return a number of tokens, also one that is written as text; 0 where it cannot be one."""
    if isinstance(value, str):
        try:
            value = float(value[:20])
        except ValueError:
            return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MOST_TOKENS and math.isfinite(value) else 0


def usage_of(answer: Mapping[str, Any]) -> ToldUsage:
    """Return the tokens that an answer tells of."""
    usage = mapping(answer.get("usage"))
    sent, received = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    return ToldUsage(
        sent,
        received,
        min(count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")), sent),
        count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        count(usage.get("total_tokens")) or sent + received,
    )
