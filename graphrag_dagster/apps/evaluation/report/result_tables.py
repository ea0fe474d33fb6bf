"""Tables of the results: the judge's preferences, counts, and every test."""

from collections.abc import Mapping, Sequence
from typing import Any

from graphrag_dagster.apps.evaluation.inference.contrasts import Contrast, opposed
from graphrag_dagster.apps.evaluation.inference.measures import CONTROL, Kind, Measure, measure
from graphrag_dagster.apps.evaluation.inference.numbers import ALPHA, NONE, p_value, percent, plain, signed
from graphrag_dagster.apps.evaluation.inference.verdict import overall_winners
from graphrag_dagster.apps.evaluation.report.content import ReportData, rows_of
from graphrag_dagster.apps.evaluation.report.tables import (
    BOUNDS,
    TESTED,
    Cell,
    TableView,
    others,
    table,
    tested_notes,
    tests,
    tone_of,
)
from graphrag_dagster.apps.evaluation.tasks import CRITERIA

Row = dict[str, Any]
Tests = Mapping[tuple[str, str], Contrast]


def judged_table(data: ReportData) -> TableView | None:
    """Return the win rates over the baseline, with intervals and corrected p."""
    found = {(one.measure, one.condition): one for one in tests(data)}
    names = [name for name in CRITERIA if any(key[0] == name for key in found)]
    rows = [
        [Cell(name, ("control",) if name == CONTROL else ()), *_win_cells(found, name, others(data))]
        for name in names
    ]
    return table(
        f"Comparisons won against {data.baseline}, ties counted half, 50 % is a draw; {BOUNDS}, and {TESTED}",
        ("Criterion", *others(data)),
        rows,
    )


def _win_cells(found: Tests, name: str, conditions: Sequence[str]) -> list[Cell]:
    cells = []
    for condition in conditions:
        test = found.get((name, condition))
        if test is None:
            cells.append(Cell(NONE))
            continue
        interval = test.win_rate_interval
        bounds = (f"{percent(interval[0], 0)} to {percent(interval[1], 0)}",) if interval else ()
        word = {"better": "wins", "worse": "loses"}.get(test.outcome, test.outcome)
        cells.append(Cell(percent(test.mean), (*bounds, *tested_notes(test, word)), tone_of(test)))
    return cells


def measure_table(
    data: ReportData, kinds: Sequence[Kind], caption: str, *, inclusive: bool
) -> TableView | None:
    """Return the means of measures of some kinds with intervals, and their tests against the baseline.

    ``inclusive`` chooses which of the two counts of clusters are shown.
    """
    means = {(row["measure"], row["condition"]): row for row in rows_of(data.condition_means)}
    found = {(one.measure, one.condition): one for one in tests(data)}
    chosen = [
        one
        for one in sorted({measure(str(name)) for name, _ in means}, key=lambda one: one.order)
        if one.kind in kinds and one.inclusive == inclusive
    ]
    rows = [
        [
            Cell(one.label, _wanted(one)),
            *(
                _mean_cell(means.get((one.name, condition)), found.get((one.name, condition)))
                for condition in data.conditions
            ),
        ]
        for one in chosen
    ]
    return table(caption, ("Measure", *data.conditions), rows, folded=inclusive)


def _wanted(one: Measure) -> tuple[str, ...]:
    notes: dict[int, tuple[str, ...]] = {0: ("neither more nor less is better",), -1: ("less is better",)}
    return notes.get(one.sign, ())


def _mean_cell(row: Row | None, test: Contrast | None) -> Cell:
    if row is None or row["mean"] is None:
        return Cell(NONE)
    bounds = () if row["ci_low"] is None else (f"{plain(row['ci_low'])} to {plain(row['ci_high'])}",)
    if test is None:
        return Cell(plain(row["mean"]), bounds)
    word = "more" if test.difference > 0 else "less"
    if test.outcome in ("no difference", "mixed"):
        word = test.outcome
    return Cell(plain(row["mean"]), (*bounds, *tested_notes(test, word)), tone_of(test))


def win_rate_grids(data: ReportData) -> list[TableView]:
    """Return for each criterion the win rates of all pairs, coloured where the corrected test finds any."""
    rates = {
        (row["criterion"], row["condition"], row["opponent"]): row["win_rate"]
        for row in rows_of(data.win_rates)
    }
    differing = {
        (row["measure"], frozenset((row["condition_a"], row["condition_b"])))
        for row in rows_of(data.significance)
        if row["p_holm"] < ALPHA and not opposed(row["difference"], row["rank_biserial"])
    }
    grids = []
    for name in (one for one in CRITERIA if any(key[0] == one for key in rates)):
        winners = [] if data.win_rates is None else overall_winners(data.win_rates, name, data.conditions)
        rows = [
            [
                Cell(one, ("overall winner",) if one in winners else ()),
                *(
                    _grid_cell(rates.get((name, one, other)), (name, frozenset((one, other))) in differing)
                    for other in data.conditions
                ),
            ]
            for one in data.conditions
        ]
        caption = f"{name}: how often the row wins against the column, in per cent"
        grid = table(caption, ("Wins of", *(f"over {one}" for one in data.conditions)), rows)
        grids += [grid] if grid else []
    return grids


def _grid_cell(rate: float | None, differs: bool) -> Cell:
    if rate is None:
        return Cell(NONE)
    return Cell(f"{rate:.1f}", tone="" if not differs or rate == 50 else "good" if rate > 50 else "bad")


def all_tests_table(data: ReportData) -> TableView | None:
    """Return every test of every pair."""
    place = {name: at for at, name in enumerate(data.conditions)}
    rows: list[Row] = sorted(
        rows_of(data.significance),
        key=lambda row: (
            measure(str(row["measure"])).order,
            place.get(str(row["condition_a"]), len(place)),
            place.get(str(row["condition_b"]), len(place)),
        ),
    )
    return table(
        "All tests: bootstrap of the mean difference, and Wilcoxon's signed-rank test, corrected by Holm "
        "within each measure",
        (
            "Measure and pair",
            "questions",
            "means",
            "difference of means",
            BOUNDS,
            "Wilcoxon's z",
            "ranks, −1 to 1",
            "p",
            "p, Holm",
        ),
        [
            [
                Cell(f"{row['condition_a']} and {row['condition_b']}", (measure(row["measure"]).label,)),
                Cell(f"{row['questions']:,}", (f"{row['zeros']:,} equal",)),
                Cell(f"{plain(row['mean_a'])} and {plain(row['mean_b'])}"),
                Cell(signed(row["difference"])),
                Cell(NONE if row["ci_low"] is None else f"{plain(row['ci_low'])} to {plain(row['ci_high'])}"),
                Cell(plain(row["z"])),
                Cell(signed(row["rank_biserial"])),
                Cell(p_value(row["p"])),
                Cell(p_value(row["p_holm"])),
            ]
            for row in rows
        ],
        folded=True,
    )
