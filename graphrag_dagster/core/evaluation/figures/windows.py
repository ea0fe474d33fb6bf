"""Win rates of context windows against each other (paper Appendix C)."""

import polars as pl

from graphrag_dagster.core.evaluation.figures.figure import Figure, words
from graphrag_dagster.core.evaluation.figures.measures import Bar, Panel, bar_panels
from graphrag_dagster.core.language.evaluating import CRITERIA


def window_bars(rates: pl.DataFrame) -> Figure | None:
    """Draw the mean win rate of every window, a panel per criterion.

    Args:
        rates: criterion, window (tokens, as text), win_rate (0–100, mean over the other windows).

    Returns:
        None with fewer than two windows.
    """
    windows = sorted(set(rates["window"]), key=_size)
    if len(windows) < 2:
        return None
    labels = {window: _label(window) for window in windows}
    present = set(rates["criterion"])
    criteria = [name for name in CRITERIA if name in present] + sorted(present - set(CRITERIA))
    chosen = {
        criterion: rates.filter(pl.col("criterion") == criterion).select("window", "win_rate").iter_rows()
        for criterion in criteria
    }
    return bar_panels(
        [
            Panel(words(criterion), {labels[window]: Bar(rate) for window, rate in rows}, even=50.0)
            for criterion, rows in chosen.items()
        ],
        list(labels.values()),
        plain=None,
        name="windows",
        title="Context windows",
        caption="Win rates in per cent of plain retrieval with each context window (tokens), means over the "
        "other windows and the questions. Dotted lines are at 50, where neither side is better.",
    )


def _size(window: str) -> tuple[float, str]:
    return (float(window) if window.isdecimal() else float("inf"), window)


def _label(window: str) -> str:
    return f"{int(window):,}" if window.isdecimal() else window
