import multiprocessing
import subprocess
import sys

import duckdb
import numpy as np
import polars as pl
import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.resources.executors import (
    EXECUTOR,
    chosen_executor,
    preloaded_modules,
)
from support.engines import STEPS, Place, Tables


@pytest.fixture
def names() -> tuple[str, ...]:
    return ("coast",)


def test_a_run_stays_in_its_process_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(EXECUTOR, raising=False)
    assert chosen_executor().name == "in_process"


def test_an_unknown_executor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXECUTOR, "celery")
    with pytest.raises(
        SettingsError, match="'celery' is not an executor; use one of in_process, multiprocess, ray, k8s"
    ):
        chosen_executor()


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("ray", "dagster_ray", "ray"), ("k8s", "dagster_k8s", "kubernetes")]
)
def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, name: str, module: str, extra: str
) -> None:
    monkeypatch.setenv(EXECUTOR, name)
    # An import of what is None there fails as that of a package which is not installed.
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        SettingsError, match=rf"{module}, which is not installed.*graphrag-dagster\[{extra}\]"
    ):
        chosen_executor()


@pytest.mark.long
def test_steps_in_processes_of_their_own_give_the_same_tables(place: Place, in_process: Tables) -> None:
    place.run_all("multiprocess")
    assert place.tables() == in_process
    assert {table for _, table in in_process} == {table.full_name for stage in STEPS for table in stage.makes}


_THREADS = """
import importlib, pathlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
for thread in pathlib.Path("/proc/self/task").iterdir():
    print((thread / "comm").read_text().strip())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="steps are forked from what is loaded on Linux only")
def test_what_is_loaded_before_steps_are_forked_begins_no_work() -> None:
    command = [sys.executable, "-c", _THREADS, *preloaded_modules()]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    idle = {"jemalloc_bg_thd", "polars-ooc-clea"}
    assert {name for name in names if not name.startswith("python")} <= idle


def _work(number: int) -> None:
    values = pl.DataFrame({"key": np.arange(200_000) % 97, "value": np.arange(200_000) * float(number)})
    sums = values.lazy().group_by("key").agg(pl.col("value").sum()).sort("key").collect()
    with duckdb.connect() as connection:
        connection.register("sums", sums)
        ((total,),) = connection.execute("select sum(value) from sums").fetchall()
    assert total == pytest.approx(values["value"].sum())
    assert np.linalg.eigvalsh(np.eye(200)).sum() == pytest.approx(200)


@pytest.mark.long
def test_processes_forked_from_what_is_loaded_work_in_all_engines() -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(preloaded_modules())
    for _ in range(6):
        forked = [context.Process(target=_work, args=(number,)) for number in range(4)]
        for one in forked:
            one.start()
        for one in forked:
            one.join(120)
            assert one.exitcode == 0
