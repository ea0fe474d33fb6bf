"""The GraphRAG paper's Table 6 corrected again from its Z values, and the sum behind its Table 3.

Printed Z values are rounded, so each gives an interval of p; a printed corrected p is missed if what it was
rounded from cannot lie in the corrected interval.

Run: python benchmarks/table6.py [text of the paper]
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import erfc, fsum, sqrt
from pathlib import Path

import numpy as np

from graphrag_dagster.apps.evaluation.inference.paired_tests import holm

PAPER = Path(__file__).parents[1] / "../shared/papers/001_f60418696dad2659.txt"
DATA_SETS = ("Podcast", "News")
CRITERIA = ("comprehensiveness", "diversity", "empowerment", "directness")
PAIRS = 15
QUESTIONS = 125
HALF_OF_Z = 0.005
HALF_OF_P = 0.0005
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_HALF_ROW = rf"{_NUMBER} {_NUMBER} {_NUMBER} (<?\d+(?:\.\d+)?)"
_ROW = re.compile(rf"\b(C\d|TS) (C\d|TS|SS) {_HALF_ROW} {_HALF_ROW}[ ]*$", re.MULTILINE | re.IGNORECASE)
_CLAIMS = re.compile(r"^\W*(C\d|TS|SS) (\d+\.\d\d) (\d+\.\d\d)[ ]*$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """One comparison of one data set: win rates of both conditions, z and the corrected p as printed."""

    data_set: str
    criterion: str
    pair: tuple[str, str]
    means: tuple[float, float]
    z: float
    p: str


def table_6(text: str) -> list[Row]:
    """The 120 comparisons, data set by data set, criterion by criterion."""
    found = _ROW.findall(text[text.index("Table 6:") :])
    return [
        Row(
            data_set,
            CRITERIA[number // PAIRS],
            (row[0].upper(), row[1].upper()),
            (float(row[at]), float(row[at + 1])),
            float(row[at + 2]),
            row[at + 3],
        )
        for data_set, at in zip(DATA_SETS, (2, 6), strict=True)
        for number, row in enumerate(found)
    ]


def missed(rows: list[Row], family: int) -> list[Row]:
    """Rows whose printed p cannot come from correcting ``family`` consecutive rows together."""
    return [row for start in range(0, len(rows), family) for row in _missed(rows[start : start + family])]


def _missed(rows: list[Row]) -> Iterator[Row]:
    z = np.array([abs(row.z) for row in rows])
    lowest, highest = _corrected(z + HALF_OF_Z), _corrected(np.maximum(z - HALF_OF_Z, 0))
    for row, low, high in zip(rows, lowest, highest, strict=True):
        if row.p.startswith("<"):
            fits = low < float(row.p[1:])
        else:
            fits = low <= float(row.p) + HALF_OF_P and high >= float(row.p) - HALF_OF_P
        if not fits:
            yield row


def _corrected(z: np.ndarray) -> np.ndarray:
    return holm([erfc(each / sqrt(2)) for each in z])


def table_3(text: str) -> dict[str, tuple[float, float]]:
    """Mean claims per answer of each condition: news articles, podcast transcripts."""
    start = text.index("Table3:")
    rows = _CLAIMS.findall(text[start : text.index("5.2 Experiment2", start)])
    return {condition.upper(): (float(news), float(podcast)) for condition, news, podcast in rows}


def total_claims(means: dict[str, tuple[float, float]]) -> float:
    """Claims of all answers, from the means per answer."""
    return QUESTIONS * fsum(mean for row in means.values() for mean in row)


def main() -> None:
    text = (Path(sys.argv[1]) if len(sys.argv) > 1 else PAPER).read_text()
    rows = table_6(text)
    print(f"Table 6: {len(rows)} comparisons")
    for family, name in ((PAIRS, "one data set and one criterion"), (4 * PAIRS, "one data set")):
        wrong = missed(rows, family)
        print(f"families of {family} ({name}): {len(wrong)} corrected p values missed")
    means = table_3(text)
    print(
        f"Table 3: {len(means)} conditions, {QUESTIONS} x the sum of the means = {total_claims(means):,.2f}"
    )


if __name__ == "__main__":
    main()
