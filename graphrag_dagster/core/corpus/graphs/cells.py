"""From the cells of a table-like file to the values of columns: texts, keys, numbers, lists."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import polars as pl

from graphrag_dagster.core.files.records import clean, plain
from graphrag_dagster.core.text.relations import RELATED_TO, relation_label

#: Cells of one type as a series, or whatever they are.
Column = pl.Series | Sequence[object]
NO_ATTRIBUTES = "{}"
_JSON = json.JSONEncoder(ensure_ascii=False)

_CONTROLS = r"[\x00-\x1f\x7f-\x9f]+"
_SEPARATORS = re.compile(r"<SEP>|[;,|\n]")


def texts(cells: Column) -> tuple[pl.Series, list[int]]:
    """Return cells as texts, null where there is nothing, and the places of lists and objects.

    Lists of texts are joined by line ends; whole numbers that were stored as fractions, because others are
    missing, are whole.
    """
    if isinstance(cells, pl.Series):
        if cells.dtype in (pl.String, pl.Boolean, pl.Null, pl.Categorical) or cells.dtype.is_integer():
            return cells.cast(pl.String), []
        cells = cells.to_list()
    structured = [place for place, cell in enumerate(cells) if isinstance(cell, list | tuple | Mapping)]
    return pl.Series([_text(cell) for cell in cells], dtype=pl.String), structured


def _text(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return None if cell is None else clean(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return (str(int(cell)) if cell.is_integer() else str(cell)) if math.isfinite(cell) else None
    if isinstance(cell, list | tuple) and all(isinstance(item, str) for item in cell):
        return clean("\n".join(cell)) or None
    if isinstance(cell, list | tuple | Mapping):
        return to_json(cell)
    told = plain(cell)
    return None if told is None else str(told)


def keys(series: pl.Series) -> pl.Series:
    """Return texts on one line, without blanks around; null where nothing is left."""
    cleaned = series.str.replace_all(_CONTROLS, " ").str.strip_chars()
    return cleaned.set(cleaned == "", None)


def bodies(series: pl.Series) -> pl.Series:
    """Return texts without blanks around, blank where there is none."""
    return series.fill_null("").str.replace_all("\x00", "\ufffd", literal=True).str.strip_chars()


def numbers(cells: Column, default: float) -> tuple[pl.Series, list[int]]:
    """Return cells as finite numbers, the default where there is nothing, and the places of what is none."""
    if not isinstance(cells, pl.Series) or not (cells.dtype.is_numeric() or cells.dtype == pl.String):
        cells, _ = texts(cells)
    told = keys(cells) if cells.dtype == pl.String else cells
    found = told.cast(pl.Float64, strict=False)
    if cells.dtype.is_numeric():
        # Missing numbers are not-a-number in some files.
        told = told.set(found.is_nan().fill_null(False), None) if cells.dtype.is_float() else told
    wrong = told.is_not_null() & ~found.is_finite().fill_null(False)
    usable = found.set(~found.is_finite().fill_null(False), None)
    return usable.fill_null(default), wrong.arg_true().to_list()


def lists(cells: Column) -> pl.Series:
    """Return cells as lists of keys: what is no list is taken apart at separators."""
    return pl.Series(map(items, cells), dtype=pl.List(pl.String))


def items(cell: object) -> list[str]:
    """Return the texts of a list, or of a text that holds one."""
    if cell is None:
        return []
    if isinstance(cell, str):
        told = _json_list(cell)
        parts: Iterable[object] = _SEPARATORS.split(cell) if told is None else told
    elif isinstance(cell, pl.Series):
        parts = cell.to_list()
    else:
        parts = cell if isinstance(cell, list | tuple) else [cell]
    found = (one_line(part) for part in parts)
    return [item for item in found if item]


def one_line(value: object) -> str | None:
    """Return a value as a key, or None where nothing is left."""
    text = _text(value)
    return re.sub(_CONTROLS, " ", text).strip() or None if text else None


def _json_list(text: str) -> list[object] | None:
    if not text.lstrip().startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def to_json(value: object) -> str:
    """Return a value as JSON, the same in every process."""
    return _JSON.encode(plain(value))


def attributes(columns: Mapping[str, Column], height: int, *, blank: bool = True) -> pl.Series:
    """Return what each row has in these columns as a JSON object; ``blank``: blank texts are kept."""
    if not columns:
        return pl.Series([NO_ATTRIBUTES], dtype=pl.String).new_from_index(0, height)
    nothing: tuple[object, ...] = (None,) if blank else (None, "")
    told = [c.to_list() if isinstance(c, pl.Series) else c for c in columns.values()]
    names = [clean(name) for name in columns]
    rows = (
        {name: cell for name, cell in zip(names, cells, strict=True) if cell not in nothing}
        for cells in zip(*told, strict=True)
    )
    return pl.Series([to_json(row) if row else NO_ATTRIBUTES for row in rows], dtype=pl.String)


def relations_of(labels: pl.Series) -> pl.Series:
    """Return the relation of each label."""
    unique = labels.unique()
    return labels.replace_strict(unique, [relation_of(label) for label in unique], return_dtype=pl.String)


@lru_cache(65_536)
def relation_of(label: str) -> str:
    """Return a label's words in lower case, joined by ``_``; the label if it has none; or ``related_to``."""
    return relation_label(label) or label.strip() or RELATED_TO
