"""The papers' figures beside those of a corpus: of other texts, questions and models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.inference.measure_names import NONE
from graphrag_dagster.apps.evaluation.report.table_views import (
    ReportCell,
    ReportData,
    ReportTable,
    rows_of,
    table,
)

#: What is compared with, of the first paper.
_OVER = "SS"
_LEVELS = ("C0", "C1", "C2", "C3", "TS", "SS")


@dataclass(frozen=True, slots=True)
class Published:
    """The figures of a paper for a measure.

    Attributes:
        measure: its name here.
        sets: what they were measured on.
        values: by search method, a figure for each set.
        form: how one is written.
    """

    measure: str
    sets: Sequence[str]
    values: Mapping[str, Sequence[float]]
    form: str = "{:.2f}"


def _levels(
    measure: str, podcasts: Sequence[float], news: Sequence[float], form: str = "{:.2f}"
) -> Published:
    values = dict(zip(_LEVELS, zip(podcasts, news, strict=True), strict=False))
    return Published(measure, ("podcasts", "news"), values, form)


#: Table 6 of the first paper: wins over SS, in per cent.
_WINS = (
    _levels("comprehensiveness", (71.92, 75.44, 77.76, 78.96, 83.12), (71.76, 74.72, 79.2, 79.44, 79.6)),
    _levels("diversity", (76.56, 75.44, 80.56, 80.8, 82.08), (62.08, 64.96, 70.56, 69.12, 67.2)),
    _levels("empowerment", (42.96, 47.68, 50.72, 48.96, 57.52), (42.72, 51.36, 49.84, 49.52, 52.88)),
    _levels("directness", (35.12, 40.32, 40.4, 40.48, 43.6), (41.44, 45.2, 44.88, 45.6, 46)),
)
#: Its Tables 3 and 4: means of an answer.
_COUNTS = (
    _levels("claims", (32.21, 32.20, 32.46, 32.28, 31.39, 26.50), (34.18, 32.50, 31.62, 33.14, 32.89, 25.23)),
    *(
        _levels(f"clusters {threshold}", podcasts, news)
        for threshold, podcasts, news in (
            (0.5, (23.16, 22.62, 22.52, 21.93, 21.14, 18.55), (23.42, 21.85, 21.90, 22.13, 21.80, 17.92)),
            (0.6, (21.65, 21.33, 21.21, 20.62, 19.70, 17.39), (21.65, 20.38, 20.30, 20.52, 20.13, 16.78)),
            (0.7, (20.41, 20.04, 19.79, 19.22, 18.08, 16.28), (20.19, 19.06, 19.03, 19.13, 18.62, 15.80)),
            (0.8, (19.26, 18.77, 18.46, 17.89, 16.66, 15.07), (18.86, 17.78, 17.82, 17.79, 17.30, 14.80)),
        )
    ),
)
#: Its Table 2.
_SIZES = (
    _levels("units", (34, 367, 969, 1310, 1669), (55, 555, 1797, 2142, 3197), "{:,.0f}"),
    _levels(
        "tokens",
        (26657, 225756, 565720, 746100, 1014611),
        (39770, 352641, 980898, 1140266, 1707694),
        "{:,.0f}",
    ),
    _levels("percent_of_ts", (2.6, 22.2, 55.8, 73.5, 100), (2.3, 20.7, 57.4, 66.8, 100), "{:.1f}"),
)
#: Table 4.4 of the thesis on CoTeRAG-S, whose baseline without documents was ChatGPT-4o.
_QUALITY = tuple(
    Published(
        f"deepeval {metric}",
        ("CORD-19",),
        {
            "coterag": (own,),
            "coterag-no-communities": (without,),
            "own-context": (knowledge,),
        },
    )
    for metric, own, without, knowledge in (
        ("answer_relevancy", 0.93, 0.72, 0.94),
        ("faithfulness", 0.60, 0.53, 0.89),
        ("contextual_recall", 0.66, 0.34, 0.32),
        ("contextual_precision", 0.77, 0.50, 0.67),
    )
)
_ORDER = "only the order can be compared"


def published_tables(data: ReportData) -> list[ReportTable]:
    """Return a table for each one of the papers that has measures of this evaluation, by the same name."""
    rates = {
        (row["criterion"], row["condition"]): row["win_rate"]
        for row in rows_of(data.win_rates)
        if row["opponent"] == _OVER
    }
    means = {(row["measure"], row["condition"]): row["mean"] for row in rows_of(data.condition_means)}
    sizes = {
        (name, row["condition"]): row[name] for row in rows_of(data.context_sizes) for name in _SIZE_NAMES
    }
    first = "From Local to Global"
    made = (
        _beside(
            data, _WINS, rates.get, f"Wins over {_OVER} in per cent, below them those of {first}; {_ORDER}"
        ),
        _beside(data, _COUNTS, means.get, f"Claims and clusters, below them those of {first}; {_ORDER}"),
        _beside(data, _SIZES, sizes.get, f"Sizes of the contexts, below them those of {first}"),
        _beside(data, _QUALITY, means.get, f"Metrics, below them those of the thesis on CoTeRAG-S; {_ORDER}"),
    )
    return [one for one in made if one is not None]


_SIZE_NAMES = tuple(one.measure for one in _SIZES)


def _beside(
    data: ReportData,
    published: Sequence[Published],
    ours: Callable[[tuple[str, str]], Any],
    caption: str,
) -> ReportTable | None:
    known = [one for one in published if any(ours((one.measure, name)) is not None for name in one.values)]
    conditions = [name for name in data.conditions if any(name in one.values for one in known)]
    rows = [
        [
            ReportCell(one.measure.replace("_", " ")),
            *(_cell(one, name, ours((one.measure, name))) for name in conditions),
        ]
        for one in known
    ]
    return table(caption, ("Measure", *conditions), rows if conditions else [], folded=True)


def _cell(published: Published, condition: str, value: float | None) -> ReportCell:
    notes = (
        f"{name} {published.form.format(figure)}"
        for name, figure in zip(published.sets, published.values.get(condition, ()), strict=False)
    )
    return ReportCell(NONE if value is None else published.form.format(value), tuple(notes))


#: Figure 2 of the fourth paper, on a graph of some hundred nodes in four communities.
_CONTEXT = {"cross context": 0.2006, "cross leiden": 0.1784, "P@5 plain": 0.882, "P@5 context": 0.959}


def published_context_table(measured: pl.DataFrame) -> ReportTable | None:
    """Return the measures of context nodes beside the fourth paper's, a row for each level.

    Args:
        measured: rows of the index as it is, laid out by :func:`.format_as_paper`.
    """
    rows = [
        [
            ReportCell(f"C{row['level']}"),
            *(
                ReportCell(NONE if row[name] is None else f"{row[name]:.3f}", (f"paper {figure:g}",))
                for name, figure in _CONTEXT.items()
            ),
        ]
        for row in measured.iter_rows(named=True)
    ]
    caption = (
        "Cross-cluster similarity and precision at 5, below them those of Adaptive Context GraphRAG; both "
        "are higher for context nodes by construction"
    )
    return table(caption, ("Level", *_CONTEXT), rows, folded=True)
