"""Logging and accounting at the end of a step, and its retries."""

import time
from typing import TYPE_CHECKING

from dagster import AssetExecutionContext, RetryRequested

from graphrag_dagster.errors import EndpointDown, EndpointError
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, Refused
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.pipeline.garbage_collection import collect
from graphrag_dagster.resources.dagster_keys import CORPUS, PARTITION_TAG, resource_key

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache


_MEMORY = resource_key("memory")
CORPUS_TAG, CALLS_TAG, TOKENS_TAG, USD_TAG = (
    f"graphrag/{name}" for name in (str(CORPUS.name), "calls", "tokens", "usd")
)
#: Tokens that what a run beyond the index asks of models may need: at least, expected, at most.
ESTIMATE_TAG = "graphrag/estimated_tokens"


def account(context: AssetExecutionContext, step: str) -> None:
    """Log corpus, seconds and cost of a step that is done, and tag the run with its usage so far."""
    collect()
    corpus, line = _run_summary(context)
    context.log.info("%s: %s is done; %s", corpus, step, line)


def account_failed(context: AssetExecutionContext, step: str, error: Exception) -> None:
    """Log corpus, seconds and cost of a step that failed, and tag the run with its usage so far."""
    corpus, line = _run_summary(context)
    context.log.error("%s: %s failed; %s: %s", corpus, step, line, _reason(error))


def _run_summary(context: AssetExecutionContext) -> tuple[str, str]:
    record = context.instance.get_run_record_by_id(context.run_id)
    if record is None:
        return "?", "the run is unknown"
    tags = record.dagster_run.tags
    corpus = tags.get(PARTITION_TAG, "?")
    memory: LLMCache = getattr(context.resources, _MEMORY)
    use = memory.usage_log().of_run(corpus, context.run_id)
    usage_tags = _tags(corpus, use)
    if any(tags.get(name) != value for name, value in usage_tags.items()):
        context.instance.add_run_tags(context.run_id, usage_tags)
    seconds = time.time() - (record.start_time or time.time())
    usd = usage_tags[USD_TAG] if usage_tags[USD_TAG] == "unknown" else f"${usage_tags[USD_TAG]}"
    return corpus, f"the run so far: {seconds:.1f} s, {use.calls} calls, {use.tokens} tokens, {usd}"


def _tags(corpus: str, use: ModelUse) -> dict[str, str]:
    # The cost is unknown if the price of a model is.
    usd = "unknown" if use.money is None else f"{use.money:.6f}"
    return {CORPUS_TAG: corpus, CALLS_TAG: str(use.calls), TOKENS_TAG: str(use.tokens), USD_TAG: usd}


def _reason(error: BaseException | None) -> str:
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


#: Run tag: number of retries of a step. Interactive runs set 0, to report an outage at once.
RETRIES_TAG = "graphrag/step_retries"
RETRIES = 2
PAUSE_SECONDS = 60.0


def passes(error: EndpointError) -> bool:
    """Whether a retry may succeed without a fix by a person, such as a new key."""
    return isinstance(error, EndpointDown | CallFailed) and not isinstance(error, Refused)


def retry_of(error: EndpointError) -> RetryRequested | None:
    """Return the request to retry the running step, or None if its error is final.

    The pauses double. Nothing is paid for twice, because replies received before the outage are cached.
    """
    context = AssetExecutionContext.get()
    tag = context.run.tags.get(RETRIES_TAG, "")
    most = int(tag) if tag.isdecimal() else RETRIES
    if not passes(error) or context.retry_number >= most:
        return None
    context.log.warning("%s; retrying the step", error)
    return RetryRequested(most, PAUSE_SECONDS * 2**context.retry_number)
