"""From rows of a table to entities and relations."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from graphrag_dagster.apps.interchange.graph_rows.cell_values import (
    FIELD_SEPARATOR,
    LONGEST_TEXT,
    Column,
    attributes,
    bodies,
    keys,
    lists,
    present,
    relations_of,
    texts,
    to_json,
    weights,
    whole,
)
from graphrag_dagster.apps.interchange.graph_rows.graph_columns import (
    GraphColumns,
    entity_columns,
    fold_name,
    is_mixed,
    relation_columns,
)
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ImportBatch, ReadAccount, types_of

#: Type of an entity of which none is given.
UNKNOWN_TYPE = "UNKNOWN"
_OF_NODES = ("title", "type", "description", "text_units")
_WAYS = ["directed", "undirected", "mutual"]
_UNDECLARED = to_json({"declared": False})


@dataclass(slots=True)
class GraphTableRows:
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
        return found if self.blank else present(found)

    def key(self, name: str | None) -> tuple[pl.Series, list[int]]:
        """Return a column as keys, null where there is none, and the places of lists and objects."""
        found, structured = texts(self.cells(name))
        found = keys(found)
        if not self.blank:
            found = whole(present(found))
        return (found.scatter(structured, None) if structured else found), structured

    def some(self, places: list[int], but: Collection[str | None]) -> "GraphTableRows":
        """Return the rows at places without some columns, nor those that hold nothing there."""
        found: dict[str, Column] = {}
        for name, cells in self.columns.items():
            part = pl.Series(cells, strict=False) if not isinstance(cells, pl.Series) else cells
            told = part.gather(places)
            blank = told.is_in([""]).fill_null(True) if told.dtype == pl.String else told.is_null()
            if name not in but and not blank.all():
                found[name] = told
        raw = self.raw
        numbers = self.numbers.gather(places)
        return GraphTableRows(
            numbers, found, lambda place: raw(places[place]), dict(self.repaired), self.blank
        )

    def with_first_labels(self, name: str) -> "GraphTableRows":
        """Return the rows with the first of several labels, ``:Person:Actor``, and all of them beside it."""
        labels = [[one for one in (cell or "").split(":") if one.strip()] for cell in self.text(name)]
        held: dict[str, Column] = {**self.columns, name: [some[0] if some else None for some in labels]}
        if any(len(some) > 1 for some in labels):
            held["labels" if name != "labels" else "all_labels"] = [
                some if len(some) > 1 else None for some in labels
            ]
        return replace(self, columns=held)

    def others(self, *taken: str | None, **further: Column) -> pl.Series:
        """Return what the other columns hold, and what is given beside them."""
        rest = {name: self._cut(name, held) for name, held in self.columns.items() if name not in taken}
        return attributes({**rest, **further}, len(self.numbers), blank=self.blank)

    def _cut(self, name: str, cells: Column) -> Column:
        if isinstance(cells, pl.Series):
            if cells.dtype != pl.String or not (cells.str.len_bytes() > LONGEST_TEXT).any():
                return cells
            cells = cells.to_list()
        long = [n for n, cell in enumerate(cells) if isinstance(cell, str) and len(cell) > LONGEST_TEXT]
        if not long:
            return cells
        self.mend(long, f"{name} was cut after {LONGEST_TEXT:,} characters")
        return [cell[:LONGEST_TEXT] if isinstance(cell, str) else cell for cell in cells]

    def weight(self, name: str | None) -> tuple[pl.Series, Mapping[str, Column]]:
        """Return weights; and by the column's name what stood there where it is none, which mends the row."""
        found, wrong = weights(self.cells(name))
        if not wrong or name is None:
            return found, {}
        self.mend(wrong, f"{name} is no weight, a number from 1e-30 to 1e30 or 0, and was taken as 1")
        odd: list[object] = [None] * len(self.numbers)
        cells = self.cells(name)
        for place in wrong:
            odd[place] = str(cells[place])
        return found, {name: odd}

    def label(self, name: str | None) -> pl.Series:
        """Return the labels of relations, blank where there is none."""
        found = keys(self.text(name)).fill_null("")
        if found.str.contains(FIELD_SEPARATOR, literal=True).any():
            found = found.str.replace_all(rf"\s*{FIELD_SEPARATOR}\s*", ", ")
        return found


def graph_rows(
    rows: GraphTableRows, columns: GraphColumns, graph: str, account: ReadAccount
) -> Iterator[ImportBatch]:
    """Yield relations or entities, whichever the columns are of."""
    if not len(rows.numbers):
        return iter(())
    if columns.record != "relations":
        return entities(rows, columns, graph, account)
    if is_mixed(list(rows.columns), columns):
        return _nodes_and_edges(rows, columns, graph, account)
    return relations(rows, columns, graph, account)


