"""Questions that a corpus answers by a query: made of its own types, names and columns."""

from collections.abc import Iterator
from itertools import islice

import polars as pl

from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.methods.sql.columns import properties
from graphrag_dagster.core.search.methods.sql.recognising import fits
from graphrag_dagster.core.search.scope.selecting import periods_in_index

_MOST = 6
#: Names and types that are tried, and the longest that is shown.
_TRIED, _LONGEST = 5, 40
_PLURALS = {"person": "people", "man": "men", "woman": "women"}
_ES = ("s", "x", "z", "ch", "sh")


def suggestions(index: IndexSnapshot) -> tuple[str, ...]:
    """Return up to six questions that queries over the tables of this corpus answer, each of another form."""
    return index.once(_suggestions)


def _suggestions(index: IndexSnapshot) -> tuple[str, ...]:
    known = (next((one for one in form if fits(one, index).score == 1), None) for form in _forms(index))
    return tuple(islice(filter(None, known), _MOST))


def _forms(index: IndexSnapshot) -> Iterator[list[str]]:
    """Questions by form, the likeliest to be understood first; forms of what the corpus lacks are empty."""
    titles, types = _titles(index), _types(index)
    numeric = [one.key for one in properties(index) if one.numeric and len(one.key) <= _LONGEST]
    grouping = [one.key for one in properties(index) if not one.numeric and len(one.key) <= _LONGEST]
    dated = not periods_in_index(index).is_empty()
    yield [f"How many {one} are there?" for one in types]
    yield [f"How many documents mention {one}?" for one in titles]
    yield [f"Which 5 {one} are most connected?" for one in types]
    yield [f"What is the highest {one}?" for one in numeric]
    yield [f"When was {one} first mentioned?" for one in titles if dated]
    yield [f"How many documents are there by {one}?" for one in grouping]
    yield [f"Who is connected with {one}?" for one in titles]
    yield ["How many documents are there by year?"] if dated else []
    yield ["How many documents are there?"]
    yield ["How many relationships are there?"] if len(index.relationships) else []


def _titles(index: IndexSnapshot) -> list[str]:
    """Names of the entities with the most connections."""
    short = pl.col("title").str.len_chars().is_between(1, _LONGEST) & ~pl.col("title").str.contains(
        r"[?!;\n]"
    )
    ordered = index.entities.filter(short).sort(["degree", "title"], descending=[True, False])
    titles: list[str] = ordered["title"].head(_TRIED).to_list()
    return titles


def _types(index: IndexSnapshot) -> list[str]:
    """Types of the entities in the plural, the commonest first."""
    counts = index.entities.filter(pl.col("type") != "")["type"].value_counts(name="many")
    ordered = counts.sort(["many", "type"], descending=[True, False])["type"].head(_TRIED)
    return [_plural(one) for one in ordered if len(one) <= _LONGEST]


def _plural(kind: str) -> str:
    *before, last = kind.lower().replace("_", " ").split() or [""]
    if last in _PLURALS:
        last = _PLURALS[last]
    elif last.endswith("y") and last[-2:-1] not in "aeiou":
        last = f"{last[:-1]}ies"
    elif last.endswith(_ES):
        last += "es"
    else:
        last += "s"
    return " ".join([*before, last])
