"""Maps errors of a call to what to raise if they persist, and whether and when to retry."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from graphrag_dagster.errors import EndpointDown, EndpointError, OutOfCredit
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, Refused
from graphrag_dagster.kernel.models.endpoint.endpoint_address import BASE_URL, Address
from graphrag_dagster.kernel.models.endpoint.rate_limits import (
    LONGEST_WAIT,
    retry_after,
)
from graphrag_dagster.kernel.models.endpoint.response_parsing import (
    MalformedResponse,
    finish_reason,
    first,
    json_object,
    mapping,
)

_PASSING = frozenset({408, 409, 425})
#: Statuses of an endpoint that has too much to do, or loads its model.
_BUSY = frozenset({429, 503, 529})
#: Codes and types of errors by which an account has no money left, beside the status 402.
_NO_CREDIT = frozenset({"402", "insufficient_quota", "billing_hard_limit_reached"})
_NO_HEADERS: Mapping[str, str] = {}


@dataclass(frozen=True)
class CallError:
    """An error of a call: what to raise if it stays, and whether and when to try again.

    ``busy``: the endpoint has too much to do; that is no failure of the call, however often it happens.
    ``silent``: no answer came within the time limit.
    """

    error: EndpointError
    again: bool = False
    wait: float | None = None
    busy: bool = False
    silent: bool = False


class ErrorMapping:
    """Tells the errors of one endpoint apart; no message holds its key.

    Args:
        address: the endpoint.
        timeout: seconds for which it may be silent.
    """

    def __init__(self, address: Address, timeout: float) -> None:
        self._address = address
        self._timeout = timeout
        self._clean = address.redact

    @property
    def _shown_url(self) -> str:
        return self._address.shown_url

    def parse(self, content: bytes, what: str) -> dict[str, Any] | CallError:
        """Return the JSON object of an answer, or what is wrong with it; ``what`` was asked for."""
        answer = json_object(content)
        if answer is None:
            shown = self._clean(content.decode(errors="replace")) or "an empty body"
            return CallError(CallFailed(f"{self._shown_url} sent no usable JSON: {shown}"), again=True)
        if error := answer.get("error"):
            return self._error_in_answer(error, what)
        choice = first(answer.get("choices"))
        if finish_reason(choice.get("finish_reason")) != "error":
            return answer
        if error := choice.get("error"):
            return self._error_in_answer(error, what)
        reason = self._clean(str(choice["finish_reason"]))
        return CallError(
            CallFailed(f"{self._shown_url} cut its reply short (finish_reason {reason!r})"), again=True
        )

    def of_error(self, error: Exception, what: str, *, answered_before: bool) -> CallError:
        """Return what an exception of a call means.

        Args:
            error: what the client raised.
            what: what was asked for.
            answered_before: the endpoint has answered a call already, so that it is worth another try.
        """
        import httpx2
        import openai

        # The package's own words say nothing of the cause.
        cause = error.__cause__ or error if isinstance(error, openai.APIConnectionError) else error
        if isinstance(error, TimeoutError):
            text = f"the reply of {self._shown_url} did not come to an end"
            return CallError(CallFailed(text), again=True, silent=True)
        if isinstance(cause, httpx2.ReadTimeout | httpx2.WriteTimeout):
            text = (
                f"no reply from {self._shown_url} for {self._timeout:g} s; set model.timeout_seconds higher"
            )
            return CallError(CallFailed(text), again=True, silent=True)
        connection = openai.APIConnectionError | httpx2.HTTPError | httpx2.InvalidURL | httpx2.StreamError
        if isinstance(error, connection):
            return self._no_connection(cause, answered_before)
        if isinstance(error, openai.APIStatusError):
            told = error.body if error.body is not None else ""
            return self._status(error.status_code, told, error.response.headers, what)
        if isinstance(error, openai.APIError):
            return self._error_in_answer(error.body or error.message, what)
        if isinstance(error, MalformedResponse):
            return CallError(CallFailed(f"{self._shown_url} {self._clean(str(error))}"), again=True)
        if isinstance(error, EndpointError):
            return CallError(error)
        return CallError(
            EndpointError(f"{self._shown_url}: {type(error).__name__}: {self._clean(str(error))}")
        )

    def _no_connection(self, error: BaseException, answered_before: bool) -> CallError:
        import ssl

        import httpx2

        detail = self._clean(str(error)) or type(error).__name__
        if isinstance(
            error,
            httpx2.ConnectError
            | httpx2.ConnectTimeout
            | httpx2.UnsupportedProtocol
            | httpx2.InvalidURL
            | httpx2.LocalProtocolError
            | ssl.SSLError,
        ):
            mend = "SSL_CERT_FILE" if "CERTIFICATE_VERIFY" in detail else f"model.base_url or {BASE_URL}"
            text = f"cannot reach {self._shown_url}: {detail}; set {mend}"
            return CallError(EndpointDown(text), again=answered_before)
        return CallError(CallFailed(f"the connection to {self._shown_url} was lost: {detail}"), again=True)

    def _error_in_answer(self, error: object, what: str) -> CallError:
        """An error that arrives instead of an answer, or within one."""
        code = mapping(error).get("code")
        status = int(code) if isinstance(code, int | str) and re.fullmatch(r"[45]\d\d", str(code)) else 0
        said = self._clean(_message(error)) or "no reason given"
        if status in {401, 402, 403, 404, *_BUSY} or is_out_of_credit(error):
            return self._status(status or 402, error, _NO_HEADERS, what)
        return CallError(CallFailed(f"{self._shown_url} cut its reply short: {said}"), again=True)

    def _status(self, status: int, told: object, headers: Mapping[str, str], what: str) -> CallError:
        if 300 <= status < 400:
            return CallError(self._redirect(status, headers.get("location") or ""))
        said = self._clean(_message(told)) or "no reason given"
        if status == 402 or is_out_of_credit(told):
            return CallError(
                OutOfCredit(
                    f"{self._shown_url}: the account has no credit left ({status}): {said}. Paid replies are "
                    "kept: add credit, or set another model.base_url, and run again"
                )
            )
        if status in {401, 403}:
            text = f"{self._shown_url} rejects the key in ${self._address.variable} ({status}): {said}"
            return CallError(EndpointError(text))
        if status == 404:
            mend = "set model.name or model.base_url"
            if self._address.is_azure:
                mend = "set model.name to the name of the deployment, model.base_url or model.api_version"
            text = f"{self._shown_url} has no {what}, or the URL is wrong (404): {said}"
            return CallError(EndpointError(f"{text}; {mend}"))
        if status in _BUSY or status in _PASSING or status >= 500:
            return self._passing(status, said, retry_after(headers))
        text = f"{self._shown_url} rejected the request ({status}): {said}"
        return CallError(RefusedWith(text, status, self._clean(_message(told))))

    def _redirect(self, status: int, location: str) -> EndpointError:
        try:
            parts = urlsplit(urljoin(self._shown_url, location))
            # The path may hold a token.
            place = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
        except ValueError:
            place = "another address"
        return EndpointError(
            f"{self._shown_url} redirects to {self._clean(place)} ({status}). Redirects are not followed, so "
            f"that texts go nowhere else: set model.base_url or {BASE_URL} to the final address"
        )

    def _passing(self, status: int, said: str, wait: float | None) -> CallError:
        """An error that waiting may mend; an endpoint that asks to wait for very long ends the run."""
        if wait is not None and wait > LONGEST_WAIT:
            state = "has reached its rate limit" if status == 429 else "cannot be used"
            text = f"{self._shown_url} {state} for {wait / 60:,.0f} minutes ({status}): {said}"
            return CallError(EndpointError(f"{text}. Finished work is kept: run again then"))
        failed = CallFailed(f"{self._shown_url} answered {status}: {said}")
        return CallError(failed, again=True, wait=wait, busy=status in _BUSY)


class RefusedWith(Refused):
    """A refusal with its HTTP status, and what the endpoint said."""

    def __init__(self, text: str, status: int, said: str) -> None:
        super().__init__(text)
        self.status = status
        self.said = said


def is_out_of_credit(told: object) -> bool:
    """Whether the body of an error says that the account has no money left."""
    error = mapping(told)
    return not _NO_CREDIT.isdisjoint({str(error.get("code")), str(error.get("type"))})


def _message(told: object) -> str:
    if not isinstance(told, dict):
        return str(told or "").strip()
    inner = told.get("message") or told.get("error") or told.get("detail") or told
    return str(inner.get("message", inner) if isinstance(inner, dict) else inner)
