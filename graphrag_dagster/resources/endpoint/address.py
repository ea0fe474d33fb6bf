"""Where an endpoint is, its key, and what of both may be shown."""

import os
from urllib.parse import urlsplit, urlunsplit

from graphrag_dagster.core.errors import EndpointError
from graphrag_dagster.settings.model import ModelSettings

BASE_URL = "OPENAI_BASE_URL"
_OPENAI = "https://api.openai.com/v1"
_SHOWN = 400


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
        """The base URL in force."""
        return (self._base_url or os.environ.get(BASE_URL) or _OPENAI).rstrip("/")

    @property
    def shown(self) -> str:
        """The base URL without credentials."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    def key(self) -> str:
        """The key to send.

        Raises:
            EndpointError: there is none and the endpoint needs one, or it cannot be one.
        """
        key = os.environ.get(self.variable, "").strip()
        if not key and urlsplit(self.url).hostname == urlsplit(_OPENAI).hostname:
            raise EndpointError(
                f"{self.shown} needs a key: set ${self.variable}, or set model.base_url or {BASE_URL} "
                "to an endpoint of your own"
            )
        if not key.isascii() or not key.isprintable():
            raise EndpointError(f"${self.variable} holds characters that no key has; set it again")
        return key or "none"

    def clean(self, text: str) -> str:
        """A text of the endpoint's as it may be shown: without the key, on one line, cut."""
        key = os.environ.get(self.variable, "").strip()
        hidden = text.replace(key, "***") if key else text
        folded = " ".join(hidden.split())
        return folded if len(folded) <= _SHOWN else folded[:_SHOWN] + " …"
