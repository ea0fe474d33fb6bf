"""Rows of a table that a person browses: sorted, filtered, and as CSV."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from graphrag_dagster.apps.explorer.document_text import FOLDED, words_of
from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.apps.explorer.table_columns import VIEWS, ColumnType, LinkKind, ShownColumn, View
from graphrag_dagster.errors import MissingError, QuestionError
from graphrag_dagster.kernel.common.printable import FORMULA_SIGNS

#: Characters of a cell that is shown; files have all.
_LONGEST_CELL = 500
_AT_ONCE = 2_000

CellValue = str | int | float | bool | list[str] | None


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table, what its values are and mean; ``hidden``: an id to link to."""

    name: str
    type: ColumnType
    meaning: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class TableView:
    """A table that can be looked through.

    Attributes:
        name: by which it is asked for.
        title: for people.
        columns: in order.
        rows: how many there are.
    """

    name: str
    title: str
    columns: list[TableColumn]
    rows: int


@dataclass(frozen=True, slots=True)
class Link:
    """Where a cell leads to: the kind of page, and the column of the same row that holds the id."""

    kind: LinkKind
    column: str


@dataclass(frozen=True, slots=True)
class TablePage:
    """Rows of a table.

    Attributes:
        name: of the table.
        columns: in order, those that are hidden among them.
        rows: values by column; texts are cut at 500 characters.
        total: how many rows there are.
        matching: how many of them have all words of the filter.
        offset: how many of these come before the first of the rows.
        links: by the name of a column, where its cells lead to.
    """

    name: str
    columns: list[TableColumn]
    rows: list[list[CellValue]]
    total: int
    matching: int
    offset: int
    links: dict[str, Link]


@dataclass(frozen=True, slots=True)
class Order:
    """Which rows of a table, and in which order.

    Attributes:
        sort: name of a column; None: as the table has them.
        descending: the largest first.
        words: all of them must stand in a row's texts, whatever their case and accents.
    """

    sort: str | None = None
    descending: bool = False
    words: str = ""


def table_views(shown: OpenSnapshot) -> list[TableView]:
    """Return the tables that can be looked through."""
    return [
        TableView(view.name, view.title, _columns(view), shown.published.rows(view.table.full_name))
        for view in VIEWS
    ]


def table_page(shown: OpenSnapshot, name: str, order: Order, offset: int, limit: int) -> TablePage:
    """Return rows of a table.

    Raises:
        MissingError: there is no such table.
        QuestionError: there is no such column.
    """
    view = _view(name)
    sql, parameters = _filtered_rows(shown, view, order)
    cells = ", ".join(_shorten(one) for one in view.columns)
    found = shown.frame(
        f"select {cells} from ({sql}) {_order_by(view, order)} limit $limit offset $offset",
        limit=limit,
        offset=offset,
        **parameters,
    )
    counted = shown.totals(f"select count(*) as n from ({sql})", **parameters)
    total = shown.totals(f"select count(*) as n from {shown[view.table]}")
    return TablePage(
        name=name,
        columns=_columns(view),
        rows=[list(row) for row in found.iter_rows()],
        total=total["n"],
        matching=counted["n"],
        offset=offset,
        links={column: Link(kind, key) for column, (kind, key) in view.links.items()},
    )


def table_csv(shown: OpenSnapshot, name: str, order: Order) -> Iterator[str]:
    """Yield rows of a table as CSV (RFC 4180), with a head, without hidden columns.

    A text that a spreadsheet would take for a formula has an apostrophe before it.

    Raises:
        MissingError: there is no such table.
        QuestionError: there is no such column.
    """
    view = _view(name)
    sql, parameters = _filtered_rows(shown, view, order)
    columns = [one for one in view.columns if not one.hidden]
    names = ", ".join(f'"{one.label}"' for one in columns)
    yield _lines([[one.label for one in columns]])
    for rows in shown.batches(
        f"select {names} from ({sql}) {_order_by(view, order)}", _AT_ONCE, **parameters
    ):
        yield _lines([[_guard_formula(value) for value in row] for row in rows])


def check_order(name: str, order: Order) -> None:
    """Refuse what no table can be ordered by.

    Raises:
        MissingError: there is no such table.
        QuestionError: there is no such column.
    """
    _order_by(_view(name), order)


def _view(name: str) -> View:
    for view in VIEWS:
        if view.name == name:
            return view
    there = ", ".join(view.name for view in VIEWS)
    raise MissingError("table", f"there is no table {name!r} to browse; there are {there}")


def _columns(view: View) -> list[TableColumn]:
    return [TableColumn(one.label, one.type, one.declaration.meaning, one.hidden) for one in view.columns]


def _filtered_rows(shown: OpenSnapshot, view: View, order: Order) -> tuple[str, dict[str, object]]:
    words = words_of(order.words)
    if not words:
        return view.rows_sql(shown), {}
    texts = [one for one in view.columns if one.type in {"text", "list"} and not one.hidden]
    joined = ", ".join(
        f"""array_to_string("{one.label}", ' ')""" if one.type == "list" else f'"{one.label}"'
        for one in texts
    )
    folded = FOLDED.format(text=f"concat_ws(' ', {joined})")
    conditions = " and ".join(
        f"contains(folded, {FOLDED.format(text=f'$word{n}')})" for n in range(len(words))
    )
    sql = f"select * from (select *, {folded} as folded from ({view.rows_sql(shown)})) where {conditions}"
    return sql, {f"word{n}": word for n, word in enumerate(words)}


def _order_by(view: View, order: Order) -> str:
    by = order.sort
    chosen = view.order if by is None else _by_column(view, by, descending=order.descending)
    return f"order by {', '.join(part for part in (chosen, view.key_order) if part)}"


def _by_column(view: View, name: str, *, descending: bool) -> str:
    known = {one.label: one for one in view.columns if not one.hidden}
    column = known.get(name)
    if column is None:
        raise QuestionError(f"{view.name} has no column {name!r} to sort by; it has {', '.join(known)}")
    value = FOLDED.format(text=f'"{name}"') if column.type == "text" else f'"{name}"'
    return f"{value} {'desc' if descending else 'asc'} nulls last"


def _shorten(column: ShownColumn) -> str:
    name = f'"{column.label}"'
    if column.type != "text" or column.hidden:
        return name
    return (
        f"case when length({name}) > {_LONGEST_CELL} then left({name}, {_LONGEST_CELL - 1}) || '…' "
        f"else {name} end as {name}"
    )


def _guard_formula(value: CellValue) -> CellValue:
    text = "; ".join(value) if isinstance(value, list) else value
    return f"'{text}" if isinstance(text, str) and text.startswith(FORMULA_SIGNS) else text


def _lines(rows: list[list[CellValue]]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue()
