"""Retries a step if an endpoint does not answer, and only then."""

from dagster import AssetExecutionContext, RetryRequested

from graphrag_dagster.errors import EndpointDown, EndpointError
from graphrag_dagster.kernel.models.chat.port import CallFailed, Refused

#: Run tag: how often a step is tried again. Who waits for the run sets 0 and hears of the outage at once.
RETRIES_TAG = "graphrag/step_retries"
RETRIES = 2
PAUSE_SECONDS = 60.0


def passes(error: EndpointError) -> bool:
    """Whether the same may succeed later: nothing that a person has to mend first, such as a key."""
    return isinstance(error, EndpointDown | CallFailed) and not isinstance(error, Refused)


def retry_of(error: EndpointError) -> RetryRequested | None:
    """The request to try the running step again, None where its error has to stand.

    The pauses double. Nothing is asked twice: what was answered before the outage is cached.
    """
    context = AssetExecutionContext.get()
    told = context.run.tags.get(RETRIES_TAG, "")
    most = int(told) if told.isdecimal() else RETRIES
    if not passes(error) or context.retry_number >= most:
        return None
    context.log.warning("%s; retrying the step", error)
    return RetryRequested(most, PAUSE_SECONDS * 2**context.retry_number)
