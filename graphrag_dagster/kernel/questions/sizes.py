"""What judging the support of an answer asks of a model, told before anything is sent."""

from graphrag_dagster.kernel.catalogue.engines import JudgeName
from graphrag_dagster.kernel.models.accounting.planning import Range, WaySize

#: Tokens of a prompt without its material.
_PROMPT = 700
#: Calls that judge the support of an answer's statements, and tokens of these with their words in one.
_JUDGING, _STATEMENTS = Range(0.0, 1.0, 4.0), 1000


def with_support_judged(size: WaySize, judge: JudgeName) -> WaySize:
    """Add what a chat model is asked about the support of the answer's statements, where it judges."""
    if judge != "model" or not size.calls.high:
        return size
    return WaySize(size.calls + _JUDGING, size.input_tokens + _JUDGING * (_PROMPT + _STATEMENTS))
