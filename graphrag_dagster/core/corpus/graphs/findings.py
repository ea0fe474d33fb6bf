"""Findings and ratings of reports, however a file writes them."""

import json
import math
from collections.abc import Mapping

from graphrag_dagster.core.corpus.graphs.cells import to_json
from graphrag_dagster.core.files.records import clean

_HIGHEST = 10.0


def findings_json(told: object) -> tuple[str, bool]:
    """Return findings as a JSON list of objects with ``summary`` and ``explanation``, and whether all fit.

    They may be a list of objects or of texts, or JSON of either; nothing is no finding.
    """
    if isinstance(told, str):
        try:
            told = json.loads(told) if told.strip() else []
        except (ValueError, RecursionError):
            told = [told]
    found, fits = [], told is None or isinstance(told, list)
    for one in told if isinstance(told, list) else []:
        if isinstance(one, str):
            found.append({"summary": clean(one), "explanation": ""})
        elif isinstance(one, Mapping):
            found.append({name: clean(str(one.get(name) or "")) for name in ("summary", "explanation")})
        else:
            fits = False
    return to_json(found), fits


def rating_of(told: object) -> float:
    """Return a rating from 0 to 10, 0 where there is none.

    >>> [rating_of(told) for told in (7, "8.5", float("inf"), None, 1e308, -3)]
    [7.0, 8.5, 0.0, 0.0, 10.0, 0.0]
    """
    try:
        rating = float(told) if isinstance(told, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    return min(max(rating, 0.0), _HIGHEST) if math.isfinite(rating) else 0.0
