"""What the files of :mod:`metaqa_runs` say, as tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from measuring import table
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.bootstrap_intervals import MeanInterval, mean_interval
from graphrag_dagster.systems.lego.search.instance_definitions import LEX
from graphrag_dagster.systems.lego.studies.answer_metrics import measure_label
from graphrag_dagster.systems.lego.studies.score_summary import ALL_HOPS, summarise

HITS = "hits_at_1_lex"
MEASURES = (
    *(HITS, "answer_f1_lex", "list_f1_lex"),
    *("path_hit_at_1", "path_hit_at_4", "path_hit_at_8", "path_hit_at_16", "path_hit_at_32"),
    *("path_precision_at_32", "path_recall_at_32", "path_f1_at_32"),
    *("subgraph_recall", "subgraph_f1", "subgraph_nodes", "wcc"),
)
SECONDS = ("seconds_extraction", "seconds_retrieval", "seconds_answer")
#: Hits@1 in per cent by Qwen2-72B on CWQ, WebQSP, GrailQA, WebQuestions (in the repository of LEGO-GraphRAG).
PAPER = {
    "1": (47.9, 60.2, 53.6, 48.7),
    "2": (62.2, 77.7, 64.3, 64.2),
    "3": (63.3, 78.8, 59.2, 65.0),
    "4": (47.3, 74.9, 55.5, 63.7),
    "5": (50.7, 70.6, 42.7, 60.4),
    "6": (48.9, 67.2, 60.7, 51.5),
    "7": (58.8, 75.5, 64.7, 57.7),
    "8": (44.2, 71.2, 55.0, 60.6),
    "9": (47.6, 73.3, 55.1, 60.9),
    "10": (54.3, 69.8, 56.5, 54.8),
    "11": (46.4, 73.3, 53.7, 61.6),
    "12": (61.7, 75.6, 63.3, 64.3),
    "13": (60.9, 76.7, 58.2, 63.4),
    "14": (47.6, 60.8, 59.2, 48.8),
    "15": (58.7, 70.3, 63.1, 56.0),
}
_DRAWS = 1000

Floats = NDArray[np.float64]


def means(scores: pl.DataFrame) -> None:
    """Print all measures with 95 % bootstrap intervals, by hops."""
    columns = [one for one in (*MEASURES, *SECONDS) if one in scores.columns]
    questions = scores.select("question_id", "hops").unique()
    found = summarise(scores.select("question_id", "instance", *columns), questions)
    for hops in found["hops"].unique(maintain_order=True).to_list():
        own = found.filter(hops=hops)
        cells = {(row["instance"], row["measure"]): row for row in own.iter_rows(named=True)}
        print(f"\n{'all questions' if hops == ALL_HOPS else f'{hops} hops'}\n")
        rows = (
            [
                one,
                str(cells[one, columns[0]]["questions"]),
                *(_cell(cells.get((one, name))) for name in columns),
            ]
            for one in own["instance"].unique(maintain_order=True)
        )
        table(("instance", "questions", *map(measure_label, columns)), rows)


def _cell(row: Mapping[str, Any] | None) -> str:
    if row is None or row["mean"] is None:
        return "–"
    digits = 4 if row["measure"].startswith("seconds") or row["measure"] == "subgraph_f1" else 3
    digits = 1 if row["measure"] in ("subgraph_nodes", "wcc") else digits
    if row["low"] is None:
        return f"{row['mean']:.{digits}f}"
    return f"{row['mean']:.{digits}f} ({row['low']:.{digits}f}–{row['high']:.{digits}f})"


def matrix(scores: pl.DataFrame, measure: str, hops: int | None = None) -> tuple[list[str], Floats]:
    """Return instances, and a measure [questions, instances] of the questions that all have answered."""
    own = scores if hops is None else scores.filter(hops=hops)
    wide = own.pivot("instance", index="question_id", values=measure).drop_nulls().sort("question_id")
    names = [name for name in wide.columns if name != "question_id"]
    return names, wide.select(names).to_numpy()


def difference(
    scores: pl.DataFrame, one: str, other: str, measure: str, hops: int | None = None
) -> MeanInterval | None:
    """Return by how much one is above another, question by question, with its 95 % interval."""
    names, values = matrix(scores.filter(pl.col("instance").is_in([one, other])), measure, hops)
    return mean_interval(values[:, names.index(one)] - values[:, names.index(other)])


def told(found: MeanInterval | None) -> str:
    """Return a difference as tables show it."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.mean:+.3f} everywhere"
    return f"{found.mean:+.3f} ({found.low:+.3f} to {found.high:+.3f})"


def ranking(scores: pl.DataFrame, measure: str) -> None:
    """Print the order of the instances beside that of the paper, and how alike they are."""
    from scipy.stats import rankdata

    for hops in (None, *sorted(scores["hops"].unique())):
        names, values = matrix(scores, measure, hops)
        numbers = [name.split()[0].removesuffix(LEX) for name in names]
        theirs = np.array([np.mean(PAPER[one]) for one in numbers])
        ours = values.mean(axis=0)
        generator = np.random.default_rng(0)
        drawn = [spearman(_drawn(values, generator), theirs) for _ in range(_DRAWS)]
        low, high = np.quantile(drawn, (0.025, 0.975))
        asked = "all questions" if hops is None else f"{hops} hops"
        alike = f"Spearman {spearman(ours, theirs):+.3f} ({low:+.3f} to {high:+.3f})"
        print(f"\n{asked}, {measure_label(measure)}: {alike}\n")
        places = zip(names, ours, rankdata(-ours), theirs, rankdata(-theirs), strict=True)
        table(
            ("instance", measure_label(measure), "rank", "paper's mean Hits@1", "rank there"),
            (
                [name, f"{own:.3f}", f"{rank:g}", f"{other:.1f}", f"{there:g}"]
                for name, own, rank, other, there in sorted(places, key=lambda place: place[2])
            ),
        )


def spearman(one: Floats, other: Floats) -> float:
    """Return the correlation of ranks."""
    from scipy.stats import rankdata

    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])


def _drawn(values: Floats, generator: np.random.Generator) -> Floats:
    count = len(values)
    weights = np.bincount(generator.integers(0, count, count), minlength=count)
    drawn: Floats = weights @ values / count
    return drawn


def by_window(scores: pl.DataFrame, window_of: Callable[[str], int], measures: Sequence[str]) -> None:
    """Print measures by the recall that windows have, and what the largest still adds to each."""
    last = max(scores["instance"].unique(), key=window_of)
    for hops in (None, *sorted(scores["hops"].unique())):
        own = scores if hops is None else scores.filter(hops=hops)
        print(f"\n{'all questions' if hops is None else f'{hops} hops'}\n")
        rows = [
            [
                str(window_of(one)),
                *(f"{own.filter(instance=one)[name].mean():.3f}" for name in ("subgraph_recall", *measures)),
                *(
                    told(difference(scores, last, one, name, hops)) if one != last else "–"
                    for name in measures
                ),
            ]
            for one in sorted(own["instance"].unique(), key=window_of)
        ]
        labels = [measure_label(name) for name in measures]
        table(("max_ent", "recall", *labels, *(f"{one}: still to gain" for one in labels)), rows)
