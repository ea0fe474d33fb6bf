"""How good the first paths that were found are (spec_lego §9)."""

from collections.abc import Sequence

from graphrag_dagster.core.paths.metrics.answers import harmonic
from graphrag_dagster.core.paths.metrics.normalising import Answers

#: How many of the first paths are looked at.
CUTS = (1, 4, 8, 16, 32)
PATH_PARTS = ("path_precision", "path_recall", "path_f1", "path_hit")
PATH_MEASURES = tuple(f"{part}_at_{cut}" for cut in CUTS for part in PATH_PARTS)


def path_scores(texts: Sequence[str], gold: Answers) -> dict[str, float | None]:
    """Return the measures of the first 1, 4, 8, 16 and 32 paths; all None without gold.

    Precision is the share of the paths that hold any answer, 0 without a path; recall the share of the
    answers that any path holds; hit whether any does.

    Args:
        texts: normalised paths, best first.
        gold: the answers.
    """
    if not len(gold):
        return dict.fromkeys(PATH_MEASURES)
    held = [gold.within(text) for text in texts[: max(CUTS)]]
    found: dict[str, float | None] = {}
    for cut in CUTS:
        first = held[:cut]
        precision = sum(map(bool, first)) / len(first) if first else 0.0
        recall = len(set().union(*first)) / len(gold)
        values = (precision, recall, harmonic(precision, recall), float(recall > 0))
        found |= {f"{part}_at_{cut}": value for part, value in zip(PATH_PARTS, values, strict=True)}
    return found
