"""Who wins most by a criterion, whatever is significant (paper Figure 2)."""

from collections.abc import Sequence
from math import fsum, isclose

import polars as pl


def overall_winners(win_rates: pl.DataFrame, criterion: str, conditions: Sequence[str]) -> list[str]:
    """Return the conditions with the highest mean win rate over their opponents, in the order given.

    The paper marks an overall winner for each data set and criterion and does not say how it is found. Here
    it is the row with the highest mean, without the cell of a condition against itself.

    Args:
        win_rates: criterion, condition, opponent, win_rate (0–100).
        criterion: by which they are compared.
        conditions: among which; a win rate over any other is left out.

    Returns:
        Several where means are equal; none where all are, since then nobody wins.
    """
    rates: dict[str, list[float]] = {}
    for condition, opponent, rate in (
        win_rates.filter(pl.col("criterion") == criterion, pl.col("win_rate").is_not_null())
        .select("condition", "opponent", "win_rate")
        .iter_rows()
    ):
        if condition != opponent and condition in conditions and opponent in conditions:
            rates.setdefault(condition, []).append(rate)
    means = {one: fsum(rates[one]) / len(rates[one]) for one in conditions if one in rates}
    winners = [one for one, mean in means.items() if isclose(mean, max(means.values()), abs_tol=1e-9)]
    return winners if len(winners) < len(means) else []
