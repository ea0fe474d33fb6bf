from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from graphrag_dagster.cli.app import app
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from support.corpora import write_corpus
from support.homes import copy_home, shared_home
from support.tables_of import contents

NEWS = (
    "Marta Quay founded Ostrava Cables in Lindmoor. Joren Tael of Ostrava Cables advised Marta Quay. "
    "Joren Tael moved to Lindmoor."
)


@pytest.fixture
def folder(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that has been indexed once."""

    def fill(made: Path) -> None:
        write_corpus(made / "corpora", settings="communities: {max_cluster_size: 4, drift: 0.9}")
        run_job("coast")

    copy_home(shared_home(tmp_path_factory, "small clusters", fill), home)
    return home / "corpora" / "coast"


def communities() -> pl.DataFrame:
    return Warehouse().read(tables.COMMUNITIES, "coast")


def state() -> dict[str, object]:
    return Warehouse().read(tables.CLUSTERING_STATE, "coast").row(0, named=True)


def set_communities(folder: Path, settings: str) -> None:
    (folder / "corpus.yaml").write_text(f"communities: {{max_cluster_size: 4, {settings}}}", encoding="utf-8")


def add(folder: Path) -> Path:
    added = folder / "news" / "cables.txt"
    added.write_text(NEWS, encoding="utf-8")
    return added


@pytest.mark.usefixtures("folder")
def test_an_unchanged_corpus_gives_identical_tables_and_torn_ones_are_mended() -> None:
    first = contents(Warehouse(), "coast")
    assert state()["start"] == "cold"
    torn = communities().with_columns(size=pl.col("size") + 1)
    Warehouse().write(tables.COMMUNITIES, "coast", torn)
    run_job("coast")
    assert contents(Warehouse(), "coast") == first


@pytest.mark.long
def test_what_a_new_document_does_not_touch_stays_until_a_cold_start_is_asked_for(folder: Path) -> None:
    before, contexts = communities(), Warehouse().read(tables.REPORT_CONTEXTS, "coast")
    add(folder)
    run_job("coast")
    after, grown = communities(), contents(Warehouse(), "coast")
    assert state()["start"] == "warm"
    assert 0 < float(str(state()["changed"])) < 0.9
    kept = before.join(after, on="community_id")
    assert kept.height == before.height < after.height
    assert kept["human_readable_id"].to_list() == kept["human_readable_id_right"].to_list()
    now = Warehouse().read(tables.REPORT_CONTEXTS, "coast")
    assert now.join(contexts, on=["report_id", "context"]).height == before.height
    assert set(now["report_id"]) == set(after["community_id"])

    result = CliRunner().invoke(app, ["index", "coast", "--cold"])
    assert result.exit_code == 0, result.output
    forced = contents(Warehouse(), "coast")
    Warehouse().file("coast").unlink()
    run_job("coast")
    assert contents(Warehouse(), "coast") == forced
    differing = {name for name in forced if grown[name] != forced[name]}
    begun = {"communities", "layout"}
    of_communities = {table.full_name for table in all_tables() if table.group in begun}
    made_of_reports = {"embeddings.community_reports", "marts.corpus_summary", "marts.context_sizes"}
    others = differing - of_communities - made_of_reports
    assert [name for name in others if not name.startswith("reports.")] == []


@pytest.mark.long
def test_drift_bounds_how_far_warm_starts_lead(folder: Path) -> None:
    set_communities(folder, "drift: 0.01")
    add(folder)
    run_job("coast")
    assert (state()["start"], state()["changed"]) == ("cold", 0)


@pytest.mark.long
def test_with_cold_starts_added_then_deleted_is_never_added(folder: Path) -> None:
    set_communities(folder, "start: cold")
    never = contents(Warehouse(), "coast")
    added = add(folder)
    run_job("coast")
    assert contents(Warehouse(), "coast") != never
    added.unlink()
    run_job("coast")
    assert contents(Warehouse(), "coast") == never


def test_nothing_of_a_deleted_document_stays_in_the_state(folder: Path) -> None:
    before = set(Warehouse().read(tables.RELATIONSHIPS, "coast")["relationship_id"])
    (folder / "institute" / "letter.txt").unlink()
    run_job("coast")
    assert state()["start"] == "warm"
    left = set(Warehouse().read(tables.RELATIONSHIPS, "coast")["relationship_id"])
    assert before - left
    assert set(Warehouse().read(tables.COLD_START_EDGES, "coast")["relationship_id"]) <= left
