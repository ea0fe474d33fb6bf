"""Bars of the measures of all conditions, with intervals (paper Tables 3 and 4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from graphrag_dagster.apps.evaluation.figures.figure_style import (
    ACCENT,
    INK,
    PLAIN,
    QUIET,
    SMALL,
    Figure,
    panels,
    render_figure,
    sentences,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

_BAR = 0.66


@dataclass(frozen=True, slots=True)
class Bar:
    """A mean with the bounds of its interval, and whether it is marked."""

    mean: float
    low: float | None = None
    high: float | None = None
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """The bars of one measure by their labels; ``even`` is the value that favours nobody.

    ``top``: the axis reaches at least there.
    """

    title: str
    bars: Mapping[str, Bar]
    even: float | None = None
    top: float | None = None


def measure_bars(
    means: pl.DataFrame,
    significance: pl.DataFrame,
    measures: Sequence[str],
    conditions: Sequence[str],
    baseline: str,
    *,
    top: float | None = None,
    name: str = "measures",
    title: str = "Measures of the answers",
    note: str = "",
) -> Figure | None:
    """Draw a panel of bars per measure, and mark what differs from the baseline.

    Args:
        means: measure, condition, mean, ci_low, ci_high, the last three nullable.
        significance: measure, condition_a, condition_b, significant.
        measures: which to show, in this order; those without any mean are left out.
        conditions: which to show, in this order; those without any mean are left out.
        baseline: condition that the others are compared with; may be missing.
        top: the highest value that there can be, so that all panels are on one scale.
        name: of the figure, fit for a file.
        title: of the figure.
        note: ends the caption.

    Returns:
        None where fewer than two conditions have a mean.
    """
    rows = means.filter(
        pl.col("mean").is_not_null()
        & pl.col("measure").is_in(measures)
        & pl.col("condition").is_in(conditions)
    )
    present = set(rows["condition"])
    shown = [condition for condition in dict.fromkeys(conditions) if condition in present]
    if len(shown) < 2:
        return None
    drawn_panels = [
        Panel(words(measure), bars, top=top)
        for measure in dict.fromkeys(measures)
        if (bars := _bars(rows, measure, _differing(significance, measure, baseline)))
    ]
    return bar_panels(
        drawn_panels,
        shown,
        plain=baseline,
        name=name,
        title=title,
        caption=sentences(_caption(drawn_panels, baseline, shown), note),
    )


def _bars(rows: pl.DataFrame, measure: str, differing: set[str]) -> dict[str, Bar]:
    chosen = rows.filter(pl.col("measure") == measure).select("condition", "mean", "ci_low", "ci_high")
    return {
        condition: Bar(mean, low, high, condition in differing)
        for condition, mean, low, high in chosen.iter_rows()
    }


def _differing(significance: pl.DataFrame, measure: str, baseline: str) -> set[str]:
    pairs = significance.filter((pl.col("measure") == measure) & pl.col("significant"))
    both = [set(pair) for pair in pairs.select("condition_a", "condition_b").iter_rows()]
    return {other for pair in both if baseline in pair for other in pair - {baseline}}


def _caption(shown_panels: Sequence[Panel], baseline: str, shown: Sequence[str]) -> str:
    bars = [bar for panel in shown_panels for bar in panel.bars.values()]
    intervals = any(bar.low is not None and bar.high is not None for bar in bars)
    return sentences(
        "Means over the questions" + (", with 95 % bootstrap intervals." if intervals else "."),
        f"* differs from {baseline} (grey; Wilcoxon signed-rank, Holm-corrected, p < .05)."
        if baseline in shown
        else "",
        "Dashes mean that there is no value."
        if any(len(panel.bars) < len(shown) for panel in shown_panels)
        else "",
    )


def bar_panels(
    shown_panels: Sequence[Panel],
    labels: Sequence[str],
    *,
    plain: str | None,
    name: str,
    title: str,
    caption: str,
) -> Figure:
    """Draw panels of horizontal bars that share their labels; the bar of ``plain`` is grey."""
    count = len(shown_panels)
    columns = {1: 1, 2: 2, 4: 2}.get(count, 3)
    rows = -(-count // columns)
    alt = sentences(
        "Bars.",
        *(
            f"{panel.title}: "
            + ", ".join(f"{x} {_number(panel, panel.bars[x].mean)}" for x in labels if x in panel.bars)
            + "."
            for panel in shown_panels
        ),
    )
    return render_figure(
        lambda drawing: _draw(drawing, shown_panels, labels, columns, plain),
        height=0.15 + rows * (0.62 + 0.235 * max(3, len(labels))),
        name=name,
        title=title,
        caption=caption,
        alt=alt,
    )


def _draw(
    drawing: "Drawing",
    shown_panels: Sequence[Panel],
    labels: Sequence[str],
    columns: int,
    plain: str | None,
) -> None:
    axes = panels(drawing, len(shown_panels), columns)
    for index, (axis, panel) in enumerate(zip(axes, shown_panels, strict=True)):
        _panel(axis, panel, labels, plain)
        axis.set_yticks(range(len(labels)), labels if index % columns == 0 else [""] * len(labels))
        axis.tick_params(axis="y", length=0)


def _panel(axis: "Axes", panel: Panel, labels: Sequence[str], plain: str | None) -> None:
    axis.set_title(panel.title, pad=6)
    if panel.even is not None:
        axis.axvline(panel.even, color=INK, linewidth=0.9, linestyle=(0, (1, 2)), zorder=3)
    for place, label in enumerate(labels):
        bar = panel.bars.get(label)
        if bar:
            axis.barh(place, bar.mean, _BAR, color=PLAIN if label == plain else ACCENT, zorder=2)
            if bar.low is not None and bar.high is not None:
                axis.plot([bar.low, bar.high], [place, place], color=INK, linewidth=1.1, zorder=4)
                for end in (bar.low, bar.high):
                    axis.plot([end, end], [place - 0.14, place + 0.14], color=INK, linewidth=1.1, zorder=4)
        axis.annotate(
            f"{_number(panel, bar.mean)}{'*' if bar.marked else ''}" if bar else "–",
            (1.0, place),
            xytext=(4, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center_baseline",
            fontsize=SMALL + 0.5,
            fontweight="bold" if bar and bar.marked else "normal",
            color=INK if bar else QUIET,
        )
    low = min(0.0, *(min(bar.mean, bar.low or 0.0) for bar in panel.bars.values()))
    high = max(
        0.0,
        *(max(bar.mean, bar.high or 0.0) for bar in panel.bars.values()),
        panel.even or 0.0,
        panel.top or 0.0,
    )
    reach = (high - low) or 1.0
    axis.set(
        xlim=(low - (0.03 * reach if low < 0 else 0), high + 0.03 * reach), ylim=(len(labels) - 0.4, -0.6)
    )
    axis.grid(axis="x")
    axis.spines["bottom"].set_visible(False)
    axis.tick_params(axis="x", length=0)
    axis.locator_params(axis="x", nbins=5)


def _number(panel: Panel, value: float) -> str:
    """Return the value with the decimals that tell the panel's bars apart."""
    largest = max(abs(bar.mean) for bar in panel.bars.values())
    return f"{value:,.{0 if largest >= 1000 else 1 if largest >= 10 else 2}f}"
