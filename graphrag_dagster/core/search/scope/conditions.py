"""Which documents meet conditions on their metadata."""

from collections.abc import Iterable

import polars as pl

from graphrag_dagster.core.corpus.metadata import metadata_of
from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.filters import OPERATORS, Condition
from graphrag_dagster.core.text.periods.period import Period
from graphrag_dagster.core.text.values import value_of
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.tables import DOCUMENT_METADATA

#: What every document has, by the names under which it is filtered, unless the files say something of them.
_OWN = {"title": "title", "path": "path", "id": "source_id", "date": "date"}
_MOST_KEYS = 40


def metadata_in(index: IndexSnapshot) -> pl.DataFrame:
    """Return the typed metadata of a snapshot; where an older version made it, from what it has."""
    return metadata_of(index.documents) if index.metadata is None else index.metadata


def documents_meeting(condition: Condition, index: IndexSnapshot) -> frozenset[str]:
    """Return the documents of which a condition holds: of any of the values that they have for the key.

    Keys and texts are compared without case. A document without the key meets nothing; to meet ``!=`` none of
    its values may be equal.

    Raises:
        QuestionError: no document has the key; lists those there are.
    """
    values = _values(condition.key, index)
    if condition.sign == "!=":
        equal = values.filter(_holds(Condition(condition.key, "=", condition.value)))
        return frozenset(values["document_id"]) - frozenset(equal["document_id"])
    return frozenset(values.filter(_holds(condition))["document_id"])


def _values(key: str, index: IndexSnapshot) -> pl.DataFrame:
    metadata = index.once(metadata_in)
    keys = sorted(metadata["key"].unique())
    if wanted := [known for known in keys if known.casefold() == key.casefold()]:
        return metadata.filter(pl.col("key").is_in(wanted))
    if key.casefold() in _OWN:
        return index.once(_own_values, _OWN[key.casefold()])
    raise QuestionError(f"no document has a value {key!r}; the keys are {_listed([*keys, *_OWN])}")


def _own_values(index: IndexSnapshot, column: str) -> pl.DataFrame:
    return DOCUMENT_METADATA.rows(
        {
            "document_id": document_id,
            "key": column,
            "position": 0,
            **value.columns(),
        }
        for document_id, written in index.documents.select("document_id", column).iter_rows()
        if written
        for value in [value_of(written)]
    )


def _holds(condition: Condition) -> pl.Expr:
    value, number = condition.value, pl.col("number")
    found = pl.lit(False)
    if value.number is not None:
        found = found | OPERATORS[condition.sign](number, value.number)
    if (period := value.period) is not None:
        # 2019 is a number beside numbers, and a year beside dates.
        dated = number.is_null() if value.number is not None else pl.lit(True)
        found = found | (dated & _by_date(condition.sign, period))
    if not condition.ordered:
        found = found | (pl.col("text").str.to_lowercase() == value.text.lower())
        if value.boolean is not None:
            found = found | (pl.col("boolean") == value.boolean)
    return found.fill_null(False)


def _by_date(sign: str, asked: Period) -> pl.Expr:
    start, end = pl.col("date_start"), pl.col("date_end")
    return {
        "=": (start >= asked.start) & (end <= asked.end),
        ">": start > asked.end,
        ">=": start >= asked.start,
        "<": end < asked.start,
        "<=": end <= asked.end,
    }[sign]


def _listed(keys: Iterable[str]) -> str:
    every = list(dict.fromkeys(keys))
    more = f" and {len(every) - _MOST_KEYS} more" if len(every) > _MOST_KEYS else ""
    return ", ".join(every[:_MOST_KEYS]) + more
