"""From the cells of a table-like file to the values of columns: texts, keys, numbers, lists."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import polars as pl

from graphrag_dagster.kernel.documents.file_records import clean, json_value
from graphrag_dagster.kernel.graph.graph_labels import HEAVIEST, LIGHTEST, RELATED_TO, relation_label

#: Cells of one type as a series, or whatever they are.
Column = pl.Series | Sequence[object]
NO_ATTRIBUTES = "{}"
_JSON = json.JSONEncoder(ensure_ascii=False)

#: Characters of ids, titles, types and labels, as of titles of documents; of descriptions and other values.
LONGEST_KEY, LONGEST_TEXT = 500, 100_000
#: Between the texts that LightRAG and nano-graphrag hold in one.
FIELD_SEPARATOR = "<SEP>"

_CONTROLS = r"[\x00-\x1f\x7f-\x9f]+"
_WHOLE = ("description", "keywords", "source_id")
_SEPARATORS = re.compile(rf"{FIELD_SEPARATOR}|[;,|\n]")
#: How tables of text write that there is nothing.
_MISSING = ["NaN", "nan", "NAN", "<NA>", "NaT", "#N/A", "NULL", "\\N"]
_WHOLE_FRACTIONS = r"^[+-]?\d+\.0+$"
_DIGEST_LENGTH = 16


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
    told = json_value(cell)
    return None if told is None else str(told)


def keys(series: pl.Series) -> pl.Series:
    """Return texts on one line, without blanks around; null where nothing is left."""
    cleaned = series.str.replace_all(_CONTROLS, " ").str.strip_chars()
    return cleaned.set(cleaned == "", None)


def present(series: pl.Series) -> pl.Series:
    """Return texts, null where one says that nothing is there: ``NaN``, ``<NA>``, ``NULL``, ``\\N``."""
    return series.set(series.is_in(_MISSING).fill_null(False), None)


def whole(series: pl.Series) -> pl.Series:
    """Return keys; where all are whole numbers written as fractions, ``1.0``, they are whole: ``1``.

    pandas writes a column of ids so in which one is missing.
    """
    fractions = series.str.contains(_WHOLE_FRACTIONS)
    return series.str.replace(r"\.0+$", "") if fractions.all() and len(fractions.drop_nulls()) else series


def shorten(key: str) -> str:
    """Return a key or title of at most 500 characters; of a longer one, its beginning and a hash of it."""
    if len(key) <= LONGEST_KEY:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{key[: LONGEST_KEY - _DIGEST_LENGTH - 1]}…{digest}"


def bodies(series: pl.Series) -> pl.Series:
    """Return texts without blanks around, blank where there is none; several held in one on lines each."""
    told = series.fill_null("").str.replace_all("\x00", "\ufffd", literal=True)
    if told.str.contains(FIELD_SEPARATOR, literal=True).any():
        told = told.str.replace_all(rf"\s*{FIELD_SEPARATOR}\s*", "\n")
    return told.str.strip_chars()


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


def weights(cells: Column) -> tuple[pl.Series, list[int]]:
    """Return cells as weights, 1 where there is none, and the places of what cannot be one.

    A weight is 0, or between 1e-30 and 1e30: others break the sums of many.
    """
    found, wrong = numbers(cells, 1.0)
    odd = (found != 0) & ~found.is_between(LIGHTEST, HEAVIEST)
    return found.set(odd, 1.0), sorted([*wrong, *odd.arg_true()])


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
    return _JSON.encode(json_value(value))


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


def parse_cell(name: str, value: object) -> object:
    """Return the texts that LightRAG or nano-graphrag hold in one under a name; any other value as it is.

    Descriptions, keywords and ids of text units are told apart where they are used.
    """
    if name in _WHOLE or not isinstance(value, str) or FIELD_SEPARATOR not in value:
        return value
    return [part for part in (one.strip() for one in value.split(FIELD_SEPARATOR)) if part]
