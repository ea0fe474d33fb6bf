"""The graph of a corpus of documents is the same when its export is taken in."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from conftest import REPOSITORY
from graphrag_dagster import export, tables
from graphrag_dagster.cli.output.running import run_job
from graphrag_dagster.operations.importing.proposing import propose
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import Table
from support.homes import enter_home, shared_home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the sample corpus, and each export of it as a corpus of its own."""

    def fill(folder: Path) -> None:
        (folder / "corpora" / "harbour.path").write_text(str(REPOSITORY / "examples" / "harbour"))
        run_job("harbour")
        for to in ("microsoft", "graphml", "rdf", "neo4j", "triples"):
            made = export("harbour", to, folder / "exports" / to)
            propose(CorpusStore(), made.folder, to)
            run_job(to)

    with pytest.MonkeyPatch.context() as patch:
        yield enter_home(patch, shared_home(tmp_path_factory, "circles of harbour", fill))


def read(table: Table, name: str, *columns: str) -> pl.DataFrame:
    return Warehouse().read(table, name).select(columns).sort(columns)


@pytest.mark.parametrize("to", ["microsoft", "graphml", "neo4j", "triples"])
def test_entities(to: str, home: Path) -> None:
    about = ("title", "type", "description")
    assert_frame_equal(read(tables.ENTITIES, to, *about), read(tables.ENTITIES, "harbour", *about))
