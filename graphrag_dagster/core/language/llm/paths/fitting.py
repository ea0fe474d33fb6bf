"""How many candidates a prompt has room for."""

from bisect import bisect_right
from collections.abc import Callable

from graphrag_dagster.core.text.tokens import Tokenizer


def fitting(count: int, written: Callable[[int], str], most: int, tokenizer: Tokenizer) -> int:
    """Return the largest number of first candidates whose prompt has at most so many tokens.

    Args:
        count: candidates there are.
        written: the prompt with so many of them.
        most: tokens.
        tokenizer: counts them.

    Returns:
        0 where not even one fits.
    """
    numbers = range(1, count + 1)
    if count and tokenizer.count(written(count)) <= most:
        return count
    return bisect_right(numbers, most, key=lambda one: tokenizer.count(written(one)))
