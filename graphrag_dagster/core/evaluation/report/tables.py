"""A table of the report: text that is rounded already, and a few ways to get there."""

from collections.abc import Iterable
from dataclasses import dataclass

from graphrag_dagster.core.evaluation.inference.contrasts import Contrast, contrasts
from graphrag_dagster.core.evaluation.inference.measures import measure
from graphrag_dagster.core.evaluation.inference.numbers import p_value
from graphrag_dagster.core.evaluation.report.content import ReportData

#: What intervals and p values are of, for the captions of tables that show them side by side.
BOUNDS = "95 % bootstrap interval"
TESTED = "p of Wilcoxon's test, corrected by Holm"
#: Stands at a p value that the interval beside it disagrees with.
DAGGER = "\N{DAGGER}"


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell: a number or word, smaller notes below, and its tone.

    ``tone`` colours it (``good``, ``bad``, ``even``, ``more`` or ''); the words say the same.
    """

    text: str
    notes: tuple[str, ...] = ()
    tone: str = ""


@dataclass(frozen=True, slots=True)
class TableView:
    """A table: the first cell of each row is its heading; ``folded``: opened by a click."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: bool = False
    wordy: bool = False


def table(
    caption: str,
    header: Iterable[str],
    rows: Iterable[Iterable[Cell | str]],
    *,
    folded: bool = False,
    wordy: bool = False,
) -> TableView | None:
    """Return a table, or None without rows; ``wordy``: its cells hold words rather than numbers."""
    made = tuple(tuple(Cell(one) if isinstance(one, str) else one for one in row) for row in rows)
    return TableView(caption, tuple(header), made, folded, wordy) if made else None


def tests(data: ReportData) -> list[Contrast]:
    """Return the tests against the baseline."""
    if data.significance is None:
        return []
    return contrasts(data.significance, data.conditions, data.baseline)


def others(data: ReportData) -> list[str]:
    """Return the ways of answering without the baseline."""
    return [one for one in data.conditions if one != data.baseline]


def tested_notes(test: Contrast, *words: str) -> tuple[str, ...]:
    """Return what a cell notes of a test: corrected p, marked where the interval disagrees, and words."""
    mark = f" {DAGGER}" if test.disagreement else ""
    return (f"{p_value(test.p_holm)}{mark}", *words)


def tone_of(test: Contrast) -> str:
    """Return the tone of a cell that shows a test."""
    if test.outcome in ("no difference", "mixed"):
        return "even"
    if not measure(test.measure).sign:
        return "more"
    return "good" if test.outcome == "better" else "bad"