def _nodes_and_edges(
    rows: GraphTableRows, columns: GraphColumns, graph: str, account: ReadAccount
) -> Iterator[ImportBatch]:
    """Rows without both ends are nodes; each kind has columns that are blank in the other."""
    no_end = keys(rows.text(columns.head)).is_null() & keys(rows.text(columns.tail)).is_null()
    ends = (columns.head, columns.tail)
    if len(nodes := no_end.arg_true()):
        some = rows.some(nodes.to_list(), ends)
        names = list(some.columns)
        told = {role: name for role in _OF_NODES if (name := getattr(columns, role)) in names}
        held = entity_columns(names, GraphColumns(key=columns.key, **told))
        labelled = held.type is not None and fold_name(held.type) == "labels"
        some = some.with_first_labels(held.type) if labelled and held.type else some
        yield from entities(some, held, graph, account)
    if len(edges := (~no_end).arg_true()):
        some = rows.some(edges.to_list(), ())
        held = GraphColumns(head=columns.head, tail=columns.tail)
        yield from relations(some, relation_columns(list(some.columns), held), graph, account)


def relations(
    rows: GraphTableRows, columns: GraphColumns, graph: str, account: ReadAccount
) -> Iterator[ImportBatch]:
    """Yield the relations; a row without both ends is malformed."""
    columns = _by_label(rows, columns)
    ends = {
        "head": (columns.head, *rows.key(columns.head)),
        "tail": (columns.tail, *rows.key(columns.tail)),
    }
    lacking_nothing = rows_without(rows, "relations", ends, account)
    weight, odd = rows.weight(columns.weight)
    label = rows.label(columns.relation)
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
        attributes=rows.others(*columns.as_mapping().values(), **odd),
    )
    yield from account.records(
        "relations", frame if lacking_nothing.all() else frame.filter(lacking_nothing), rows.repaired
    )


def _by_label(rows: GraphTableRows, columns: GraphColumns) -> GraphColumns:
    """A type that says which way an edge leads, as Gephi writes it, is no label: another column may be."""
    name = columns.relation
    if name is None or fold_name(name) != "type":
        return columns
    if not rows.label(name).str.to_lowercase().is_in(["", *_WAYS]).all():
        return columns
    names = [one for one in rows.columns if one != name]
    return relation_columns(names, replace(columns, relation=None))


def rows_without(
    rows: GraphTableRows,
    record: str,
    wanted: Mapping[str, tuple[str | None, pl.Series, list[int]]],
    account: ReadAccount,
) -> pl.Series:
    """Put rows into quarantine that lack something they need; return which rows lack nothing.

    Args:
        rows: the rows.
        record: what they should hold.
        wanted: what a row needs → the column it is in, its cells, and the places of lists and objects there.
        account: counts them.
    """
    usable = pl.repeat(True, len(rows.numbers), eager=True)
    for what, (name, cells, structured) in wanted.items():
        lacking = usable & cells.is_null()
        odd = set(structured)
        # Names of the reader's own, such as <source>, say nothing.
        where = f" ({name})" if name and not name.startswith("<") else ""
        for place in lacking.arg_true():
            fault = "is a list or an object" if place in odd else "is blank"
            account.malformed(record, rows.numbers[place], f"its {what}{where} {fault}", rows.raw(place))
        usable &= ~lacking
    return usable


def entities(
    rows: GraphTableRows, columns: GraphColumns, graph: str, account: ReadAccount
) -> Iterator[ImportBatch]:
    """Yield the entities; the key is the title where no column has keys; a row without is malformed.

    One that says nothing but that it is not declared, as our exports have the ends of relations, is none.
    """
    title, _ = rows.key(columns.title)
    name = columns.key or columns.title
    key, structured = rows.key(name)
    lacking_nothing = rows_without(rows, "entities", {"id": (name, key, structured)}, account)
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
    named = frame.filter(lacking_nothing & frame.select(ends).to_series())["row"]
    if len(named):
        account.count("entities", "dangling", len(named), named[0], "it says that it is not declared")
        lacking_nothing &= ~frame["row"].is_in(named.implode())
    yield from account.records(
        "entities", frame if lacking_nothing.all() else frame.filter(lacking_nothing), rows.repaired
    )


def _units(rows: GraphTableRows, columns: GraphColumns) -> pl.Series:
    if columns.text_units is None:
        return pl.Series([[]], dtype=pl.List(pl.String)).new_from_index(0, len(rows.numbers))
    return lists(rows.cells(columns.text_units))


def record_frame(
    rows: GraphTableRows, record: str, graph: str, account: ReadAccount, **cells: pl.Series
) -> pl.DataFrame:
    """Return the columns of a record in their order."""
    same = {"path": account.path, "graph": graph}
    known = {"row": rows.numbers, **cells}
    return pl.select(
        (pl.lit(known[name]) if name in known else pl.lit(same[name])).cast(kind).alias(name)
        for name, kind in types_of(record).items()
    )
