"""Shards as tasks of a real Ray cluster on this machine; needs the extra ``ray``."""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.endpoint import ScriptedEndpoint
from support.homes import enter_home
from support.modelled import write_modelled
from support.tables_of import contents

ray = pytest.importorskip("ray")
#: More than the cluster has processors.
SHARDS = "\nexecution: {shards: 4, backend: ray}\n"


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def workers() -> list[int]:
    """The processes of shards."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and b"make_shard" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def made(patch: pytest.MonkeyPatch, home: Path, endpoint: ScriptedEndpoint, more: str) -> object:
    (home / "corpora").mkdir(parents=True)
    enter_home(patch, home)
    write_modelled(home / "corpora", endpoint, more)
    run_job("coast")
    return contents(Warehouse(), "coast")


def test_shards_on_ray_give_the_same_tables_though_a_worker_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []

    def kill_one(number: int, body: Mapping[str, object]) -> None:
        if number >= 5 and not killed and (found := workers()):
            killed.append(found[0])
            os.kill(found[0], signal.SIGKILL)

    with ScriptedEndpoint() as endpoint:
        whole = made(monkeypatch, tmp_path / "whole", endpoint, "")
        sent = {one.digest for one in endpoint.requests}
    with ScriptedEndpoint(faults=kill_one) as endpoint:
        assert made(monkeypatch, tmp_path / "shards", endpoint, SHARDS) == whole
        # What the killed process was in the middle of sending has no body.
        assert {one.digest for one in endpoint.requests if one.body} == sent
    assert killed


def test_a_shard_that_is_killed_each_time_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(number: int, body: Mapping[str, object]) -> None:
        for process in workers():
            os.kill(process, signal.SIGKILL)

    with (
        ScriptedEndpoint(faults=kill) as endpoint,
        pytest.raises(EngineError, match=r"extraction: a shard was ended .* 3 times"),
    ):
        made(monkeypatch, tmp_path / "shards", endpoint, SHARDS)
    assert not workers()
