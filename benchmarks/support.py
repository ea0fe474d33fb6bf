"""Does the support score tell statements that words support from others? Against what people judged.

    python benchmarks/support.py claims [FOLDER]      beside other scores, on the half for reporting
    python benchmarks/support.py fit [FOLDER]         the weights and thresholds, from the half for tuning
    python benchmarks/support.py altered [FOLDER]     sentences of texts made untrue, and said otherwise

``claims`` and ``fit``: FOLDER holds ``factcheck-GPT-benchmark.jsonl`` of Factcheck-GPT: 94 answers taken
apart into claims, up to five passages found automatically for each, and how each passage stands to its claim
as people judged it. The answers are drawn by a fixed seed into a half for tuning and one for reporting.
Questions put to each score, *positive* first:

    wholly        passages that support their claim fully, against irrelevant and refuting ones
    at all        passages that support their claim, fully or in part, against irrelevant and refuting ones
    not refuted   passages that support their claim fully, against those that refute it
    true          claims that are true against false ones, by the best of their passages; claims whose truth
                  people left open are left out

Printed are the area under the ROC curve with its 95 % interval (answers drawn again, 1,000 times), and
balanced accuracy at the threshold that was best on the half for tuning; then what the verdicts of our score
come to, and its precision and recall by threshold. The evidence that people looked up themselves is not used:
they did so mostly where the claim was wrong, so that having any would tell the label.

``altered``: FOLDER holds texts; default: the sample corpus.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

sys.path.insert(0, str(Path(__file__).parent.parent))

from graphrag_dagster.kernel.catalogue.engines import VERDICTS
from graphrag_dagster.kernel.common.stable_values import cosines
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.tasks.answering_ports import Cited, SupportOf
from graphrag_dagster.kernel.tasks.support_by_words import (
    WEIGHTS,
    JudgeByWords,
    StatementComparison,
    differences,
)
from graphrag_dagster.kernel.text.text_similarity import rouge_l, stems, words
from tests.support.altered import altered, sentences_of, told_otherwise

ROOT = Path(__file__).parent.parent
LABELLED = ROOT.parent / "shared" / "data" / "claims_factcheckgpt"
FILE = "factcheck-GPT-benchmark.jsonl"
SEED, RESAMPLES, RIDGE = 7, 1_000, 1.0
WHOLLY, PARTLY, REFUTE, IRRELEVANT = "completely-support", "partially-support", "refute", "irrelevant"
#: Stances that are positive and negative.
TASKS = {
    "wholly": ({WHOLLY}, {IRRELEVANT, REFUTE}),
    "at all": ({WHOLLY, PARTLY}, {IRRELEVANT, REFUTE}),
    "not refuted": ({WHOLLY}, {REFUTE}),
}
OURS = "ours"
Score = Callable[[str, str], float]


@dataclass(frozen=True)
class Pair:
    """A claim of an answer, whether it is true (None: left open), a passage and how that stands to it."""

    answer: int
    claim: str
    true: bool | None
    passage: str
    stance: str


@dataclass(frozen=True)
class Row:
    """What a score is compared with."""

    answer: int
    positive: bool
    score: float


def labelled(folder: Path) -> list[Pair]:
    lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    truth = {"True": True, "False": False}
    keys = ("claims", "claims_factuality_label", "auto_evidence", "stance_claim_autoEvid")
    return [
        Pair(answer, claim, truth.get(str(label)), passage, stance)
        for answer, line in enumerate(lines)
        for sentence in json.loads(line)["sentences"].values()
        # Sentences that were not worth a check have claims without evidence.
        for claim, label, passages, stances in zip(*(sentence[key] for key in keys), strict=False)
        for passage, stance in zip(passages, stances, strict=False)
    ]


def for_tuning(pairs: Iterable[Pair]) -> set[int]:
    answers = sorted({pair.answer for pair in pairs})
    random.Random(SEED).shuffle(answers)
    return set(answers[: len(answers) // 2])


def other_scores() -> dict[str, Score]:
    def overlap(claim: str, passage: str) -> float:
        wanted = set(stems(claim))
        return len(wanted & set(stems(passage))) / len(wanted) if wanted else 0.0

    def near(claim: str, passage: str) -> float:
        vectors = shared_static().embed([claim, passage])
        return float(cosines(vectors[1:], vectors[0])[0])

    return {
        "word overlap": overlap,
        "ROUGE-L": lambda claim, passage: rouge_l(words(claim), words(passage)),
        "static cosine": near,
        "overlap and cosine": lambda claim, passage: (overlap(claim, passage) + near(claim, passage)) / 2,
    }


def judged(pairs: Iterable[tuple[str, str]]) -> list[SupportOf]:
    cited = [Cited(statement, (passage,)) for statement, passage in pairs]
    return list(JudgeByWords(shared_static()).judge(cited).items)


def rows_of(task: str, pairs: Sequence[Pair], scores: Sequence[float]) -> list[Row]:
    if task == "true":
        best: dict[tuple[int, str, bool], float] = {}
        for pair, score in zip(pairs, scores, strict=True):
            if pair.true is not None:
                key = (pair.answer, pair.claim, pair.true)
                best[key] = max(best.get(key, 0.0), score)
        return [Row(answer, true, score) for (answer, _, true), score in best.items()]
    positive, negative = TASKS[task]
    return [
        Row(pair.answer, pair.stance in positive, score)
        for pair, score in zip(pairs, scores, strict=True)
        if pair.stance in positive | negative
    ]


def area(rows: Sequence[Row]) -> float:
    return float(roc_auc_score([row.positive for row in rows], [row.score for row in rows]))


def interval(rows: Sequence[Row]) -> str:
    """The area's bounds, answers drawn with replacement since claims of one answer are alike."""
    by_answer: dict[int, list[Row]] = {}
    for row in rows:
        by_answer.setdefault(row.answer, []).append(row)
    rng, drawn = random.Random(SEED), []
    for _ in range(RESAMPLES):
        sample = [row for key in rng.choices(list(by_answer), k=len(by_answer)) for row in by_answer[key]]
        if len({row.positive for row in sample}) == 2:
            drawn.append(area(sample))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{low:.2f}–{high:.2f}"


