"""Where entities are drawn, over runs of a corpus that changes."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.tables import LAYOUT_STATE
from support.corpora import write_corpus
from support.homes import copy_home, shared_home
from support.tables_of import contents

NEWS = "Marta Quay founded Ostrava Cables in Lindmoor. Joren Tael of Ostrava Cables advised Marta Quay."


@pytest.fixture
def folder(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that has been indexed once."""

    def fill(made: Path) -> None:
        write_corpus(made / "corpora")
        run_job("coast")

    copy_home(shared_home(tmp_path_factory, "laid out", fill), home)
    return home / "corpora" / "coast"


def layout() -> pl.DataFrame:
    return Warehouse().read(tables.LAYOUT, "coast")


def start() -> str:
    return str(Warehouse().read(LAYOUT_STATE, "coast").item(0, "start"))


@pytest.mark.usefixtures("folder")
def test_every_entity_has_a_published_place_of_its_own() -> None:
    made = layout()
    assert set(made["entity_id"]) == set(Warehouse().read(tables.ENTITIES, "coast")["entity_id"])
    assert made.select("x", "y").is_unique().all()
    assert start() == "cold"
    current = published(Warehouse(), "coast")
    assert current is not None
    with duckdb.connect(str(current.file), read_only=True) as connection:
        rows = connection.execute("select entity_id, x, y from graph.layout order by entity_id").fetchall()
    assert rows == made.sort("entity_id").rows()


@pytest.mark.long
def test_places_stay_when_a_document_comes_until_a_cold_start_is_asked_for(folder: Path) -> None:
    before = layout()
    (folder / "news" / "cables.txt").write_text(NEWS, encoding="utf-8")
    run_job("coast")
    assert start() == "warm"
    both = before.join(layout(), on="entity_id")
    assert both.height == before.height < layout().height
    moved = np.hypot(both["x"] - both["x_right"], both["y"] - both["y_right"])
    assert np.median(moved) < 0.1 * 2 * np.hypot(before["x"], before["y"]).max()
    run_job("coast", resources={"clustering": {"cold": True}})
    assert start() == "cold"
    forced = contents(Warehouse(), "coast")
    Warehouse().file("coast").unlink()
    run_job("coast")
    assert contents(Warehouse(), "coast") == forced
