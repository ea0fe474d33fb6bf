"""Clusters of the claims of 1,500 synthetic answers, beside rouge-score on the same pairs in the same run.

Run: python benchmarks/claims.py clusters [--sample ANSWERS | --full]
"""

import argparse
import random
import resource
import time
from itertools import combinations

import numpy as np
from rouge_score.rouge_scorer import RougeScorer

from graphrag_dagster.apps.evaluation.measures.answer_claims import (
    THRESHOLDS,
    cluster_claims,
    distances,
    tokens,
)

ANSWERS, CLAIMS, PAIRS = 1_500, 47_075, 10_000
TARGET = 10.0


def vocabulary(rng: random.Random, size: int = 20_000) -> list[str]:
    syllables = [a + b for a in "bcdfghjklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "ol")]
    return ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(size)]


def synthetic_answers(seed: int = 11) -> list[list[str]]:
    """Answers of about 31 claims of 15 to 25 words each; a third of the claims vary an earlier one."""
    rng = random.Random(seed)
    words = vocabulary(rng)
    weights = [1 / (rank + 3) for rank in range(len(words))]
    cuts = list(np.cumsum(weights))
    ends = sorted(rng.sample(range(1, CLAIMS // 8), ANSWERS - 1))
    # Seven eighths are dealt out evenly, the rest at random.
    even = (CLAIMS - CLAIMS // 8) // ANSWERS
    sizes = [even + b - a for a, b in zip([0, *ends], [*ends, CLAIMS // 8], strict=True)]
    for late in range(CLAIMS - sum(sizes)):
        sizes[late % ANSWERS] += 1
    answers = []
    for size in sizes:
        claims: list[list[str]] = []
        for _ in range(size):
            if claims and rng.random() < 0.35:
                claim = list(rng.choice(claims))
                for place in rng.sample(range(len(claim)), rng.randint(1, 10)):
                    claim[place] = rng.choices(words, cum_weights=cuts)[0]
            else:
                claim = rng.choices(words, cum_weights=cuts, k=rng.randint(15, 25))
            claims.append(claim)
        answers.append([" ".join(claim).capitalize() + "." for claim in claims])
    return answers


def pairs_of(answers: list[list[str]]) -> int:
    return sum(len(claims) * (len(claims) - 1) // 2 for claims in answers)


def reference(claims: list[str], scorer: RougeScorer) -> np.ndarray:
    """The square matrix of 1 − F1 as rouge-score gives it."""
    square = np.zeros((len(claims), len(claims)))
    for i, j in combinations(range(len(claims)), 2):
        square[i, j] = square[j, i] = 1 - scorer.score(claims[i], claims[j])["rougeL"].fmeasure
    return square


def compare_pairs(answers: list[list[str]], scorer: RougeScorer, seed: int = 5) -> None:
    """Random pairs, half of them within one answer: equal as fractions, not only nearly."""
    rng = random.Random(seed)
    unequal, widest = 0, 0.0
    for number in range(PAIRS):
        first = rng.choice(answers)
        second = first if number % 2 else rng.choice(answers)
        one, other = rng.choice(first), rng.choice(second)
        theirs = scorer.score(one, other)["rougeL"]
        m, n = len(tokens(one)), len(tokens(other))
        ours = float(distances([tokens(one), tokens(other)])[0])
        unequal += ours != (m + n - 2 * round(theirs.recall * m)) / (m + n)
        widest = max(widest, abs(ours - (1 - theirs.fmeasure)))
    print(f"{PAIRS:,} random pairs: {unequal} with another fraction; widest gap of doubles {widest:.1e}")


def compare_counts(answers: list[list[str]], found: list[dict], squares: list[np.ndarray]) -> None:
    """How many answers scikit-learn on rouge-score's doubles gives another number of clusters."""
    from sklearn.cluster import AgglomerativeClustering

    for threshold in THRESHOLDS:
        model = AgglomerativeClustering(
            n_clusters=None, linkage="complete", metric="precomputed", distance_threshold=threshold
        )
        theirs = [len(set(model.fit_predict(square))) for square in squares]
        ours = [len(set(clusters[threshold, False])) for clusters in found]
        inclusive = [len(set(clusters[threshold, True])) for clusters in found]
        differ = sum(a != b for a, b in zip(ours, theirs, strict=True))
        print(
            f"  at {threshold}: clusters {np.mean(ours):.3f} strict, {np.mean(inclusive):.3f} inclusive, "
            f"{np.mean(theirs):.3f} scikit-learn; strict counts differ in {differ} of {len(answers):,}"
        )


def clusters(options: argparse.Namespace) -> None:
    answers = synthetic_answers()
    lengths = [len(tokens(claim)) for claims in answers for claim in claims]
    print(
        f"{len(answers):,} answers, {len(lengths):,} claims, {np.mean(lengths):.1f} tokens a claim, "
        f"{pairs_of(answers):,} pairs"
    )
    cluster_claims(answers[0])  # imports
    began = time.perf_counter()
    found = [cluster_claims(claims) for claims in answers]
    ours = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"ours: {ours:.2f} s for words, distances, linkage, {len(THRESHOLDS)} thresholds and both rules "
        f"(target {TARGET:.0f} s); peak memory {peak:.0f} MB"
    )
    scorer = RougeScorer(["rougeL"])
    step = 1 if options.full else max(len(answers) // options.sample, 1)
    sample = answers[::step]
    began = time.perf_counter()
    squares = [reference(claims, scorer) for claims in sample]
    theirs = time.perf_counter() - began
    share = pairs_of(sample) / pairs_of(answers)
    how = "measured on all" if options.full else f"extrapolated from {theirs:.1f} s for {len(sample)} answers"
    print(f"rouge-score, distances alone: {theirs / share:.1f} s ({how}); ratio {theirs / share / ours:.0f}")
    compare_pairs(answers, scorer)
    compare_counts(sample, found[::step], squares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("clusters", help="cluster 1,500 answers")
    command.add_argument("--sample", type=int, default=75, help="answers that rouge-score is given")
    command.add_argument("--full", action="store_true", help="give rouge-score all answers")
    command.set_defaults(run=clusters)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
