"""Where an endpoint is, its key, and what of both may be shown."""

import base64
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, unquote, urlsplit
from urllib.request import getproxies

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.settings.credentials import shown_url, wrong_with_url
from graphrag_dagster.settings.model import ModelSettings

BASE_URL = "OPENAI_BASE_URL"
_OPENAI = "https://api.openai.com/v1"
_SHOWN = 400
#: Shorter ones are dummies for servers that want some key, and words of any text.
_SHORTEST_SECRET, _SHORTEST_IN_REPLIES = 6, 16


@dataclass(frozen=True, slots=True)
class Way:
    """How to call an endpoint: the base URL without credentials and query, and what goes beside it."""

    base_url: str
    query: dict[str, str]
    headers: dict[str, str]


class Address:
    """Where an endpoint is; the key is read from the environment at the moment of a call.

    Args:
        settings: its base URL None stands for ``$OPENAI_BASE_URL``, else OpenAI's, and an endpoint of one's
            own needs no key.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._base_url = settings.base_url
        self.variable = settings.api_key_variable

    @property
    def url(self) -> str:
        """The base URL in force, without user and password.

        Raises:
            EndpointError: it is none, or holds a key in its query.
        """
        self._parts()
        return _without_user(self._given())

    @property
    def shown(self) -> str:
        """The same as it may be shown and stored: no value of its query; see :attr:`url`."""
        return _shown(self.url)

    def way(self) -> Way:
        """Return how to call it; a user and a password in ``$OPENAI_BASE_URL`` are sent as a header.

        Raises:
            EndpointError: see :attr:`url`.
        """
        parts = self._parts()
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        basic = base64.b64encode(f"{user}:{password}".encode()).decode()
        return Way(
            parts._replace(netloc=_host(parts), query="", fragment="").geturl(),
            dict(parse_qsl(parts.query, keep_blank_values=True)),
            {"Authorization": f"Basic {basic}"} if user or password else {},
        )

    def key(self) -> str:
        """The key to send.

        Raises:
            EndpointError: there is none and the endpoint needs one, or it cannot be one.
        """
        key = os.environ.get(self.variable, "").strip()
        if not key and self._parts().hostname == urlsplit(_OPENAI).hostname:
            raise EndpointError(
                f"{self.shown} needs a key: set ${self.variable}, or set model.base_url or {BASE_URL} "
                "to an endpoint of your own"
            )
        if not key.isascii() or not key.isprintable():
            raise EndpointError(f"${self.variable} holds characters that no key has; set it again")
        return key or "none"

    def clean(self, text: str) -> str:
        """A text of the endpoint's as it may be shown: without credentials, on one line, cut."""
        folded = " ".join(self._hidden(text, _SHORTEST_SECRET).split())
        return folded if len(folded) <= _SHOWN else folded[:_SHOWN] + " …"

    def without_key(self, answer: str) -> str:
        """An answer of the endpoint's as it may be kept: a key that it repeats is taken out."""
        return self._hidden(answer, _SHORTEST_IN_REPLIES)

    def _hidden(self, text: str, shortest: int) -> str:
        for form in _forms(tuple(self._secrets()), shortest):
            text = text.replace(form, "***")
        return text

    def _secrets(self) -> Iterator[str]:
        yield os.environ.get(self.variable, "").strip()
        for url in (self._base_url or os.environ.get(BASE_URL) or "", *self._proxies):
            try:
                parts = urlsplit(url)
            except ValueError:
                continue
            user, password = unquote(parts.username or ""), unquote(parts.password or "")
            if user or password:
                yield f"{user}:{password}"
                yield password or user
            for name, value in parse_qsl(parts.query):
                # Azure's is a date that everybody knows.
                if name != "api-version":
                    yield value

    @cached_property
    def _proxies(self) -> list[str]:
        return list(getproxies().values())

    def _given(self) -> str:
        return (self._base_url or os.environ.get(BASE_URL) or _OPENAI).strip().rstrip("/")

    def _parts(self) -> SplitResult:
        url = self._given()
        if problem := _problem(url):
            raise EndpointError(f"{'model.base_url' if self._base_url else f'${BASE_URL}'} {problem}")
        return urlsplit(url)


# Asked several times for every call, of the same few texts.
_problem = lru_cache(wrong_with_url)
_shown = lru_cache(shown_url)


@lru_cache
def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=_host(parts)).geturl()


@lru_cache
def _forms(secrets: tuple[str, ...], shortest: int) -> list[str]:
    """All in which credentials may come back, the longest first."""
    found = {
        form
        for secret in secrets
        if len(secret) >= shortest
        for form in (
            secret,
            quote(secret, safe=""),
            quote_plus(secret),
            json.dumps(secret)[1:-1],
            base64.b64encode(secret.encode()).decode().rstrip("="),
        )
    }
    return sorted(found, key=lambda form: (-len(form), form))


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]
