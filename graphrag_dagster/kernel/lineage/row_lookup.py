"""Finds the rows that users mean by an id, a number or a name."""

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.printable import shorten
from graphrag_dagster.kernel.text.text_similarity import normalise

_NEAR, _LEAST_PREFIX = 5, 4
#: Least similarity, 0–100, of a suggested name.
_ALIKE = 65
_LONGEST_LABEL = 70


def find_rows(kind: str, candidates: pl.DataFrame, asked: str) -> list[str]:
    """Return the ids of the matching rows, in the order of the candidates.

    The first criterion that matches anything decides: the id; the small number; a name or the label, ignoring
    case; any other name; a prefix of the id of at least four characters, which must be unique.

    Args:
        kind: kind of the rows, for error messages.
        candidates: ``id``, ``number`` (nullable), ``label``, and ``name`` (nullable); optionally ``others``,
            a list of normalised names (nullable).
        asked: the user's input.

    Raises:
        QuestionError: nothing matches, or only a prefix of several ids; the message suggests similar rows.
    """
    query = asked.strip()
    lowered = query.lower()
    criteria = [pl.col("id") == query]
    if query.isascii() and query.isdigit() and len(query) < 10:
        criteria.append(pl.col("number") == int(query))
    criteria.append(
        (pl.col("label").str.to_lowercase() == lowered)
        | (pl.col("name").str.to_lowercase() == lowered)
        | (pl.col("name") == normalise(query))
    )
    if "others" in candidates.columns:
        criteria.append(pl.col("others").list.contains(normalise(query)))
    for criterion in criteria:
        matches: list[str] = candidates.filter(criterion.fill_null(value=False))["id"].to_list()
        if matches:
            return matches
    if len(query) >= _LEAST_PREFIX:
        prefixed = candidates.filter(pl.col("id").str.starts_with(lowered))
        if len(prefixed):
            return [_require_one(kind, prefixed, asked)]
    raise QuestionError(unknown_row_message(kind, candidates, query))


def find_row(kind: str, candidates: pl.DataFrame, asked: str) -> str:
    """Return the id of the only matching row; see :func:`find_rows`.

    Raises:
        QuestionError: nothing matches, or several rows do; the message lists similar or matching ones.
    """
    matches = find_rows(kind, candidates, asked)
    return _require_one(kind, candidates.filter(pl.col("id").is_in(matches)), asked)


def unknown_row_message(kind: str, candidates: pl.DataFrame, wanted: str) -> str:
    """Return an error message for an unknown row, with similar ones; arguments as for :func:`find_rows`."""
    if candidates.is_empty():
        return f"no {kind} {wanted!r}: there is none at all in this corpus"
    from rapidfuzz import process, utils

    labels = candidates["label"].to_list()
    # Labels that contain the input take precedence over similar ones.
    inside = [index for index, label in enumerate(labels) if wanted.lower() in label.lower()]
    near = [(labels[index], 100.0, index) for index in inside[:_NEAR]] or process.extract(
        wanted, labels, limit=_NEAR, processor=utils.default_process
    )
    if indices := [index for _, score, index in near if score >= _ALIKE]:
        return f"no {kind} {wanted!r}; did you mean {_list_candidates(candidates[indices], ' or ')}?"
    known = _list_candidates(candidates.head(_NEAR))
    return f"no {kind} {wanted!r}, nor one that is called alike; there are {known}"


def _require_one(kind: str, fits: pl.DataFrame, asked: str) -> str:
    if len(fits) == 1:
        return str(fits["id"][0])
    raise QuestionError(
        f"{asked!r} fits {len(fits)} rows; give the id of one {kind}: {_list_candidates(fits.head(_NEAR))}"
        + ("" if len(fits) <= _NEAR else f", and {len(fits) - _NEAR} more")
    )


def _list_candidates(rows: pl.DataFrame, between: str = ", ") -> str:
    return between.join(
        f"{shorten(' '.join(label.split()), _LONGEST_LABEL)!r} ({row_id})"
        for row_id, label in rows.select("id", "label").iter_rows()
    )