def balanced(rows: Sequence[Row], threshold: float) -> float:
    return float(balanced_accuracy_score([r.positive for r in rows], [r.score >= threshold for r in rows]))


def best_threshold(rows: Sequence[Row]) -> float:
    return float(max(np.round(np.arange(0.02, 1, 0.01), 2), key=lambda threshold: balanced(rows, threshold)))


def claims(folder: Path) -> None:
    pairs = labelled(folder)
    tuning = for_tuning(pairs)
    print(f"{len(pairs):,} passages of {len({p.answer for p in pairs})} answers, {len(tuning)} for tuning\n")
    texts = [(pair.claim, pair.passage) for pair in pairs]
    judged(texts)
    begin = time.process_time()
    ours = judged(texts)
    spent = 1000 * (time.process_time() - begin) / len(texts)
    print(f"{spent:.2f} ms of processor time a passage, its reading cached\n")
    measured = {OURS: [one.score for one in ours]}
    measured |= {name: [score(*text) for text in texts] for name, score in other_scores().items()}
    print("| positive | score | AUROC | 95 % | threshold | balanced accuracy |\n| --- |" + " --- |" * 5)
    for task in (*TASKS, "true"):
        for name, scores in measured.items():
            rows = rows_of(task, pairs, scores)
            threshold = best_threshold([row for row in rows if row.answer in tuning])
            reported = [row for row in rows if row.answer not in tuning]
            many = f"{task}: {sum(row.positive for row in reported)} of {len(reported)}"
            print(f"| {many} | {name} | {area(reported):.3f} | {interval(reported)} | {threshold:.2f} "
                  f"| {balanced(reported, threshold):.3f} |")  # fmt: skip
    reported_pairs = [(pair, one) for pair, one in zip(pairs, ours, strict=True) if pair.answer not in tuning]
    print("\n| people said | " + " | ".join(VERDICTS) + " |\n| --- |" + " --- |" * len(VERDICTS))
    for stance in (WHOLLY, PARTLY, IRRELEVANT, REFUTE):
        counts = Counter(one.verdict for pair, one in reported_pairs if pair.stance == stance)
        print(f"| {stance} | " + " | ".join(str(counts[verdict]) for verdict in VERDICTS) + " |")
    print("\n| score from | precision | recall |\n| --- | --- | --- |")
    wholly = [(pair.stance == WHOLLY, one.score) for pair, one in reported_pairs if pair.stance != PARTLY]
    for threshold in np.arange(0.1, 1, 0.1):
        hit = sum(positive for positive, score in wholly if score >= threshold)
        above = sum(score >= threshold for _, score in wholly)
        precision = f"{hit / above:.2f}" if above else "–"
        print(f"| {threshold:.1f} | {precision} | {hit / sum(p for p, _ in wholly):.2f} |")


