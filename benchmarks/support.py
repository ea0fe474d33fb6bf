"""Does the support score tell statements that evidence supports from others? Against what people judged.

    python benchmarks/support.py [FOLDER]

FOLDER holds ``factcheck-GPT-benchmark.jsonl`` of Factcheck-GPT: 94 answers taken apart into claims, five
passages found automatically for each, how each passage stands to its claim as people judged it, and whether
the claim is true. The answers are drawn by a fixed seed into a half for tuning and one for reporting.

Three questions are put to each score, *positive* first:

    supports      passages that support their claim, fully or in part, against irrelevant and refuting ones
    not refuted   passages that support their claim, fully or in part, against those that refute it
    true          claims that are true against false ones, by the best of their five passages; claims whose
                  truth people left open are left out

The evidence that people looked up themselves is not used: they did so mostly where the claim was wrong, so
that having any would tell the label. Each score is taken once with the whole passage as the cited words and
once with the passage's best sentence, as answers cite. Printed are the area under the ROC curve with its
95 % interval (answers drawn again, 1,000 times), and balanced accuracy at the threshold that was best on the
half for tuning and, of our score, at the one that is shipped. FacTool's claims have labels but no evidence,
so that there is nothing to compare them with.
"""

import argparse
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measuring import DATA, table
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from graphrag_dagster.core.language.embedders import StaticEmbedder
from graphrag_dagster.core.ranks import cosines
from graphrag_dagster.core.search.context.support import SUPPORTS, Support
from graphrag_dagster.core.text.sentences import sentence_spans
from graphrag_dagster.core.text.similarity import rouge_l, stems, words

FILE = "factcheck-GPT-benchmark.jsonl"
OURS = "ours"
SUPPORTING = {"completely-support", "partially-support"}
SEED, RESAMPLES = 94, 1_000
Score = Callable[[str, Sequence[str]], Sequence[float]]


@dataclass(frozen=True)
class Claim:
    """A claim of an answer: whether it is true, None where that was left open; passages and their stances."""

    answer: int
    text: str
    true: bool | None
    passages: Sequence[str]
    stances: Sequence[str]


@dataclass(frozen=True)
class Judged:
    """What a score is compared with: the answer it belongs to, the label, and the score."""

    answer: int
    positive: bool
    score: float


def claims(folder: Path) -> list[Claim]:
    lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    return [
        Claim(answer, *of_sentence)
        for answer, line in enumerate(lines)
        for sentence in json.loads(line)["sentences"].values()
        for of_sentence in _claims_of(sentence)
    ]


def _claims_of(sentence: dict) -> list[tuple[str, bool | None, list[str], list[str]]]:
    keys = ("claims", "claims_factuality_label", "auto_evidence", "stance_claim_autoEvid")
    # Sentences that were not worth a check have claims without evidence.
    rows = zip(*(sentence[key] for key in keys), strict=False)
    labels = {"True": True, "False": False}
    return [(text, labels.get(str(label)), *evidence) for text, label, *evidence in rows if all(evidence)]


def scores() -> dict[str, Score]:
    embedder = StaticEmbedder()

    def overlap(claim: str, quoted: Sequence[str]) -> list[float]:
        wanted = set(stems(claim))
        return [len(wanted & set(stems(one))) / len(wanted) if wanted else 0.0 for one in quoted]

    def longest(claim: str, quoted: Sequence[str]) -> list[float]:
        return [rouge_l(words(claim), words(one)) for one in quoted]

    def near(claim: str, quoted: Sequence[str]) -> list[float]:
        vectors = embedder.embed([claim, *quoted])
        return [float(one) for one in cosines(vectors[1:], vectors[0])]

    return {
        OURS: Support(embedder).similarities,
        "word overlap": overlap,
        "ROUGE-L": longest,
        "static cosine": near,
    }


def sentences(passage: str) -> list[str]:
    return [passage[span.start : span.end] for span in sentence_spans(passage)] or [passage]


def passage_scores(score: Score, claim: Claim, *, by_sentence: bool) -> list[float]:
    """The score of the claim with each of its passages."""
    if not by_sentence:
        return list(score(claim.text, claim.passages))
    return [max(score(claim.text, sentences(passage))) for passage in claim.passages]


def judged(claim: Claim, found: Sequence[float], task: str) -> list[Judged]:
    if task == "true":
        return [] if claim.true is None else [Judged(claim.answer, claim.true, max(found))]
    wanted = {"supports": {*SUPPORTING, "irrelevant", "refute"}, "not refuted": {*SUPPORTING, "refute"}}[task]
    return [
        Judged(claim.answer, stance in SUPPORTING, one)
        for stance, one in zip(claim.stances, found, strict=True)
        if stance in wanted
    ]


def area(rows: Sequence[Judged]) -> float:
    return float(roc_auc_score([one.positive for one in rows], [one.score for one in rows]))


def area_interval(rows: Sequence[Judged]) -> str:
    """The area with its bounds, answers drawn with replacement since claims of one answer are alike."""
    by_answer: dict[int, list[Judged]] = {}
    for one in rows:
        by_answer.setdefault(one.answer, []).append(one)
    rng, drawn = random.Random(SEED), []
    for _ in range(RESAMPLES):
        sample = [row for key in rng.choices(list(by_answer), k=len(by_answer)) for row in by_answer[key]]
        if len({one.positive for one in sample}) == 2:
            drawn.append(area(sample))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{area(rows):.3f} ({low:.2f}–{high:.2f})"


def balanced(rows: Sequence[Judged], threshold: float) -> float:
    said = [one.score >= threshold for one in rows]
    return float(balanced_accuracy_score([one.positive for one in rows], said))


def best_threshold(rows: Sequence[Judged]) -> float:
    return max(np.round(np.arange(0.02, 1.0, 0.02), 2), key=lambda threshold: balanced(rows, threshold))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=DATA / "claims_factcheckgpt")
    found = claims(parser.parse_args().folder)
    answers = sorted({claim.answer for claim in found})
    random.Random(SEED).shuffle(answers)
    tune = set(answers[: len(answers) // 2])
    print(f"{len(found)} claims with evidence of {len(answers)} answers, {len(tune)} of them for tuning")
    measured = {
        (name, cut): [passage_scores(score, claim, by_sentence=cut == "best sentence") for claim in found]
        for name, score in scores().items()
        for cut in ("passage", "best sentence")
    }
    for task in ("supports", "not refuted", "true"):
        rows = []
        for (name, cut), of_claims in measured.items():
            pairs = [row for c, s in zip(found, of_claims, strict=True) for row in judged(c, s, task)]
            halves = [[row for row in pairs if (row.answer in tune) == half] for half in (True, False)]
            threshold = best_threshold(halves[0])
            shipped = f"{balanced(halves[1], SUPPORTS):.3f}" if name == OURS else "–"
            areas = (f"{area(halves[0]):.3f}", area_interval(halves[1]))
            at_best = f"{balanced(halves[1], threshold):.3f}"
            rows.append([name, cut, *areas, f"{threshold:.2f}", at_best, shipped])
        positive = sum(row.positive for row in halves[1])
        print(f"\n{task}: {positive} positive of {len(halves[1])} in the half for reporting")
        chance = f"balanced accuracy at {SUPPORTS}"
        table(
            ["score", "words", "AUROC, tune", "report", "best threshold", "balanced accuracy", chance], rows
        )


if __name__ == "__main__":
    main()
