"""Logging, accounting and alerts when a step ends, and its retries."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dagster import AssetExecutionContext, HookContext, RetryRequested, failure_hook, success_hook

from graphrag_dagster.errors import EndpointDown, EndpointError
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed, Refused
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.pipeline.orchestration.dagster_keys import CORPUS, resource_key
from graphrag_dagster.kernel.pipeline.orchestration.garbage_collection import collect

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache


PARTITION_TAG = "dagster/partition"
_MEMORY = resource_key("memory")
CORPUS_TAG, CALLS_TAG, TOKENS_TAG, USD_TAG = (
    f"graphrag/{name}" for name in (str(CORPUS.name), "calls", "tokens", "usd")
)


@dataclass(frozen=True, slots=True)
class StepFailure:
    """A step that failed for good: which, of which run and corpus, and why."""

    corpus: str
    step: str
    run_id: str
    reason: str


Alert = Callable[[StepFailure], None]
_alerts: list[Alert] = []


def on_failure(alert: Alert) -> Alert:
    """Have ``alert`` called with every :class:`StepFailure`; usable as a decorator.

    Called in the process that ran the step. What it raises is logged and changes nothing else.
    """
    if alert not in _alerts:
        _alerts.append(alert)
    return alert


@success_hook(name="account", required_resource_keys={_MEMORY})
def account(context: HookContext) -> None:
    """Log a line with corpus, seconds and cost, and tag the run with what it has used so far."""
    collect()
    corpus, line = _noted(context)
    context.log.info("%s: %s is done; %s", corpus, context.op.name, line)


@failure_hook(name="alarm", required_resource_keys={_MEMORY})
def alarm(context: HookContext) -> None:
    """Log a line with corpus, seconds and cost, tag the run, and call what :func:`on_failure` was given."""
    corpus, line = _noted(context)
    reason = _reason(context.op_exception)
    context.log.error("%s: %s failed; %s: %s", corpus, context.op.name, line, reason)
    failure = StepFailure(corpus, context.op.name, context.run_id, reason)
    for alert in _alerts:
        try:
            alert(failure)
        # An alert is anybody's code, and the others are to be heard all the same.
        except Exception as error:
            context.log.warning("the alert %s failed: %s", getattr(alert, "__name__", alert), error)


HOOKS = frozenset({account, alarm})


def _noted(context: HookContext) -> tuple[str, str]:
    record = context.instance.get_run_record_by_id(context.run_id)
    if record is None:
        return "?", "the run is unknown"
    tags = record.dagster_run.tags
    corpus = tags.get(PARTITION_TAG, "?")
    memory: LLMCache = getattr(context.resources, _MEMORY)
    use = memory.usage_log().of_run(corpus, context.run_id)
    wanted = _tags(corpus, use)
    if any(tags.get(name) != value for name, value in wanted.items()):
        context.instance.add_run_tags(context.run_id, wanted)
    seconds = time.time() - (record.start_time or time.time())
    usd = wanted[USD_TAG] if wanted[USD_TAG] == "unknown" else f"${wanted[USD_TAG]}"
    return corpus, f"the run so far: {seconds:.1f} s, {use.calls} calls, {use.tokens} tokens, {usd}"


def _tags(corpus: str, use: ModelUse) -> dict[str, str]:
    # Money is unknown where the price of a model is.
    usd = "unknown" if use.money is None else f"{use.money:.6f}"
    return {CORPUS_TAG: corpus, CALLS_TAG: str(use.calls), TOKENS_TAG: str(use.tokens), USD_TAG: usd}


def _reason(error: BaseException | None) -> str:
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


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
