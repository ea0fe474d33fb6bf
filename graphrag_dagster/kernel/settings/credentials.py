"""Credentials come from the environment. Settings that seem to hold one are rejected and never shown."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

#: Type of validation errors whose input may be a credential.
CREDENTIAL = "credential"

_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|nvapi|pplx|hf|ghp|glpat|github_pat)[-_](?:(?=\S*\d)[\w-]{12,}|[\w-]{30,})"
    r"|\bAKIA[A-Z0-9]{16}|\bAIza[\w-]{30,}|\beyJ[\w-]+\.eyJ[\w-]+|\b(?:Bearer|Basic) +\S{8,}"
)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: A word of a variable's name that is no key, however long, and most characters of others.
_PLAIN_WORD = re.compile(r"(?:[A-Z]+|[a-z]*(?:[A-Z]{1,4}[a-z]{2,})*)[0-9]{0,4}")
_LONGEST_OTHER_WORD = 11
_CREDENTIAL_NAME = re.compile(
    r"key|token|auth|sig|signature|passwd|pwd|credential"
    r"|.*(?:(?:api|access|private|subscription)key|(?:access|auth|bearer)token"
    r"|secret|password|authorization|credentials)"
)
_HEADER = re.compile(r"[A-Za-z0-9!#%&'*+.^_`|~-]{1,100}")
_FROM_ENVIRONMENT = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
#: The fix for a key in a settings file.
KEYS_STAND = "put the key into an environment variable, and its name into model.api_key_variable"


def looks_like_a_key(text: str) -> bool:
    """Whether a text contains something that looks like a provider's key or a token."""
    return bool(_KEY.search(text))


def names_a_key(name: str) -> bool:
    """Whether a key of a request body or of a URL's query names a credential."""
    return bool(_CREDENTIAL_NAME.fullmatch(re.sub(r"[^a-z]", "", name.lower())))


def wrong_with_url(url: str) -> str | None:
    """Return the problem with an endpoint's base URL, without quoting it; None if it is valid.

    User and password are not checked here.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        return "is not a URL with http:// or https:// and a host"
    keys = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if names_a_key(name)]
    if keys or looks_like_a_key(f"{parts.hostname}{parts.path}?{parts.query}#{parts.fragment}"):
        where = f" ({keys[0][:40]})" if keys and not looks_like_a_key(keys[0]) else ""
        return f"holds a key{where}, which is visible to everyone on the way; {KEYS_STAND}"
    return None


def shown_url(url: str) -> str:
    """Return a URL that is safe to show and store, without user, password and query values.

    Every query value is masked because a server may give its keys any name.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"{url.partition('://')[0]}://***"
    query = "&".join(_mask(part) for part in parts.query.split("&")) if parts.query else ""
    netloc = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=netloc, query=query, fragment="***" if parts.fragment else "").geturl()


def _mask(part: str) -> str:
    name, is_named, _ = part.partition("=")
    return f"{name}=***" if is_named and not looks_like_a_key(name) else "***"


def redact(key: str, value: object) -> object:
    """Return a setting that is safe to show and store.

    Args:
        key: the setting's dotted key.
        value: its value, which was accepted as a setting.
    """
    if not isinstance(value, str):
        return value
    if key.startswith("model.") and ".query." in key:
        return "***"
    return shown_url(value) if _ADDRESS.fullmatch(value) else value


def redacted_settings(settings: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return settings, by section, that are safe to show and store; see :func:`redact`."""
    return {
        key: redacted_settings(value, f"{above}{key}.")
        if isinstance(value, Mapping)
        else redact(f"{above}{key}", value)
        for key, value in settings.items()
    }


def variable_of(value: str) -> str | None:
    """Return the environment variable that a header names as ``$NAME``; None if it is plain text."""
    match = _FROM_ENVIRONMENT.fullmatch(value)
    return match[1] if match else None


def _url(url: str) -> str:
    problem = wrong_with_url(url)
    if problem is None and "@" in urlsplit(url).netloc:
        problem = f"holds a user or a password; {KEYS_STAND}, or put the whole URL into OPENAI_BASE_URL"
    if problem:
        raise PydanticCustomError(CREDENTIAL, "{problem}", {"problem": problem})
    return url


def _variable(name: str) -> str:
    random = any(
        len(word) > _LONGEST_OTHER_WORD and not _PLAIN_WORD.fullmatch(word) for word in name.split("_")
    )
    if not _VARIABLE.fullmatch(name) or looks_like_a_key(name) or random:
        raise PydanticCustomError(
            CREDENTIAL,
            "is not the name of an environment variable, such as OPENAI_API_KEY; keys belong in the "
            "environment, never in a file",
        )
    return name


def _body(body: dict[str, Any]) -> dict[str, Any]:
    if key := next(_keys_in(body), None):
        raise PydanticCustomError(CREDENTIAL, "{found} looks like a key; " + KEYS_STAND, {"found": key})
    return body


def _headers(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if looks_like_a_key(name):
            raise PydanticCustomError(CREDENTIAL, "the name of a header looks like a key; " + KEYS_STAND)
        if not _HEADER.fullmatch(name):
            raise PydanticCustomError(
                "header", "{name} is not a header that can be set", {"name": repr(name)}
            )
        if variable := variable_of(value):
            _variable(variable)
            continue
        last = re.split(r"[-_]", name.lower())[-1]
        if last in {"cookie", "session"} or any(map(names_a_key, (last, name))) or looks_like_a_key(value):
            raise PydanticCustomError(
                CREDENTIAL,
                "{name} holds a credential; put it into an environment variable, and name the variable "
                "here, for example {name}: $MY_VARIABLE",
                {"name": name},
            )
        if not value.isascii() or not value.isprintable():
            raise PydanticCustomError(
                "header", "{name} contains characters that are not allowed in a header", {"name": name}
            )
    return headers


def _query(query: dict[str, str]) -> dict[str, str]:
    for name, value in query.items():
        if names_a_key(name) or looks_like_a_key(f"{name}={value}"):
            raise PydanticCustomError(
                CREDENTIAL, "holds a key, which is visible to everyone on the way; " + KEYS_STAND
            )
    return query


def _as_text(value: object) -> object:
    """YAML reads 2024-10-21 as a date, and 1 as a number."""
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _keys_in(value: object, path: str = "") -> Iterator[str]:
    if isinstance(value, str) and looks_like_a_key(value):
        yield path or "a text"
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            key = f"{path}.{name}".lstrip(".")
            if isinstance(inner, str) and inner and names_a_key(str(name)):
                yield key
            elif looks_like_a_key(str(name)):
                yield "one of its keys"
            else:
                yield from _keys_in(inner, key)
    elif isinstance(value, list | tuple | set):
        for inner in value:
            yield from _keys_in(inner, path)


def _plain(text: str) -> str:
    if looks_like_a_key(text):
        raise PydanticCustomError(CREDENTIAL, "looks like a key; " + KEYS_STAND)
    return text


BaseUrl = Annotated[str, AfterValidator(_url)]
VariableName = Annotated[str, AfterValidator(_variable)]
Body = Annotated[dict[str, Any], AfterValidator(_body)]
PlainText = Annotated[str, AfterValidator(_plain)]
#: A text that may be written as a date or a number.
AnyPlainText = Annotated[PlainText, BeforeValidator(_as_text)]
Headers = Annotated[dict[str, Annotated[str, BeforeValidator(_as_text)]], AfterValidator(_headers)]
Query = Annotated[dict[str, Annotated[str, BeforeValidator(_as_text)]], AfterValidator(_query)]
