"""Rows of table-like files by the name of their file."""

from dataclasses import replace

import polars as pl
import pytest

from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.search.sql.document_scope import scope_in
from support.index_frames import filled, index_of


@pytest.mark.parametrize(
    ("paths", "question", "place"),
    [
        (("data/incidents.csv",), "How many incidents are there?", "data/incidents.csv"),
        (("data/incidents.csv",), "Which incident was the last?", "data/incidents.csv"),
        (("news.csv",), "How many new ships are there?", None),
        (("glass.csv",), "How many glas are there?", None),
    ],
)
def test_rows_are_called_as_their_file_is(paths: tuple[str, ...], question: str, place: str | None) -> None:
    rows = [{"document_id": path, "path": path, "row": 0} for path in paths]
    index = replace(index_of({}), documents=filled(tables.DOCUMENTS, rows), entities=tables.ENTITIES.empty())
    assert isinstance(index.documents, pl.DataFrame)
    assert scope_in(question, index)[0].place == place
