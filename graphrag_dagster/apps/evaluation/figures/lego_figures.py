"""Comparison of LEGO-GraphRAG's instances (second paper, Figures 2 to 8)."""

from collections.abc import Iterator, Sequence

import polars as pl

from graphrag_dagster.apps.evaluation.figures.figure_style import (
    Figure,
    format_axis_number,
    render_figure,
    sentences,
)
from graphrag_dagster.apps.evaluation.figures.measure_bars import Bar, Panel, bar_panels
from graphrag_dagster.apps.evaluation.figures.scatter_plots import HEIGHT, ScatterPoint, draw_points
from graphrag_dagster.systems.lego.search.reasoning_paths import MODULES
from graphrag_dagster.systems.lego.studies.answer_metrics import LEX, measure_label
from graphrag_dagster.systems.lego.studies.score_summary import ALL_HOPS, paper_order

#: What the paper draws of answers; each as it is of a model, and of rules.
_BARS = tuple(f"{name}{suffix}" for name in ("hits_at_1", "answer_f1") for suffix in ("", LEX))
_OTHER_BARS = ("path_f1_at_32", "subgraph_recall")
#: Name, what stands across, what upwards, and whether the first is logarithmic.
_HITS = ("hits_at_1", f"hits_at_1{LEX}")
_POINTS = (
    *(("judge", "judge_at_1", hits, False) for hits in _HITS[:1]),
    *(("recall", "subgraph_recall", hits, False) for hits in _HITS),
    *(("calls", "calls", hits, False) for hits in _HITS),
    ("time", "seconds_extraction", "subgraph_recall", True),
)
_REPORTS = "GRAG-M"


def path_figures(summary: pl.DataFrame) -> list[Figure]:
    """Return the figures of ``paths.summary``; none where fewer than two instances were measured.

    Args:
        summary: instance, hops, measure, mean, low, high; the last two nullable.
    """
    rows = pl.concat([summary, _calls(summary)], how="diagonal").filter(pl.col("mean").is_not_null())
    made = [
        *(_bars(rows, measure) for measure in (*_BARS, *_OTHER_BARS)),
        *(_points(rows, *one) for one in _POINTS),
    ]
    return [figure for figure in made if figure is not None]


def _calls(summary: pl.DataFrame) -> pl.DataFrame:
    """The calls of all modules together."""
    of_modules = summary.filter(pl.col("measure").is_in([f"calls_{module}" for module in MODULES]))
    total = of_modules.group_by("instance", "hops", maintain_order=True).agg(pl.col("mean").sum())
    return total.with_columns(measure=pl.lit("calls"))


def _bars(rows: pl.DataFrame, measure: str) -> Figure | None:
    own = rows.filter(measure=measure)
    instances = sorted(set(own["instance"]), key=paper_order)
    if len(instances) < 2:
        return None
    label = measure_label(measure)
    hops = [ALL_HOPS, *sorted(set(own["hops"]) - {ALL_HOPS}, key=int)]
    return bar_panels(
        [
            Panel(_questions_asked(one), dict(_bars_of_instances(own.filter(hops=one))), top=1.0)
            for one in hops
        ],
        instances,
        plain=next((one for one in instances if one.removesuffix("-lex") == _REPORTS), None),
        name=f"paths_{measure}",
        title=f"{label} of the instances",
        caption=sentences(
            f"{label}, mean over the questions with 95 % bootstrap intervals, by their number of hops.",
            "-lex: rules replaced the model of a module.",
            f"Grey: {_REPORTS}, which also reads reports."
            if any(one.startswith(_REPORTS) for one in instances)
            else "",
        ),
    )


def _questions_asked(hops: str) -> str:
    return "All questions" if hops == ALL_HOPS else f"{hops} hop{'' if hops == '1' else 's'}"


def _bars_of_instances(rows: pl.DataFrame) -> Iterator[tuple[str, Bar]]:
    for instance, *values in rows.select("instance", "mean", "low", "high").iter_rows():
        yield instance, Bar(*values)


def _points(rows: pl.DataFrame, name: str, across: str, up: str, logarithmic: bool) -> Figure | None:
    points = _pairs(rows.filter(hops=ALL_HOPS), across, up, logarithmic)
    # Where all stand above the same place there is nothing to see.
    if len({point.across for point in points}) < 2:
        return None
    right, high = measure_label(across), measure_label(up)
    return render_figure(
        lambda drawing: draw_points(drawing, points, right, high, logarithmic=logarithmic),
        height=HEIGHT,
        name=f"paths_{name}_{up}",
        title=f"{high} against {right}",
        caption=f"{high} with 95 % bootstrap intervals against {right}"
        + (", on a logarithmic scale" if logarithmic else "")
        + "; a point for each instance, means over all questions.",
        alt=sentences(
            f"Points: {right}, {high}.",
            *(f"{point.label}: {format_axis_number(point.across)}, {point.mean:.4g}." for point in points),
        ),
    )


def _pairs(rows: pl.DataFrame, across: str, up: str, logarithmic: bool) -> Sequence[ScatterPoint]:
    right = rows.filter(measure=across).select("instance", across="mean")
    both = rows.filter(measure=up).join(right, on="instance")
    if logarithmic:
        both = both.filter(pl.col("across") > 0)
    points = [
        ScatterPoint(*one) for one in both.select("instance", "across", "mean", "low", "high").iter_rows()
    ]
    return sorted(points, key=lambda point: paper_order(point.label))
