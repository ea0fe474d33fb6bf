"""Which size of the subgraph is chosen so that enough answers are in it (second paper B.5, spec_lego §6).

How much of the answers the subgraph of a question is to hold (second paper B.5, spec_lego §6).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from graphrag_dagster.kernel.common.stable_scores import comparable
from graphrag_dagster.systems.lego.instances.found import PathQuery
from graphrag_dagster.systems.lego.studies.metrics.answers import Answers, NormalisedLabels
from graphrag_dagster.systems.lego.studies.metrics.subgraphs import subgraph_scores
from graphrag_dagster.systems.lego.studies.recall.question_classes import CLASSES, QuestionClass
from graphrag_dagster.systems.lego.subgraphs.port import SubgraphExtractor

Application = Literal["normal", "critical", "lightweight"]

#: Where nothing speaks for more or less.
START = 0.60
COMPLEX = 0.075
CRITICAL, LIGHTWEIGHT = 0.075, -0.05
DENSE, SPARSE = -0.05, 0.05
LEAST, MOST = 0.50, 0.80
#: Thresholds are told to a tenth of a percent.
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Threshold:
    """The least share of the answers, 0–1, and what it is made of."""

    value: float
    why: str


def threshold_of(kind: QuestionClass, application: Application = "normal", start: float = START) -> Threshold:
    """Return the least recall for a class of questions.

    Args:
        kind: the class.
        application: critical, such as health, law and finance, or lightweight.
        start: before anything is added.
    """
    parts = {
        "complex": COMPLEX if kind.is_complex else 0.0,
        application: {"normal": 0.0, "critical": CRITICAL, "lightweight": LIGHTWEIGHT}[application],
        f"{kind.density} seeds": {"dense": DENSE, "medium": 0.0, "sparse": SPARSE}[kind.density],
    }
    total = round(start + sum(parts.values()), _DIGITS)
    value = min(max(total, LEAST), MOST)
    told = "".join(f", {name} {part:+.3f}" for name, part in parts.items() if part)
    cut = "" if value == total else f", kept within {LEAST:.2f} and {MOST:.2f}"
    return Threshold(value, f"{start:.3f}{told}{cut}")


#: Row of the table for all questions together.
ALL = "all"
#: A class of fewer questions for tuning is judged by all of them.
FEWEST_OF_CLASS = 20

Row = dict[str, Any]


def measured_windows(
    questions: Sequence[tuple[PathQuery, Answers, QuestionClass]],
    windows: Sequence[int],
    extractor: Callable[[int], SubgraphExtractor],
    labels: NormalisedLabels,
) -> pl.DataFrame:
    """Return class, window, recall and F1 of each question with answers and window.

    Args:
        questions: for tuning, with their gold answers and classes; others than those that are reported.
        windows: sizes.
        extractor: gives subgraphs of a size.
        labels: of the graph.
    """
    rows: list[tuple[str, int, float | None, float | None]] = []
    for window in sorted(set(windows)):
        sized = extractor(window)
        for query, gold, kind in questions:
            if not len(gold):
                continue
            found = subgraph_scores(sized.extract(query).subgraph, gold, labels)
            rows.append((kind.name, window, found["subgraph_recall"], found["subgraph_f1"]))
    return pl.DataFrame(rows, schema=_MEASURED, orient="row")


def chosen_windows(
    measured: pl.DataFrame,
    application: Application = "normal",
    *,
    start: float = START,
    learned: Mapping[str, Threshold] | None = None,
    fewest: int = FEWEST_OF_CLASS,
) -> list[Row]:
    """Return for each class, and for all questions, the window that is used and why; rows of the table.

    The window of a question is the smallest whose mean recall is its threshold or more; where none is, the
    smallest of the highest recall. ``best`` is the one of the highest F1 among those with enough recall.

    Args:
        measured: see :func:`measured_windows`; none where it is empty.
        application: see :func:`.thresholds.threshold_of`.
        start: likewise.
        learned: thresholds by class that take the place of those.
        fewest: questions of a class from which on its own recall counts.
    """
    return list(_rows(measured, application, start, learned or {}, fewest)) if len(measured) else []


def window_for(rows: Sequence[Row], kind: QuestionClass) -> Row | None:
    """Return the row of the table that holds for a question of a class; None where there is no table."""
    by_class = {row["class"]: row for row in rows}
    return by_class.get(kind.name, by_class.get(ALL))


def _rows(
    measured: pl.DataFrame,
    application: Application,
    start: float,
    learned: Mapping[str, Threshold],
    fewest: int,
) -> Iterator[Row]:
    every = threshold_of(QuestionClass(is_complex=False, density="medium"), application, start)
    yield _row(ALL, measured, every, "")
    for kind in CLASSES:
        own = measured.filter(pl.col("class") == kind.name)
        count = _questions(own)
        aside = "" if count >= fewest else f"; measured on all questions, for {count} are of this class"
        threshold = learned.get(kind.name) or threshold_of(kind, application, start)
        yield _row(kind.name, measured if aside else own, threshold, aside)


def _row(name: str, measured: pl.DataFrame, threshold: Threshold, aside: str) -> Row:
    means = measured.group_by("window").agg(pl.col("recall", "f1").mean()).sort("window")
    windows, f1 = means["window"].to_list(), comparable(means["f1"].to_numpy())
    recall = comparable(means["recall"].to_numpy())
    enough = [place for place in range(len(windows)) if recall[place] >= threshold.value]
    best = min(enough, key=lambda place: (-f1[place], windows[place]), default=None)
    used = enough[0] if enough else int(recall.argmax())
    short = "" if enough else "; no window has so much"
    return {
        "class": name,
        "threshold": threshold.value,
        "why": f"{threshold.why}{short}{aside}",
        "best": None if best is None else windows[best],
        "smallest": windows[used] if enough else None,
        "chosen": windows[used],
        "recall": float(recall[used]),
        "f1": float(f1[used]),
        "questions": _questions(measured),
    }


def _questions(measured: pl.DataFrame) -> int:
    return len(measured) // max(measured["window"].n_unique(), 1)


_MEASURED = {"class": pl.String, "window": pl.Int32, "recall": pl.Float64, "f1": pl.Float64}
