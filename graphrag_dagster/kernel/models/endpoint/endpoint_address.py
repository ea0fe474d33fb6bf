"""Address and key of an endpoint, and the parts of them that are safe to show."""

import base64
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit
from urllib.request import getproxies

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.settings.credentials import shown_url, variable_of, wrong_with_url
from graphrag_dagster.kernel.settings.model_settings import ModelSettings

BASE_URL = "OPENAI_BASE_URL"
_OPENAI = "https://api.openai.com/v1"
#: Hosts of Azure's, the variable that its version stands in, and what a copied URL of a call ends with.
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com", ".openai.azure.us")
_AZURE_VERSION = "OPENAI_API_VERSION"
_AZURE_CALL = re.compile(r"/(?:chat/completions|embeddings)\Z")
_SHOWN = 400
#: Shorter ones are dummies for servers that want some key, and words of any text.
_SHORTEST_SECRET, _SHORTEST_IN_REPLIES = 6, 16


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Parameters of a call: the base URL without credentials and query, and what is sent along with it.

    ``api_version``: the endpoint is Azure's, where the model is part of the URL. ``authorised``: a header
    authenticates the call, instead of the key. What may hold a key is no part of its representation.
    """

    base_url: str
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    api_version: str | None = None
    organization: str | None = None
    project: str | None = None
    authorised: bool = False


class Address:
    """Where an endpoint is; the key is read from the environment at the moment of a call.

    Args:
        settings: its base URL None stands for ``$OPENAI_BASE_URL``, else OpenAI's, and an endpoint of one's
            own needs no key.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._base_url = settings.base_url
        self.variable = settings.api_key_variable

    @property
    def url(self) -> str:
        """The base URL in force, without user and password.

        Raises:
            EndpointError: it is none, or holds a key in its query.
        """
        self._parts()
        return _without_user(self._configured_url())

    @property
    def shown_url(self) -> str:
        """The same as it may be shown and stored: no value of its query; see :attr:`url`."""
        return _shown(self.url)

    @property
    def is_azure(self) -> bool:
        """Whether the endpoint is Azure's by its name, or is said to be."""
        host = self._parts().hostname or ""
        return self._settings.api_version is not None or host.endswith(_AZURE)

    def client_options(self) -> ClientOptions:
        """Return how to call it; a user and a password in ``$OPENAI_BASE_URL`` are sent as a header.

        Raises:
            EndpointError: see :attr:`url`; a variable is not set; or Azure's version is not known.
        """
        parts, settings = self._parts(), self._settings
        query = {**dict(parse_qsl(parts.query, keep_blank_values=True)), **settings.query}
        headers = {name: self._header(name, value) for name, value in settings.headers.items()}
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        if user or password:
            basic = base64.b64encode(f"{user}:{password}".encode()).decode()
            headers = {"Authorization": f"Basic {basic}", **headers}
        authorised = any(name.lower() in {"authorization", "api-key"} for name in headers)
        path, version = parts.path.rstrip("/"), None
        if self.is_azure and path.endswith("/v1"):
            # The interface of Azure's that is as OpenAI's, but for the name of the key.
            if settings.api_version:
                query["api-version"] = settings.api_version
            if not authorised and (key := os.environ.get(self.variable, "").strip()):
                headers["api-key"] = key
        elif self.is_azure:
            version = settings.api_version or query.pop("api-version", None) or os.environ.get(_AZURE_VERSION)
            if not version:
                raise EndpointError(
                    f"{self.shown_url} is an Azure endpoint, which needs an API version: set "
                    "model.api_version, such as 2024-10-21"
                )
            path = _AZURE_CALL.sub("", path) or "/openai"
        return ClientOptions(
            parts._replace(netloc=_host(parts), path=path, query="", fragment="").geturl(),
            tuple(query.items()),
            tuple(headers.items()),
            version,
            settings.organization or os.environ.get("OPENAI_ORG_ID") or None,
            settings.project or os.environ.get("OPENAI_PROJECT_ID") or None,
            authorised,
        )

    def _header(self, name: str, value: str) -> str:
        """The value of a header; one that is named by a variable is read now."""
        variable = variable_of(value)
        if variable is None:
            return value
        found = os.environ.get(variable, "").strip()
        if not found or not found.isascii() or not found.isprintable():
            raise EndpointError(
                f"model.headers.{name} is ${variable}, which is not set in the environment, or contains "
                "characters that are not allowed in a header"
            )
        return found

    def key(self) -> str:
        """The key to send.

        Raises:
            EndpointError: there is none and the endpoint needs one, or it cannot be one.
        """
        key = os.environ.get(self.variable, "").strip()
        if not key and (self.is_azure or self._parts().hostname == urlsplit(_OPENAI).hostname):
            raise EndpointError(
                f"{self.shown_url} needs a key: set ${self.variable}, or set model.base_url or {BASE_URL} "
                "to an endpoint of your own"
            )
        if not key.isascii() or not key.isprintable():
            raise EndpointError(
                f"${self.variable} contains characters that are not allowed in a key; set it again"
            )
        return key or "none"

    def redact(self, text: str) -> str:
        """A text of the endpoint's as it may be shown: without credentials, on one line, cut."""
        for form in _secret_forms(tuple(self._secrets()), _SHORTEST_SECRET):
            text = text.replace(form, "***")
        folded = " ".join(text.split())
        return folded if len(folded) <= _SHOWN else folded[:_SHOWN] + " …"

    def without_key(self, answer: bytes) -> bytes:
        """An answer of the endpoint's as it may be kept: a key that it repeats is taken out."""
        for form in _secret_forms(tuple(self._secrets()), _SHORTEST_IN_REPLIES):
            answer = answer.replace(form.encode(), b"***")
        return answer

    def _secrets(self) -> Iterator[str]:
        yield os.environ.get(self.variable, "").strip()
        for value in self._settings.headers.values():
            if variable := variable_of(value):
                yield from os.environ.get(variable, "").split()
        yield from (value for name, value in self._settings.query.items() if name != "api-version")
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

    def _configured_url(self) -> str:
        return (self._base_url or os.environ.get(BASE_URL) or _OPENAI).strip().rstrip("/")

    def _parts(self) -> SplitResult:
        url = self._configured_url()
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
def _secret_forms(secrets: tuple[str, ...], shortest: int) -> list[str]:
    """All in which credentials may come back, the longest first."""
    found = {
        form
        for secret in secrets
        if len(secret) >= shortest
        for form in (secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode().rstrip("="))
    }
    return sorted(found, key=lambda form: (-len(form), form))


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]
