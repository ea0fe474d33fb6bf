"""Recall as a constraint: subgraphs no larger than the wanted share of answers takes (paper B.5)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from graphrag_dagster.kernel.common.stable_values import round_for_comparison
from graphrag_dagster.kernel.graph.adjacency_arrays import Direction, PathStore
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery
from graphrag_dagster.systems.lego.studies.answer_metrics import Answers, NormalisedLabels, subgraph_scores
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import SubgraphExtractor

Density = Literal["dense", "medium", "sparse"]
DENSITIES: tuple[Density, ...] = ("dense", "medium", "sparse")

#: More than one thing is asked for.
_CONJUNCTION = re.compile(r"\b(?:and|or|both|either|as well as|along with|but also)\b")
#: Something is to be compared; short words that end alike are none.
_SUPERLATIVE = re.compile(
    r"\b(?:most|least|best|worst|(?:first|last)(?= \w)"
    r"|(?!(?:west|guest|forest|interest|request|harvest|honest|modest|protest|contest|invest|suggest)\b)"
    r"\w{3,}est)\b"
)
#: A question within the question; the word that a question begins with is none.
_RELATIVE = re.compile(r"(?<=\w )(?:that|which|who|whom|whose|where|when)\b")


@dataclass(frozen=True, slots=True)
class QuestionClass:
    """Questions alike.

    Attributes:
        is_complex: more than one thing is asked for, or a thing by way of another.
        density: how many edges the seeds have beside the other nodes of the graph.
    """

    is_complex: bool
    density: Density

    @property
    def name(self) -> str:
        """As ``complex, dense``."""
        return f"{'complex' if self.is_complex else 'simple'}, {self.density}"


CLASSES = tuple(QuestionClass(*one) for one in product((False, True), DENSITIES))


class Classifier:
    """Says of questions to a graph of which class they are.

    Args:
        store: the graph.
        direction: in which edges are followed.
    """

    def __init__(self, store: PathStore, direction: Direction = "auto") -> None:
        self._store = store
        self._degrees = store.degrees(store.resolve_direction(direction))
        self._quartiles = quartiles(self._degrees)

    def of(self, query: PathQuery) -> QuestionClass:
        """Return the class of a question."""
        labels = [self._store.label(node) for node in query.seeds]
        return QuestionClass(
            is_complex(query.question, labels),
            density(self._degrees[list(query.seeds)], self._quartiles),
        )


def is_complex(question: str, seeds: Sequence[str]) -> bool:
    """Whether an English question asks for more than one thing, for a comparison, or by way of another.

    Args:
        question: its text.
        seeds: labels of what it names: their words do not count, and two or more make it complex.
    """
    if len(seeds) > 1:
        return True
    text = question.casefold()
    for label in seeds:
        text = text.replace(label.casefold(), "it")
    bare = " ".join(re.sub(r"[^\w\s]", " ", text).split())
    return any(rule.search(bare) for rule in (_CONJUNCTION, _SUPERLATIVE, _RELATIVE))


def quartiles(degrees: NDArray[np.integer]) -> tuple[float, float]:
    """Return the first and the third quartile of numbers of edges; of none: 0."""
    if not len(degrees):
        return 0.0, 0.0
    low, high = np.quantile(degrees, (0.25, 0.75))
    return float(low), float(high)


def density(degrees: NDArray[np.integer], borders: tuple[float, float]) -> Density:
    """Return how well linked seeds are: their mean number of edges beside the quartiles of the graph.

    Args:
        degrees: of the seeds [n]; without any: medium.
        borders: the quartiles.
    """
    if not len(degrees):
        return "medium"
    mean = float(degrees.mean())
    return "dense" if mean > borders[1] else "sparse" if mean < borders[0] else "medium"


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

WindowRow = dict[str, Any]


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
) -> list[WindowRow]:
    """Return for each class, and for all questions, the window that is used and why; rows of the table.

    The window of a question is the smallest whose mean recall is its threshold or more; where none is, the
    smallest of the highest recall. ``best`` is the one of the highest F1 among those with enough recall.

    Args:
        measured: see :func:`measured_windows`; none where it is empty.
        application: see :func:`.thresholds.threshold_of`.
        start: likewise.
        learned: thresholds by class that take the place of those.
    """
    if measured.is_empty():
        return []
    every = threshold_of(QuestionClass(is_complex=False, density="medium"), application, start)
    rows = [_row(ALL, measured, every, "")]
    for kind in CLASSES:
        own = measured.filter(pl.col("class") == kind.name)
        count = _questions(own)
        few = count < FEWEST_OF_CLASS
        aside = f"; measured on all questions, for {count} are of this class" if few else ""
        threshold = (learned or {}).get(kind.name) or threshold_of(kind, application, start)
        rows.append(_row(kind.name, measured if few else own, threshold, aside))
    return rows


def window_for(rows: Sequence[WindowRow], kind: QuestionClass) -> WindowRow | None:
    """Return the row of the table that holds for a question of a class; None where there is no table."""
    by_class = {row["class"]: row for row in rows}
    return by_class.get(kind.name, by_class.get(ALL))


def _row(name: str, measured: pl.DataFrame, threshold: Threshold, aside: str) -> WindowRow:
    means = measured.group_by("window").agg(pl.col("recall", "f1").mean()).sort("window")
    windows, f1 = means["window"].to_list(), round_for_comparison(means["f1"].to_numpy())
    recall = round_for_comparison(means["recall"].to_numpy())
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


#: Fewer answered questions of a class tell nothing.
FEWEST = 200
#: What the share of correct answers may be below its best.
WITHIN = 0.01


def learned_thresholds(log: pl.DataFrame, *, fewest: int = FEWEST) -> Mapping[str, Threshold]:
    """Return the threshold of each class of questions of which enough were answered.

    Args:
        log: class, threshold that was in force and whether the answer was correct, a row for each question.
        fewest: see :func:`learned_threshold`.
    """
    found = {}
    for name in sorted(set(log["class"])):
        own = log.filter(pl.col("class") == name)
        learned = learned_threshold(own["threshold"], own["correct"], fewest=fewest)
        if learned is not None:
            found[name] = learned
    return found


def learned_threshold(thresholds: ArrayLike, correct: ArrayLike, *, fewest: int = FEWEST) -> Threshold | None:
    """Return the smallest threshold with which nearly as many answers are correct as with any.

    The share of correct answers is an isotonic regression on the threshold: it never falls as that rises.

    Args:
        thresholds: that were in force for questions of a class [n].
        correct: whether each was answered correctly [n].
        fewest: questions from which on there is a threshold.

    Returns:
        None where there are too few questions, or all were asked with the same threshold.
    """
    used = np.asarray(thresholds, dtype=np.float64)
    right = np.asarray(correct, dtype=np.float64)
    tried = np.unique(used)
    if len(used) < max(fewest, 1) or len(tried) < 2:
        return None
    from sklearn.isotonic import IsotonicRegression

    expected = round_for_comparison(IsotonicRegression(increasing=True).fit(used, right).predict(tried))
    enough = tried[expected >= round_for_comparison(expected.max() - np.full(1, WITHIN))[0]]
    share = float(expected[tried == enough[0]][0])
    return Threshold(
        float(enough[0]),
        f"learned from {len(used):,} answered questions: {share:.3f} of them correct, at most "
        f"{float(expected.max()):.3f}",
    )
