"""What an error of a call means: what to raise if it stays, and whether and when to try again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from graphrag_dagster.core.language.chat.port import CallFailed, Refused
from graphrag_dagster.errors import EndpointDown, EndpointError, OutOfCredit
from graphrag_dagster.model_calls.endpoint.address import BASE_URL, Address
from graphrag_dagster.model_calls.endpoint.envelope import BadAnswer, json_object
from graphrag_dagster.model_calls.endpoint.limits import LONGEST_WAIT, duration, retry_after
from graphrag_dagster.model_calls.endpoint.patience import Waited

if TYPE_CHECKING:
    from graphrag_dagster.model_calls.endpoint.client import StatusError

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


@dataclass(frozen=True)
class Trouble:
    """An error of a call: what to raise if it stays, and whether and when to try again.

    ``too_many``: the endpoint is busy; that is no failure of the call, however often it happens. ``silent``:
    no answer came within the time limit.
    """

    error: EndpointError
    again: bool = False
    wait: float | None = None
    too_many: bool = False
    silent: bool = False


class Troubles:
    """Tells the errors of one endpoint apart; no message holds its key.

    Args:
        address: the endpoint.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._clean = address.clean

    @property
    def _shown(self) -> str:
        return self._address.shown

    def parsed(self, text: str) -> dict[str, Any] | Trouble:
        """Return the JSON object of an answer, or what is wrong with it."""
        answer = json_object(text)
        if answer is not None and not answer.get("error"):
            return answer
        shown = self._clean(text) or "an empty body"
        return Trouble(CallFailed(f"{self._shown} sent no usable JSON: {shown}"), again=True)

    def of_error(self, error: Exception, waited: Waited, *, answered_before: bool) -> Trouble:
        """Return what an exception of the client means.

        Args:
            error: what the client raised.
            waited: what was asked for, and how long it was waited for.
            answered_before: the endpoint has answered a call already, so that it is worth another try.
        """
        import httpx2

        from graphrag_dagster.model_calls.endpoint.client import StatusError

        if isinstance(error, TimeoutError):
            text = f"no reply from {self._shown} {waited.limits}; set model.timeout_seconds higher"
            return Trouble(CallFailed(text), again=True, silent=True)
        if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL):
            return self._no_connection(error, answered_before)
        if isinstance(error, StatusError):
            return self._status(error, waited.call.whom)
        if isinstance(error, BadAnswer):
            return Trouble(CallFailed(f"{self._shown} {self._clean(str(error))}"), again=error.again)
        return Trouble(EndpointError(f"{self._shown}: {type(error).__name__}: {self._clean(str(error))}"))

    def _no_connection(self, error: Exception, answered_before: bool) -> Trouble:
        import httpx2

        detail = self._clean(str(error)) or type(error).__name__
        if isinstance(
            error,
            httpx2.ConnectError
            | httpx2.ConnectTimeout
            | httpx2.UnsupportedProtocol
            | httpx2.InvalidURL
            | httpx2.LocalProtocolError,
        ):
            mend = "SSL_CERT_FILE" if "CERTIFICATE_VERIFY" in detail else f"model.base_url or {BASE_URL}"
            text = f"cannot reach {self._shown}: {detail}; set {mend}"
            return Trouble(EndpointDown(text), again=answered_before)
        return Trouble(CallFailed(f"the connection to {self._shown} broke: {detail}"), again=True)

    def _status(self, error: "StatusError", what: str) -> Trouble:
        status = error.status
        if 300 <= status < 400:
            return Trouble(self._redirect(status, error.headers.get("location") or ""))
        said = self._clean(error.said) or "no reason given"
        if status in {401, 403}:
            text = f"{self._shown} refuses the key in ${self._address.variable} ({status}): {said}"
            return Trouble(EndpointError(text))
        if status == 404:
            text = f"{self._shown} has no {what}, or the URL is wrong (404): {said}"
            return Trouble(EndpointError(f"{text}; set model.name or model.base_url"))
        if status == 429 and error.code == "insufficient_quota":
            return Trouble(OutOfCredit(f"{self._shown}: the account has no credit left (429): {said}"))
        if status == 429:
            return self._too_many(said, error.headers)
        if status in _PASSING or status >= 500:
            wait = retry_after(error.headers)
            failed = CallFailed(f"{self._shown} answered {status}: {said}")
            return Trouble(failed, wait is None or wait <= LONGEST_WAIT, wait)
        return Trouble(Refused(f"{self._shown} refused the request ({status}): {said}"))

    def _redirect(self, status: int, location: str) -> EndpointError:
        try:
            parts = urlsplit(urljoin(self._shown, location))
            # The path may hold a token.
            place = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
        except ValueError:
            place = "another place"
        return EndpointError(
            f"{self._shown} redirects to {self._clean(place)} ({status}). Redirects are not followed, lest "
            f"texts go elsewhere: set model.base_url or {BASE_URL} to the address that answers"
        )

    def _too_many(self, said: str, headers: Mapping[str, str]) -> Trouble:
        wait = retry_after(headers)
        if wait is None:
            left = headers.get("x-ratelimit-remaining-requests")
            exhausted = "requests" if left is not None and left.strip() in {"0", "0.0"} else "tokens"
            wait = duration(headers.get(f"x-ratelimit-reset-{exhausted}"))
        if wait is not None and wait > LONGEST_WAIT:
            text = (
                f"{self._shown} has no more to give for {wait / 60:.0f} minutes (429): {said}. "
                "Nothing that was done is lost: run again then"
            )
            return Trouble(EndpointError(text), too_many=True, wait=wait)
        failed = CallFailed(f"{self._shown} answered 429: {said}")
        return Trouble(failed, again=True, wait=wait, too_many=True)
