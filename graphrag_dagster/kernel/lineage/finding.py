"""From what a person calls a row to its id."""

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.text.similarity import normalise

_NEAR, _LEAST_PREFIX = 5, 4
#: Likeness, 0–100, from which a name may be what was meant.
_ALIKE = 65


def find(kind: str, candidates: pl.DataFrame, asked: str) -> list[str]:
    """Return the ids of the rows that are meant, in the order of the candidates.

    The first of these that fits anything counts: the id; the small number; a name or the label, whatever its
    case; any other name; the beginning of the id, from four characters on, which only one row may have.

    Args:
        kind: what the rows are, for the errors.
        candidates: ``id``, ``number`` (may be null), ``label``, and ``name`` (may be null); perhaps
            ``others``, a list of normalised names (may be null).
        asked: what the person wrote.

    Raises:
        QuestionError: nothing fits, or only the beginning of several ids; names what comes near.
    """
    wanted = asked.strip()
    lowered = wanted.lower()
    ways = [pl.col("id") == wanted]
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 10:
        ways.append(pl.col("number") == int(wanted))
    ways.append(
        (pl.col("label").str.to_lowercase() == lowered)
        | (pl.col("name").str.to_lowercase() == lowered)
        | (pl.col("name") == normalise(wanted))
    )
    if "others" in candidates.columns:
        ways.append(pl.col("others").list.contains(normalise(wanted)))
    for way in ways:
        found: list[str] = candidates.filter(way.fill_null(value=False))["id"].to_list()
        if found:
            return found
    if len(wanted) >= _LEAST_PREFIX:
        begins = candidates.filter(pl.col("id").str.starts_with(lowered))
        if len(begins):
            return [_only(kind, begins, asked)]
    raise QuestionError(unknown(kind, candidates, wanted))


def find_one(kind: str, candidates: pl.DataFrame, asked: str) -> str:
    """Return the id of the one row that is meant; see :func:`find`.

    Raises:
        QuestionError: nothing fits, or more than one does; names what comes near, or what fits.
    """
    found = find(kind, candidates, asked)
    return _only(kind, candidates.filter(pl.col("id").is_in(found)), asked)


def unknown(kind: str, candidates: pl.DataFrame, wanted: str) -> str:
    """Return that there is no such row, with those that come near; arguments as for :func:`find`."""
    if candidates.is_empty():
        return f"no {kind} {wanted!r}: there is none at all in this corpus"
    from rapidfuzz import process, utils

    labels = candidates["label"].to_list()
    # What holds the words that were asked for comes before what only looks like them.
    inside = [place for place, label in enumerate(labels) if wanted.lower() in label.lower()]
    near = [(labels[place], 100.0, place) for place in inside[:_NEAR]] or process.extract(
        wanted, labels, limit=_NEAR, processor=utils.default_process
    )
    if places := [place for _, score, place in near if score >= _ALIKE]:
        return f"no {kind} {wanted!r}; did you mean {_listed(candidates[places], ' or ')}?"
    return f"no {kind} {wanted!r}, nor one that is called alike; there are {_listed(candidates.head(_NEAR))}"


def _only(kind: str, fits: pl.DataFrame, asked: str) -> str:
    if len(fits) == 1:
        return str(fits["id"][0])
    raise QuestionError(
        f"{asked!r} fits {len(fits)} rows; give the id of one {kind}: {_listed(fits.head(_NEAR))}"
        + ("" if len(fits) <= _NEAR else f", and {len(fits) - _NEAR} more")
    )


def _listed(rows: pl.DataFrame, between: str = ", ") -> str:
    return between.join(f"{_cut(label)!r} ({one})" for one, label in rows.select("id", "label").iter_rows())


def _cut(text: str, length: int = 70) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= length else folded[: length - 1] + "…"
