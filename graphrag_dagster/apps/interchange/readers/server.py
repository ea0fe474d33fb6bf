"""Nodes and relations of a graph server, as they come."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count, islice
from typing import Any

import polars as pl

from graphrag_dagster.apps.interchange.readers.batches import ROWS, Account, Batch
from graphrag_dagster.apps.interchange.readers.rows import Rows, graph_rows
from graphrag_dagster.apps.interchange.readers.tabular.cells import Column, to_json
from graphrag_dagster.apps.interchange.readers.tabular.columns import (
    NODE_TITLE,
    GraphColumns,
    entity_columns,
    relation_columns,
)
from graphrag_dagster.kernel.documents.files.records import UnreadableError

_Row = Mapping[str, Any]


def server_batches(
    nodes: Iterable[_Row],
    relations: Iterable[_Row],
    place: str,
    most: int,
    *,
    left_out: Collection[str] = (),
) -> Iterator[Batch]:
    """Yield what a server gives as entities and relations, and the account last.

    The type of an entity is its first label; several are among the attributes as ``labels``. Properties are
    taken as columns of a table are.

    Args:
        nodes: ``key``, ``labels`` and ``properties``.
        relations: ``head``, ``tail``, ``label``, ``key`` and ``properties``, of which the last two may lack.
        place: what the server is called; it stands for the path.
        most: rows of each, beyond which it is taken to give them for ever.
        left_out: properties that are not taken: what was written back there.

    Raises:
        UnreadableError: a column lacks, or there are more rows.
    """
    account = Account(place)
    for given, needed in ((nodes, ("key",)), (relations, ("head", "tail"))):
        numbers = count(1)
        for some in _batched(_limited(given, most)):
            if lacking := [name for name in needed if name not in some[0]]:
                raise UnreadableError(
                    f"the query gives no column {lacking[0]}; it gives {', '.join(some[0])}: name it with AS"
                )
            rows = _rows(some, pl.Series([next(numbers) for _ in some]), left_out)
            yield from graph_rows(rows, _columns(rows, needed[0] == "head"), place, account)
            yield from account.pending()
    yield from account.closed()


def _batched(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    while some := list(islice(rows, ROWS)):
        yield some


def _limited(rows: Iterable[_Row], most: int) -> Iterator[_Row]:
    for number, row in enumerate(rows):
        if number == most:
            raise UnreadableError(
                f"the server gives more than {most:,} rows; raise imports.neo4j.most_rows, or ask for less"
            )
        yield row


def _rows(some: list[_Row], numbers: pl.Series, left_out: Collection[str]) -> Rows:
    columns: dict[str, Column] = {}
    given = (row.get("properties") or {} for row in some)
    properties = [{name: held for name, held in one.items() if name not in left_out} for one in given]
    for name in dict.fromkeys(name for held in properties for name in held):
        columns[name] = [held.get(name) for held in properties]
    own = {"<key>": "key", "<head>": "head", "<tail>": "tail", "<label>": "label"}
    columns |= {place: [row.get(name) for row in some] for place, name in own.items() if name in some[0]}
    columns["<title>"] = [_title(held) for held in properties]
    if "labels" in some[0]:
        labels = [row["labels"] or [] for row in some]
        columns["<type>"] = [held[0] if held else None for held in labels]
        columns["labels"] = [held if len(held) > 1 else None for held in labels]
    return Rows(numbers, columns, lambda place: to_json(dict(some[place])), blank=True)


def _columns(rows: Rows, of_relations: bool) -> GraphColumns:
    names = [name for name in rows.columns if not name.startswith("<")]
    key = "<key>" if "<key>" in rows.columns else None
    if of_relations:
        return relation_columns(
            names, GraphColumns(head="<head>", tail="<tail>", relation="<label>", key=key)
        )
    return entity_columns(names, GraphColumns(key=key, title="<title>", type="<type>"))


def _title(properties: Mapping[str, Any]) -> object:
    folded = {name.lower(): value for name, value in properties.items()}
    return next((folded[name] for name in NODE_TITLE if folded.get(name) not in (None, "")), None)
