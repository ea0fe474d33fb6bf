"""Heat maps of win rates: of conditions (paper Figure 2) and of context windows (paper Appendix C)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.apps.evaluation.figures.figure_style import (
    EMPTY,
    INK,
    QUIET,
    SMALL,
    Figure,
    panels,
    render_figure,
    sentences,
    words,
)
from graphrag_dagster.apps.evaluation.figures.measure_bars import Bar, Panel, bar_panels
from graphrag_dagster.apps.evaluation.inference.verdict import overall_winners
from graphrag_dagster.apps.evaluation.tasks import CRITERIA

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure as Drawing
    from matplotlib.typing import ColorType

Rates = NDArray[np.float64]
Marks = NDArray[np.bool_]
EVEN = 50.0
_LEAST_RANGE = 20.0
_CAPTION = (
    "Win rates in per cent of the condition of the row over that of the column, means over the questions; "
    "50 is even. Bold is the overall winner by a criterion, the row with the highest mean, as in the paper. "
    "* is significant: Wilcoxon signed-rank, corrected by Holm within the criterion, p < .05."
)


@dataclass(frozen=True, slots=True)
class Map:
    """The map of one criterion: rates and marks of significance, shape [row, column]; winners by name."""

    rates: Rates
    marks: Marks
    winners: Sequence[str]


def win_rate_maps(
    win_rates: pl.DataFrame, significance: pl.DataFrame, conditions: Sequence[str]
) -> Figure | None:
    """Draw one map per criterion, the conditions in the given order on both axes.

    Args:
        win_rates: criterion, condition, opponent, win_rate (0–100).
        significance: measure, condition_a, condition_b, significant; other measures are passed over.
        conditions: which to show; those without any win rate are left out.

    Returns:
        None where no pair of the conditions was judged.
    """
    rates = win_rates.filter(
        pl.col("condition").is_in(conditions)
        & pl.col("opponent").is_in(conditions)
        & (pl.col("condition") != pl.col("opponent"))
        & pl.col("win_rate").is_not_null()
    )
    if rates.is_empty():
        return None
    judged = set(rates["condition"]) | set(rates["opponent"])
    shown = [condition for condition in dict.fromkeys(conditions) if condition in judged]
    present = set(rates["criterion"])
    criteria = [name for name in CRITERIA if name in present] + sorted(present - set(CRITERIA))
    maps = {
        name: Map(
            _rates(rates, name, shown),
            _significant(significance, name, shown),
            overall_winners(rates, name, shown),
        )
        for name in criteria
    }
    columns = 1 if len(criteria) == 1 else 2
    rows = -(-len(criteria) // columns)
    missing = any(np.isnan(_off_diagonal(one.rates)).any() for one in maps.values())
    return render_figure(
        lambda drawing: _draw(drawing, maps, shown, columns),
        height=0.7 + rows * (0.55 + min(2.95 if columns == 2 else 3.8, 0.52 * len(shown))),
        name="win_rates",
        title="Win rates",
        caption=sentences(_CAPTION, "Dashes are pairs that were not judged." if missing else ""),
        alt=_alt(maps, shown),
    )


def _rates(rates: pl.DataFrame, criterion: str, shown: Sequence[str]) -> Rates:
    """Return shape [row, column], not a number where a pair was not judged."""
    place = {condition: index for index, condition in enumerate(shown)}
    values = np.full((len(shown), len(shown)), np.nan)
    chosen = rates.filter(pl.col("criterion") == criterion)
    for condition, opponent, rate in chosen.select("condition", "opponent", "win_rate").iter_rows():
        values[place[condition], place[opponent]] = rate
    return values


def _significant(significance: pl.DataFrame, criterion: str, shown: Sequence[str]) -> Marks:
    place = {condition: index for index, condition in enumerate(shown)}
    marks = np.zeros((len(shown), len(shown)), dtype=np.bool_)
    chosen = significance.filter((pl.col("measure") == criterion) & pl.col("significant"))
    for a, b in chosen.select("condition_a", "condition_b").iter_rows():
        if a in place and b in place:
            marks[place[a], place[b]] = marks[place[b], place[a]] = True
    return marks


def _off_diagonal(values: Rates) -> Rates:
    return values[~np.eye(len(values), dtype=np.bool_)]


def _draw(drawing: "Drawing", maps: Mapping[str, Map], shown: Sequence[str], columns: int) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    furthest = max(float(np.nanmax(np.abs(one.rates - EVEN))) for one in maps.values())
    reach = min(EVEN, max(_LEAST_RANGE, 10 * float(np.ceil(furthest / 10))))
    # The ends of the map are too dark for text.
    hues = colormaps["RdBu"].resampled(256)
    scale = Normalize(EVEN - reach * 1.4, EVEN + reach * 1.4)
    axes = panels(drawing, len(maps), columns)
    for axis, (criterion, one) in zip(axes, maps.items(), strict=True):
        _panel(axis, one, shown, hues, scale)
        axis.set_title(words(criterion), pad=8)
    _key(drawing, axes, hues, scale, reach)


def _panel(axis: "Axes", drawn_map: Map, shown: Sequence[str], hues: "Colormap", scale: "Normalize") -> None:
    from matplotlib.patches import Rectangle

    for row, column in np.ndindex(drawn_map.rates.shape):
        rate = drawn_map.rates[row, column]
        colour = EMPTY if row == column or np.isnan(rate) else hues(scale(rate))
        axis.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
        if row == column:
            continue
        text = "–" if np.isnan(rate) else f"{rate:.0f}{'*' if drawn_map.marks[row, column] else ''}"
        axis.text(
            column,
            row,
            text,
            ha="center",
            va="center_baseline",
            fontsize=SMALL if len(shown) > 8 else 9.0,
            fontweight="bold" if shown[row] in drawn_map.winners else "normal",
            color=QUIET if np.isnan(rate) else _ink(colour),
        )
    long = max(map(len, shown)) * len(shown) > 34
    axis.set_xticks(
        range(len(shown)),
        shown,
        rotation=90 if long else 0,
        ha="right" if long else "center",
        va="center" if long else "top",
        rotation_mode="anchor" if long else "default",
    )
    axis.set_yticks(range(len(shown)), shown)
    for label in axis.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() in drawn_map.winners else "normal")
    axis.tick_params(length=0)
    axis.set(xlim=(-0.5, len(shown) - 0.5), ylim=(len(shown) - 0.5, -0.5), aspect="equal")
    axis.spines[:].set_visible(False)


def _ink(colour: "ColorType") -> str:
    """Return what can be read on the colour, by its relative luminance."""
    from matplotlib.colors import to_rgb

    channels = np.array(to_rgb(colour), dtype=np.float64)
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return INK if float(linear @ (0.2126, 0.7152, 0.0722)) > 0.213 else "white"


def _key(
    drawing: "Drawing", axes: Sequence["Axes"], hues: "Colormap", scale: "Normalize", reach: float
) -> None:
    from matplotlib.cm import ScalarMappable

    bar = drawing.colorbar(
        ScalarMappable(scale, hues), ax=list(axes), location="bottom", aspect=45, shrink=0.5, pad=0.03
    )
    ticks = [EVEN - reach, EVEN - reach / 2, EVEN, EVEN + reach / 2, EVEN + reach]
    bar.set_ticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    bar.ax.set_xlim(EVEN - reach, EVEN + reach)
    bar.ax.tick_params(length=0, labelsize=SMALL)
    bar.set_label("win rate of the row over the column, %", size=SMALL)
    bar.outline.set_visible(False)


def _alt(maps: Mapping[str, Map], shown: Sequence[str]) -> str:
    parts = []
    for criterion, one in maps.items():
        means = {
            condition: float(np.nanmean(row))
            for condition, row in zip(shown, one.rates, strict=True)
            if not np.isnan(row).all()
        }
        ranked = ", ".join(f"{name} {mean:.0f}" for name, mean in sorted(means.items(), key=lambda m: -m[1]))
        parts.append(f"{words(criterion)}: {ranked}.")
    return sentences("Heat maps of win rates. Mean over all opponents, per cent.", *parts)


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
