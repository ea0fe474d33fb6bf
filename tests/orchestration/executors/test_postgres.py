"""Dagster's instance on a real Postgres server, with the dagster.yaml of deploy/; needs the extra ``postgres``."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance

from support.engines import REPOSITORY, Place, Tables
from support.postgres_server import PostgresServer

pytest.importorskip("dagster_postgres")


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """What the clients of a new server need to know."""
    made = PostgresServer()
    yield {
        "DAGSTER_POSTGRES_HOST": "127.0.0.1",
        "DAGSTER_POSTGRES_PORT": str(made.port),
        "DAGSTER_POSTGRES_DB": made.database,
        "DAGSTER_POSTGRES_USER": made.user,
        "DAGSTER_POSTGRES_PASSWORD": made.password,
    }
    made.close()


def test_runs_of_two_processes_are_recorded_in_one_instance(
    server: dict[str, str], home: Path, in_process: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_corpora = Place(home / "measured", ("coast", "quay"))
    shutil.copy(REPOSITORY / "deploy" / "dagster" / "dagster.yaml", two_corpora.dagster_home)
    two_corpora.register(server)
    two_corpora.run_all("in_process", server)
    assert two_corpora.tables() == in_process
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    with DagsterInstance.from_config(str(two_corpora.dagster_home)) as instance:
        assert type(instance.event_log_storage).__name__ == "PostgresEventLogStorage"
        assert {run.tags["dagster/partition"] for run in instance.get_runs()} == set(two_corpora.names)
        assert all(run.is_success for run in instance.get_runs())
        made = instance.get_materialized_partitions(AssetKey(["corpus", "text_chunks"]))
        assert made == set(two_corpora.names)
        assert set(instance.get_dynamic_partitions("corpus")) == set(two_corpora.names)
    assert not (two_corpora.dagster_home / "history").exists()
