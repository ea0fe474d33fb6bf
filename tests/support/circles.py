"""Graphs that are taken in, exported, and taken in again."""

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from graphrag_dagster import export
from graphrag_dagster.apps.interchange.graph_import import import_graphs
from graphrag_dagster.apps.interchange.import_proposal import propose
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import SnapshotProvenance, publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.import_tables import IMPORTED_ENTITIES, IMPORTED_RELATIONS
from graphrag_dagster.kernel.tables.table_declaration import Table

RECORDS = (IMPORTED_ENTITIES, IMPORTED_RELATIONS)
#: Where a row stands, which differs from one file to another.
_PLACE = ("path", "row", "graph")


def published_graph(name: str, files: Mapping[str, str]) -> Path:
    """Take a graph in and publish it; gives its folder."""
    corpora = CorpusStore()
    folder = corpora.path / name
    folder.mkdir(parents=True)
    for path, text in files.items():
        (folder / path).write_text(text, encoding="utf-8")
    return taken_in(folder, name)


def taken_in(place: Path, name: str) -> Path:
    """Take a folder in as ``import`` does, and publish it."""
    corpora, warehouse = CorpusStore(), Warehouse()
    folder = propose(corpora, place, name).folder
    import_graphs(corpora, warehouse, name)
    publish(warehouse, name, SnapshotProvenance(settings=corpora.settings(name)))
    return folder


def said(table: Table, name: str, *leave_out: str) -> pl.DataFrame:
    """What the rows of a corpus say, wherever they stand, in the order of their files."""
    frame = Warehouse().read(table, name).sort("path", "row")
    told = [json.dumps(json.loads(one), sort_keys=True) for one in frame["attributes"]]
    said = frame.with_columns(attributes=pl.Series(told, dtype=pl.String))
    return said.drop("corpus", *_PLACE, *leave_out, strict=False)


def around(name: str, to: str, home: Path) -> Path:
    """Export a corpus in a form and take that in as the corpus ``again``; gives the folder of the export."""
    folder = export(name, to, home / f"{name}-{to}").folder
    taken_in(folder, "again")
    return folder
