"""Fits how much what speaks for a sentence as an answer counts.

    python benchmarks/fit_sentences.py --podcast HOME --meetings HOME --articles HOME [--write]

The homes are folders for the indexes, which are used again. For each question of the halves for tuning
(``train`` of the meetings; of the articles 400 questions that are not for reporting), the sentences of the
text units that are found first by words, by words and meaning, and by ``local`` are a choice, in which those
that lie in the words that answer the question are right. The weights are those that make the right ones
likeliest (a conditional logit, with a penalty on large weights); a question about the podcasts counts as
three. Prints, for both halves of each set, the share of questions of which a right sentence is among the
first 1, 3, 5 and 12; --write writes ``kernel/retrieval/sentence_weights.py``.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from articles import QUESTIONS, SEED, articles
from episodes import episodes, podcast_questions
from measuring import Corpus, Stretch, covered
from meetings import CORPORA, meetings
from numpy.typing import NDArray
from scipy.optimize import minimize

from graphrag_dagster.engines.extractive.answer_types import answer_type_of
from graphrag_dagster.engines.extractive.sentence_selection import sentences_of, standalone_scores
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.questions.context.context_units import SourceUnits
from graphrag_dagster.kernel.questions.context.index_retriever import retriever_of
from graphrag_dagster.kernel.retrieval import sentence_weights as answer_weights
from graphrag_dagster.kernel.retrieval.rerankers import unit_features
from graphrag_dagster.kernel.retrieval.sentence_relevance import (
    ANSWER_FEATURES,
    FEATURES,
    asked_words,
    sentence_features,
)
from graphrag_dagster.kernel.text.quotable_sentences import turns

FIRST, TUNED, PENALTY, OF_PODCAST = 60, 400, 2e-3, 3
SHOWN = (1, 3, 5, 12)
ANSWER = (*ANSWER_FEATURES, "fits", "reads")
Weights = NDArray[np.float64]

WRITTEN = '''"""How much what speaks for a sentence counts: by ``benchmarks/fit_sentences.py``."""

from collections.abc import Mapping
from types import MappingProxyType

#: Of a sentence of a context, words by stem or meaning.
ANSWER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {{
{answer}
    }}
)
#: Of a sentence of a text unit that is ranked, words by stem.
UNIT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {{
{unit}
    }}
)
'''


@dataclass(frozen=True)
class Question:
    set: str
    tuned: bool
    text: str
    gold: Sequence[Stretch]


@dataclass(frozen=True)
class Choice:
    """The sentences that a question chooses from: features for either use, and which are right."""

    question: Question
    answer: NDArray[np.float32]
    unit: NDArray[np.float32]
    right: NDArray[np.bool_]


def choices(corpus: Corpus, questions: Sequence[Question]) -> Iterator[Choice]:
    index = corpus.index.searcher.index
    sources, retriever, embedder = SourceUnits(index), retriever_of(index), StaticEmbedder()
    for one in questions:
        vector = embedder.embed([one.text])[0]
        found = [
            retriever.local(one.text, vector, most=FIRST).units.ids,
            *(retriever.units(one.text, vector, mode, most=FIRST).ids for mode in ("hybrid", "lexical")),
        ]
        units = list(dict.fromkeys(unit for ids in found for unit in ids))
        sentences = sentences_of([[sources.all[sources.number_of[unit] - 1] for unit in units]])
        if not asked_words(one.text):
            continue
        at = []
        for sentence in sentences:
            passage, span = index.passages[sentence.quote.unit_id], sentence.quote.span
            at.append(Stretch(passage.path, passage.start_char + span.start, passage.start_char + span.end))
        lines = [sentence.line for sentence in sentences]
        own = standalone_scores(one.text, answer_type_of(one.text), sentences)
        every = np.column_stack([sentence_features(one.text, lines, embedder), own])
        # Units overlap, and a sentence is quoted once.
        first = dict(zip(reversed(at), reversed(range(len(at))), strict=True))
        kept = [place for place in sorted(first.values()) if sentences[place].quotable]
        right = [any(lies_in(at[place], gold) for gold in one.gold) for place in kept]
        yield Choice(
            one,
            every[kept].astype(np.float32),
            unit_features(one.text, lines, turns(lines))[kept].astype(np.float32),
            np.array(right),
        )


def lies_in(sentence: Stretch, gold: Stretch) -> bool:
    """Whether sentence and gold share half of the shorter one."""
    return 2 * covered(gold, [sentence]) >= min(gold.end - gold.start, sentence.end - sentence.start)


def fitted(found: Sequence[tuple[Weights, NDArray[np.bool_], float]]) -> Weights:
    """Return the weights by which the right sentences are likeliest."""
    every = np.vstack([features for features, _, _ in found])
    scale = every.std(axis=0) + 1e-9
    data = [(features / scale, right, counts) for features, right, counts in found]
    whole = sum(counts for _, _, counts in found)

    def loss(weights: Weights) -> tuple[float, Weights]:
        lost, slope = 0.0, np.zeros_like(weights)
        for features, right, counts in data:
            scores = features @ weights
            raised = np.exp(scores - scores.max())
            lost += counts * np.log(raised.sum() / raised[right].sum())
            slope += counts * (
                raised @ features / raised.sum() - raised[right] @ features[right] / raised[right].sum()
            )
        return lost / whole + PENALTY * weights @ weights, slope / whole + 2 * PENALTY * weights

    best = minimize(loss, np.zeros(every.shape[1]), jac=True, method="L-BFGS-B")
    return best.x / scale


def fit(found: Sequence[Choice], features: str) -> Weights:
    return fitted(
        [
            (getattr(one, features).astype(np.float64), one.right, of_set(one.question.set))
            for one in found
            if one.question.tuned and one.right.any() and not one.right.all()
        ]
    )


def of_set(name: str) -> float:
    return OF_PODCAST if name == "podcast" else 1


def tell(found: Sequence[Choice], features: str, weights: Weights) -> None:
    for name, tuned in dict.fromkeys((one.question.set, one.question.tuned) for one in found):
        ranks = []
        for one in found:
            if (one.question.set, one.question.tuned) == (name, tuned):
                order = np.argsort(-(getattr(one, features) @ weights), kind="stable")
                ranks.append(next(iter(np.flatnonzero(one.right[order])), np.inf))
        shares = ", ".join(f"@{first} {np.mean(np.array(ranks) < first):.3f}" for first in SHOWN)
        print(f"{features}: {name}, {'tuned on' if tuned else 'not tuned on'}: {shares}", flush=True)


def written(weights: Weights, names: Sequence[str]) -> str:
    return "\n".join(f'        "{name}": {one:.3f},' for name, one in zip(names, weights, strict=True))


def shipped(weights: Mapping[str, float], names: Sequence[str]) -> Weights:
    return np.array([weights[name] for name in names])


def sets(homes: Mapping[str, Path]) -> Iterator[tuple[Corpus, list[Question]]]:
    podcast = [
        Question("podcast", one.half == "tune", one.text, [Stretch(g.file, g.start, g.end) for g in one.gold])
        for one in podcast_questions()
    ]
    yield Corpus(homes["podcast"], "podcast", episodes()), podcast
    for name, parts in CORPORA.items():
        documents = {one.file: one.text for part in parts for one in meetings(part)}
        asked = [
            Question(part, part == "train", text, gold)
            for part in parts
            for one in meetings(part)
            for text, gold in one.questions
        ]
        yield Corpus(homes["meetings"] / name, name, documents), asked
    documents, about = articles()
    about = [one for one in about if one[1]]
    random.Random(SEED).shuffle(about)
    asked = [
        Question("articles", place >= QUESTIONS, text, gold)
        for place, (text, gold) in enumerate(about[: QUESTIONS + TUNED])
    ]
    yield Corpus(homes["articles"], "articles", documents), asked


def main() -> None:
    """Fit and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ("podcast", "meetings", "articles"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = [choice for corpus, questions in sets(vars(given)) for choice in choices(corpus, questions)]
    before = {
        "answer": (answer_weights.ANSWER_WEIGHTS, ANSWER),
        "unit": (answer_weights.UNIT_WEIGHTS, FEATURES),
    }
    fits = {}
    for features, (weights, names) in before.items():
        print("before:")
        tell(found, features, shipped(weights, names))
        fits[features] = fit(found, features)
        print(f"after: {dict(zip(names, fits[features].round(3).tolist(), strict=True))}")
        tell(found, features, fits[features])
    if given.write:
        text = WRITTEN.format(
            answer=written(fits["answer"], ANSWER),
            unit=written(fits["unit"], FEATURES),
        )
        Path(answer_weights.__file__).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