def fit(folder: Path) -> None:
    """Weights of a ridge logistic regression, none below 0, classes weighted alike; then the thresholds."""
    pairs = labelled(folder)
    tuning = for_tuning(pairs)
    pairs = [pair for pair in pairs if pair.answer in tuning]
    beside = [StatementComparison(pair.claim, pair.passage, shared_static()) for pair in pairs]
    measures = np.array([one.measures for one in beside])
    positive, negative = TASKS["wholly"]
    kept = np.array([pair.stance in positive | negative for pair in pairs])
    label = np.array([pair.stance in positive for pair in pairs], dtype=float)[kept]
    mean, spread = measures[kept].mean(axis=0), measures[kept].std(axis=0)
    scaled = (measures[kept] - mean) / spread
    weight = np.where(label == 1, 0.5 / label.sum(), 0.5 / (1 - label).sum()) * len(label)

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        logit = values[0] + scaled @ values[1:]
        error = weight * (1 / (1 + np.exp(-logit)) - label)
        total = (
            np.sum(weight * (np.logaddexp(0, logit) - label * logit)) + RIDGE / 2 * values[1:] @ values[1:]
        )
        return float(total), np.r_[error.sum(), scaled.T @ error + RIDGE * values[1:]]

    bounds = [(None, None), *[(0, None)] * len(WEIGHTS)]
    found = minimize(loss, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = found[1:] / spread
    constant = found[0] - weights @ mean
    print(
        {name: round(float(one), 2) for name, one in zip(WEIGHTS, weights, strict=True)}, round(constant, 2)
    )
    score = 1 / (1 + np.exp(-constant - measures @ weights))
    worst = [found[0].at_most if (found := differences(one)) else "supported" for one in beside]
    rows = [
        Row(pair.answer, pair.stance == WHOLLY, float(one) if at_most == "supported" else 0.0)
        for pair, one, at_most in zip(pairs, score, worst, strict=True)
    ]
    threshold = best_threshold(rows)
    print(f"supported from {threshold}: balanced accuracy {balanced(rows, threshold):.3f}")
    wholly = [float(one) for pair, one in zip(pairs, score, strict=True) if pair.stance == WHOLLY]
    print(f"partly from {np.quantile(wholly, 0.1):.2f}: nine of ten of the wholly supported")


def show_altered(folder: Path) -> None:
    documents = sentences_of(folder)
    made = list(altered(documents))
    print(f"{sum(map(len, documents))} sentences\n")
    print("| made untrue, cited | " + " | ".join(VERDICTS) + " |\n| --- |" + " --- |" * len(VERDICTS))
    for how in dict.fromkeys(one.how for one in made):
        for cited in ("true", "around"):
            of_this = [(one.untrue, getattr(one, cited)) for one in made if one.how == how]
            counts = Counter(one.verdict for one in judged(of_this))
            told = "the sentence" if cited == "true" else "with those around it"
            print(f"| {how}, {told} | " + " | ".join(str(counts[verdict]) for verdict in VERDICTS) + " |")
    print("\n| said otherwise | " + " | ".join(VERDICTS) + " |\n| --- |" + " --- |" * len(VERDICTS))
    otherwise = list(told_otherwise(documents))
    for how in dict.fromkeys(one.how for one in otherwise):
        counts = Counter(one.verdict for one in judged((o.said, o.true) for o in otherwise if o.how == how))
        print(f"| {how} | " + " | ".join(str(counts[verdict]) for verdict in VERDICTS) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("claims", "fit", "altered"))
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    if given.what == "altered":
        show_altered(given.folder or ROOT / "graphrag_dagster" / "sample" / "harbour")
    else:
        {"claims": claims, "fit": fit}[given.what](given.folder or LABELLED)


if __name__ == "__main__":
    main()
