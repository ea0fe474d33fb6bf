"""How well sentences are chosen and taken apart into claims without a model, against what people did.

    python benchmarks/claim_extraction.py [FOLDER]

FOLDER holds ``factcheck-GPT-benchmark.jsonl`` of Factcheck-GPT: answers whose sentences people labelled as
worth a check or not, and the claims they made of them. Default is the folder of real data sets beside the
checkout. The rules were written against another data set (FacTool) and were not fitted to this one.
"""

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz.distance import LCSseq

from graphrag_dagster.apps.evaluation.extractive import ExtractiveClaimDecomposer
from graphrag_dagster.apps.evaluation.tasks import AnswerText, ClaimDecomposer, SentenceClaims
from graphrag_dagster.kernel.questions.statement_reading import answer_sentences

DEFAULT = Path(__file__).parents[2] / "shared" / "data" / "claims_factcheckgpt"
FILE = "factcheck-GPT-benchmark.jsonl"
MATCH = 0.6
TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Labelled:
    """A sentence as people judged it, with the claims they made of it."""

    question: str
    text: str
    label: str
    claims: tuple[str, ...]

    @property
    def worth_a_check(self) -> bool:
        return self.label == "yes"


def answers(folder: Path) -> list[tuple[str, list[Labelled]]]:
    """The answers with their sentences."""
    rows = map(json.loads, (folder / FILE).read_text(encoding="utf-8").splitlines())
    return [
        (
            row["response"],
            [
                Labelled(row["prompt"], one["text"], one["sentence_checkworthiness"], tuple(one["claims"]))
                for one in row["sentences"].values()
            ],
        )
        for row in rows
    ]


def decomposed(
    decomposer: ClaimDecomposer, sentences: Sequence[Labelled]
) -> list[tuple[SentenceClaims, ...]]:
    """What becomes of each sentence on its own; a sentence here may be several to us."""
    return list(decomposer.decompose([AnswerText(one.question, one.text) for one in sentences]))


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def scores(kept: Sequence[bool], wanted: Sequence[bool]) -> dict[str, float]:
    """Precision, recall and F1 of keeping, and the mean of the F1 of keeping and that of dropping."""
    pairs = Counter(zip(kept, wanted, strict=True))
    both, dropped = pairs[True, True], pairs[False, False]
    precision = both / max(sum(kept), 1)
    recall = both / max(sum(wanted), 1)
    dropping = f1(dropped / max(kept.count(False), 1), dropped / max(wanted.count(False), 1))
    keeping = f1(precision, recall)
    return {"precision": precision, "recall": recall, "F1": keeping, "macro-F1": (keeping + dropping) / 2}


def rouge_l(one: str, other: str) -> float:
    """F1 of the longest common subsequence of words."""
    first, second = TOKEN.findall(one.lower()), TOKEN.findall(other.lower())
    return 2 * LCSseq.similarity(first, second) / max(len(first) + len(second), 1)


def matched(claims: Sequence[str], among: Sequence[str]) -> int:
    """How many claims have one like them among others."""
    return sum(any(rouge_l(claim, other) >= MATCH for other in among) for claim in claims)


def matches(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> dict[str, float]:
    """Share of our claims that people made too, and the other way round, sentence by sentence."""
    pairs = list(zip(ours, theirs, strict=True))
    precision = sum(matched(a, b) for a, b in pairs) / max(sum(map(len, ours)), 1)
    recall = sum(matched(b, a) for a, b in pairs) / max(sum(map(len, theirs)), 1)
    return {"precision": precision, "recall": recall, "F1": f1(precision, recall)}


def line(name: str, values: dict[str, float]) -> None:
    print(f"  {name:<24}" + "".join(f"  {key} {value:.3f}" for key, value in values.items()))


def report(every: Sequence[tuple[str, list[Labelled]]], decomposer: ClaimDecomposer) -> None:
    sentences = [one for _, labelled in every for one in labelled]
    same = sum(
        one.text in {found.text for found in answer_sentences(text)}
        for text, labelled in every
        for one in labelled
    )
    made = decomposed(decomposer, sentences)
    kept = [any(found.claims for found in one) for one in made]
    wanted = [one.worth_a_check for one in sentences]
    print(f"{len(every)} answers, {len(sentences)} sentences, {same} of them cut alike by us")
    print("labels:", dict(Counter(one.label for one in sentences).most_common()))
    print("states:", dict(Counter(found.state for one in made for found in one).most_common()))
    print("selection")
    line(decomposer.engine, scores(kept, wanted))
    line("everything is kept", scores([True] * len(wanted), wanted))
    ours = [[claim for found in one for claim in found.claims] for one in made]
    checked = [place for place, one in enumerate(sentences) if one.worth_a_check]
    both = [place for place in checked if kept[place]]
    print(f"claims per sentence, over the {len(both)} that both keep")
    print(f"  {decomposer.engine} {sum(len(ours[place]) for place in both) / len(both):.2f}")
    print(f"  people {sum(len(sentences[place].claims) for place in both) / len(both):.2f}")
    print(f"claims of the {len(checked)} sentences that people keep, alike at ROUGE-L F1 >= {MATCH}")
    theirs = [sentences[place].claims for place in checked]
    line(decomposer.engine, matches([ours[place] for place in checked], theirs))
    line("the sentence is the claim", matches([[sentences[place].text] for place in checked], theirs))


def speed(every: Sequence[tuple[str, list[Labelled]]], decomposer: ClaimDecomposer) -> None:
    """750 answers of 12 sentences each, made of these sentences in turn."""
    texts = [one.text for _, labelled in every for one in labelled]
    twelves = [
        AnswerText("", " ".join(texts[(number * 12 + place) % len(texts)] for place in range(12)))
        for number in range(750)
    ]
    began, worked = time.perf_counter(), time.process_time()
    found = sum(len(one.claims) for answer in decomposer.decompose(twelves) for one in answer)
    seconds, busy = time.perf_counter() - began, time.process_time() - worked
    print(f"750 answers of 12 sentences: {seconds:.1f} s, {busy:.1f} s of one processor, {found} claims")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    every = answers(folder)
    decomposer = ExtractiveClaimDecomposer()
    report(every, decomposer)
    speed(every, decomposer)


if __name__ == "__main__":
    main()
