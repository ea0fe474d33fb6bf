"""Fits how much each thing that speaks for a text unit counts in local retrieval.

    python benchmarks/fit_retrieval.py --home FOLDER [--rounds N] [--write]

Follows the questions of the halves for tuning (``retrieval.py``), with and without the passages' titles, by
the weights as they are. At each step the units of the pool are a choice, in which the gold passages that are
not yet taken are right: the weights are those that make the right ones likeliest (a conditional logit, with a
penalty on large weights). New weights lead to other choices, so that this is done in rounds. Prints recall at
5 and the share of complete questions on both halves before and after; --write writes
``kernel/retrieval/multihop/hop_weights.py``.

With --home the indexes are kept in the folder and used again.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from retrieval import SECTIONS, Measured, Question, halves, index, questions
from scipy.optimize import minimize

from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.retrieval.multihop import hop_weights as shipped
from graphrag_dagster.kernel.retrieval.multihop.multihop_retrieval import Following
from graphrag_dagster.kernel.retrieval.multihop.question_parsing import DIRECT, PATH

STEPS, PENALTY, FIRST = 6, 3e-4, 5
Weights = NDArray[np.float64]
Choice = tuple[NDArray[np.float64], NDArray[np.bool_]]

WRITTEN = '''"""How much each thing that speaks for a text unit counts: by ``benchmarks/fit_retrieval.py``."""

from collections.abc import Mapping
from types import MappingProxyType

DIRECT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {{
{direct}
    }}
)
PATH_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {{
{path}
    }}
)
'''


class Set:
    """The questions over one index, with the places of their gold passages."""

    def __init__(self, name: str, home: Path, *, titled: bool) -> None:
        index(name, home, titled=titled, resolved=True)
        self.called = f"{name}, {'titled' if titled else 'untitled'}"
        asked, measured = questions(name), Measured(name, titled=titled)
        self._retriever = measured.retriever
        place = {measured.passage_of[unit]: at for at, unit in enumerate(self._retriever.unit_ids)}
        vectors = StaticEmbedder().embed([question.text for question in asked])
        self.gold = [frozenset(map(place.__getitem__, question.gold)) for question in asked]
        self._asked: list[tuple[Question, NDArray[np.float32]]] = list(zip(asked, vectors, strict=True))
        self.halves = halves(len(asked))

    def following(self, at: int, weights: Weights) -> Following:
        question, vector = self._asked[at]
        return self._retriever.following(question.text, vector, weights=weights)

    def choices(self, weights: Weights) -> Iterator[Choice]:
        """What there was to choose from at each step of each question for tuning, and what was right."""
        for at in self.halves["tune"]:
            following = self.following(at, weights)
            while len(following.taken) < min(STEPS, len(following.pool)):
                still = following.not_taken()
                right = np.isin(following.pool, list(self.gold[at])) & still
                if right.any():
                    yield following.features()[still], right[still]
                following.take()

    def tell(self, weights: Weights, when: str) -> None:
        for half, places in self.halves.items():
            found = [self.following(at, weights).ranked(8)[0][:FIRST].tolist() for at in places]
            hits = [[one in first for one in self.gold[at]] for first, at in zip(found, places, strict=True)]
            recall, complete = np.mean([np.mean(one) for one in hits]), np.mean([all(one) for one in hits])
            print(
                f"{when}: {self.called}, {half}: recall@{FIRST} {recall:.3f}, all {complete:.3f}", flush=True
            )


def fitted(choices: Sequence[Choice], start: Weights) -> Weights:
    """Return the weights by which the right units are likeliest."""

    def loss(weights: Weights) -> tuple[float, Weights]:
        whole, slope = 0.0, np.zeros_like(weights)
        for features, right in choices:
            scores = features @ weights
            raised = np.exp(scores - scores.max())
            wrong, wrong_features = raised[~right].sum(), raised[~right] @ features[~right]
            for place in np.flatnonzero(right):
                both = raised[place] + wrong
                whole += np.log(both / raised[place]) / right.sum()
                slope += (
                    (raised[place] * features[place] + wrong_features) / both - features[place]
                ) / right.sum()
        count = len(choices)
        return whole / count + PENALTY * weights @ weights, slope / count + 2 * PENALTY * weights

    found: Weights = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return found


def written(weights: Weights) -> str:
    lines = [f'        "{name}": {value:.2f},' for name, value in zip((*DIRECT, *PATH), weights, strict=True)]
    return WRITTEN.format(direct="\n".join(lines[: len(DIRECT)]), path="\n".join(lines[len(DIRECT) :]))


def main() -> None:
    """Fit, print, and write where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--write", action="store_true", help="write the module with the weights")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = (options.home or Path(folder)).resolve()
        sets = [
            Set(name, home / (name if titled else f"{name}_untitled"), titled=titled)
            for name in SECTIONS.values()
            for titled in (True, False)
        ]
        direct, path = shipped.DIRECT_WEIGHTS, shipped.PATH_WEIGHTS
        weights = np.array([*(direct.get(n, 0.0) for n in DIRECT), *(path.get(n, 0.0) for n in PATH)])
        for one in sets:
            one.tell(weights, "before")
        for _ in range(options.rounds):
            weights = fitted([choice for one in sets for choice in one.choices(weights)], weights)
        weights = weights.round(2)
        for one in sets:
            one.tell(weights, "after")
    if options.write:
        Path(shipped.__file__).write_text(written(weights), encoding="utf-8")
    print(written(weights))


if __name__ == "__main__":
    main()
