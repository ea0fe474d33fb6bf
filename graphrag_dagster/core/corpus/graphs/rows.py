"""From rows of a table to entities and relations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from graphrag_dagster.core.corpus.graphs.batches import Account, Batch, types_of
from graphrag_dagster.core.corpus.graphs.cells import (
    Column,
    attributes,
    bodies,
    keys,
    lists,
    numbers,
    relations_of,
    texts,
    to_json,
)
from graphrag_dagster.core.corpus.graphs.columns import GraphColumns

#: Type of an entity of which none is given.
UNKNOWN_TYPE = "UNKNOWN"
_UNDECLARED = to_json({"declared": False})


@dataclass(slots=True)
class Rows:
    """Some rows of a file.

    Args:
        numbers: their places in it.
        columns: their cells.
        raw: place among these rows → the row as it stands.
        repaired: number → why it was mended in reading.
        blank: whether a blank cell says something; in files of delimited text it says nothing.
    """

    numbers: pl.Series
    columns: Mapping[str, Column]
    raw: Callable[[int], str]
    repaired: dict[int, str] = field(default_factory=dict)
    blank: bool = True

    def cells(self, name: str | None) -> Column:
        """Return a column, all null where there is none."""
        if name is None or name not in self.columns:
            return pl.Series([None], dtype=pl.String).new_from_index(0, len(self.numbers))
        return self.columns[name]

    def mend(self, places: list[int], reason: str) -> None:
        """Note that rows at places were mended."""
        for place in places:
            self.repaired.setdefault(self.numbers[place], reason)

    def text(self, name: str | None) -> pl.Series:
        """Return a column as texts; lists are joined, which mends the row."""
        found, structured = texts(self.cells(name))
        self.mend(structured, f"{name} is a list or an object where a text is due")
        return found

    def key(self, name: str | None) -> tuple[pl.Series, list[int]]:
        """Return a column as keys, null where there is none, and the places of lists and objects."""
        found, structured = texts(self.cells(name))
        found = keys(found)
        return (found.scatter(structured, None) if structured else found), structured

    def others(self, *taken: str | None) -> pl.Series:
        """Return what the other columns hold."""
        rest = {name: cells for name, cells in self.columns.items() if name not in taken}
        return attributes(rest, len(self.numbers), blank=self.blank)


def graph_rows(rows: Rows, columns: GraphColumns, graph: str, account: Account) -> Iterator[Batch]:
    """Yield relations or entities, whichever the columns are of."""
    if not len(rows.numbers):
        return iter(())
    if columns.record == "relations":
        return relations(rows, columns, graph, account)
    return entities(rows, columns, graph, account)


def relations(rows: Rows, columns: GraphColumns, graph: str, account: Account) -> Iterator[Batch]:
    """Yield the relations; a row without both ends is malformed."""
    ends = {
        "head": (columns.head, *rows.key(columns.head)),
        "tail": (columns.tail, *rows.key(columns.tail)),
    }
    whole = without(rows, "relations", ends, account)
    weight, wrong = numbers(rows.cells(columns.weight), 1.0)
    rows.mend(wrong, f"{columns.weight} is no finite number and was taken as 1")
    label = keys(rows.text(columns.relation)).fill_null("")
    frame = record_frame(
        rows,
        "relations",
        graph,
        account,
        key=rows.key(columns.key)[0],
        head_key=ends["head"][1],
        tail_key=ends["tail"][1],
        label=label,
        relation=relations_of(label),
        weight=weight,
        description=bodies(rows.text(columns.description)),
        text_unit_keys=_units(rows, columns),
        attributes=rows.others(*columns.as_mapping().values()),
    )
    yield from account.records("relations", frame if whole.all() else frame.filter(whole), rows.repaired)


def without(
    rows: Rows, record: str, wanted: Mapping[str, tuple[str | None, pl.Series, list[int]]], account: Account
) -> pl.Series:
    """Put rows into quarantine that lack something they need; return which rows lack nothing.

    Args:
        rows: the rows.
        record: what they should hold.
        wanted: what a row needs → the column it is in, its cells, and the places of lists and objects there.
        account: counts them.
    """
    whole = pl.repeat(True, len(rows.numbers), eager=True)
    for what, (name, cells, structured) in wanted.items():
        lacking = whole & cells.is_null()
        odd = set(structured)
        # Names of the reader's own, such as <source>, say nothing.
        where = f" ({name})" if name and not name.startswith("<") else ""
        for place in lacking.arg_true():
            fault = "is a list or an object" if place in odd else "is blank"
            account.malformed(record, rows.numbers[place], f"its {what}{where} {fault}", rows.raw(place))
        whole &= ~lacking
    return whole


def entities(rows: Rows, columns: GraphColumns, graph: str, account: Account) -> Iterator[Batch]:
    """Yield the entities; the key is the title where no column has keys; a row without is malformed.

    One that says nothing but that it is not declared, as our exports have the ends of relations, is none.
    """
    title, _ = rows.key(columns.title)
    name = columns.key or columns.title
    key, structured = rows.key(name)
    whole = without(rows, "entities", {"id": (name, key, structured)}, account)
    frame = record_frame(
        rows,
        "entities",
        graph,
        account,
        key=key,
        title=title.fill_null(key),
        type=keys(rows.text(columns.type)).fill_null(UNKNOWN_TYPE),
        description=bodies(rows.text(columns.description)),
        text_unit_keys=_units(rows, columns),
        attributes=rows.others(*columns.as_mapping().values()),
    )
    ends = (pl.col("attributes") == _UNDECLARED) & (pl.col("title") == pl.col("key"))
    named = frame.filter(whole & frame.select(ends).to_series())["row"]
    if len(named):
        account.count("entities", "dangling", len(named), named[0], "it says that it is not declared")
        whole &= ~frame["row"].is_in(named.implode())
    yield from account.records("entities", frame if whole.all() else frame.filter(whole), rows.repaired)


def _units(rows: Rows, columns: GraphColumns) -> pl.Series:
    if columns.text_units is None:
        return pl.Series([[]], dtype=pl.List(pl.String)).new_from_index(0, len(rows.numbers))
    return lists(rows.cells(columns.text_units))


def record_frame(rows: Rows, record: str, graph: str, account: Account, **cells: pl.Series) -> pl.DataFrame:
    """Return the columns of a record in their order."""
    same = {"path": account.path, "graph": graph}
    known = {"row": rows.numbers, **cells}
    return pl.select(
        (pl.lit(known[name]) if name in known else pl.lit(same[name])).cast(kind).alias(name)
        for name, kind in types_of(record).items()
    )
