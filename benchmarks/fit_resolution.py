"""Fits how much each feature of two names counts in entity resolution.

    python benchmarks/fit_resolution.py [--write]

A logistic regression, with a penalty on large weights, on the pairs of names that one half of Re-DocRED's
documents has (by document, with a seed) and no veto decides; from what probability on names are merged is
chosen by ``resolution.py --half fit``. The other half is measured by ``resolution.py``. --write writes
``systems/graphrag/resolution/feature_weights.py``.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from redocred import Document, documents, halves, mentions, sentences
from sklearn.linear_model import LogisticRegression

from graphrag_dagster.systems.graphrag.resolution import feature_weights as shipped
from graphrag_dagster.systems.graphrag.resolution.entity_resolution import resolve
from graphrag_dagster.systems.graphrag.resolution.match_probability import REASONS
from graphrag_dagster.systems.graphrag.resolution.name_pairs import Comparing

Matrix = NDArray[np.float64]
Truth = NDArray[np.bool_]

INVERSE_PENALTY = 3.0
#: Not fitted: what differs in case, accents, blanks and articles only is one, whatever annotators overlooked,
#: and so is a given name behind the only full name that has it; of other orders, other blanks, titles and
#: letters for countries there are too few.
SET = {
    "same_key": 6.0,
    "same_letters": 4.5,
    "other_order": 3.5,
    "without_title": 2.5,
    "introduced": 1.3,
    "country_letters": 1.5,
}
BOUNDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

WRITTEN = '''"""How much each feature of two names counts: by ``benchmarks/fit_resolution.py``."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

#: Log-odds of a pair of candidates of which nothing is known.
START: Final = {start}
#: Log-odds that each feature adds.
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {{
{weights}
    }}
)
#: From what probability on two names of a document are one, and two names of a corpus.
MERGE_WITHIN: Final = {within}
MERGE_ACROSS: Final = {across}
#: From what probability on it is asked whether they are.
ASK: Final = {ask}
'''

Weights = dict[str, float]


def examples(chosen: Sequence[Document]) -> tuple[list[str], Matrix, Truth]:
    """Return the names of features, those of each pair that no veto decides, and whether it is one entity."""
    entities = defaultdict(set)
    for one in chosen:
        for mention, entity in one.mentions:
            entities[one.title, mention.name, mention.type].add(entity)
    names = [name for name in REASONS if name not in SET]
    rows, same = [], []
    comparing = Comparing()
    resolve(mentions(chosen), sentences(chosen), comparing=comparing)
    inside = comparing.frame().filter(pl.col("document_id").is_not_null() & pl.col("veto").is_null())
    for row in inside.iter_rows(named=True):
        values = json.loads(row["features"])
        if not values.keys() & SET.keys():
            one, other = (
                entities[row["document_id"], row[side], row[f"{side}_type"]] for side in ("one", "other")
            )
            rows.append([values.get(name, 0.0) for name in names])
            same.append(bool(one & other))
    return names, np.array(rows), np.array(same)


def fitted(names: Sequence[str], features: Matrix, same: Truth) -> tuple[float, Weights]:
    """Return the log-odds of nothing and of each feature, those that are set among them."""
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=5000).fit(features, same)
    return round(float(model.intercept_[0]), 2), SET | dict(
        zip(names, model.coef_[0].round(2).tolist(), strict=True)
    )


def main() -> None:
    """Fit, print, and write where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    names, features, same = examples(halves(documents())["fit"])
    start, weights = fitted(names, features, same)
    print(f"{len(same)} pairs, {same.sum()} of them one entity; of which nothing is known: {start}")
    for name, weight in sorted(weights.items(), key=lambda one: -one[1]):
        has = features[:, names.index(name)] > 0 if name in names else np.zeros(len(same), bool)
        share = f"{same[has].mean():.2f} of {has.sum()}" if has.any() else "set"
        print(f"{weight:6.2f} {name:22} {share:12} {REASONS[name]}")
    scores = 1 / (1 + np.exp(-(start + features @ np.array([weights[name] for name in names]))))
    for bound in BOUNDS:
        taken = scores >= bound
        print(
            f"from {bound}: precision {same[taken].mean():.3f}, recall {same[taken].sum() / same.sum():.3f}"
        )
    if wanted.write:
        lines = "\n".join(f'        "{name}": {weight:.2f},' for name, weight in weights.items())
        bounds = {"within": shipped.MERGE_WITHIN, "across": shipped.MERGE_ACROSS, "ask": shipped.ASK}
        Path(shipped.__file__).write_text(WRITTEN.format(start=start, weights=lines, **bounds))


if __name__ == "__main__":
    main()
