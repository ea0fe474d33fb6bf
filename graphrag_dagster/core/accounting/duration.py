"""How long an index may take, told roughly before it begins."""

from collections.abc import Iterable

from graphrag_dagster.core.accounting.planning import Estimate, Range

#: Seconds that a run takes whatever is in it, and that a megabyte takes the extractive engine, as measured on
#: two cores (``benchmarks/README.md``); and what other machines may make of it.
_RUN, _MEGABYTE, _MACHINES = 8.0, 19.0, Range(0.6, 1.0, 3.0)
#: Reading a token costs a model this share of writing one.
_READING = 1 / 16


def extractive_seconds(size: int) -> Range:
    """Return the seconds of an index of so many bytes of text without a model."""
    return _MACHINES * (_RUN + _MEGABYTE * size / 1e6)


def model_seconds(estimates: Iterable[Estimate], seconds_per_token: float, concurrency: int) -> Range:
    """Return the seconds that a model takes for what is planned.

    Args:
        estimates: what is planned.
        seconds_per_token: what a token has taken.
        concurrency: most calls at once; how many of them an endpoint answers at once nobody knows, so the
            lowest number is that of an endpoint that answers all of them, the highest that of one that
            answers one after the other.
    """
    total = Range(0.0, 0.0, 0.0)
    for one in estimates:
        total = total + (one.output_tokens + one.input_tokens * _READING)
    return total * seconds_per_token * Range(1 / concurrency, 1 / concurrency**0.5, 1.0)
