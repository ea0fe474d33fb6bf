"""Runs of the definitions as Dagster starts them: in processes of their own, recorded in a stored instance."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance

from graphrag_dagster.definitions import defs
from graphrag_dagster.kernel.pipeline.steps import STEPS
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse, qualified
from graphrag_dagster.resources.dagster_keys import CORPUS, asset_key
from graphrag_dagster.resources.executors import EXECUTOR
from support.corpora import write_corpus

#: Two steps that build upon each other.
STEPS = [stage for stage in STEPS if stage.name in {"corpus", "extraction"}]
SOME = ",".join(asset_key(table).to_user_string() for stage in STEPS for table in stage.assets)
REPOSITORY = Path(__file__).parents[2]

Tables = dict[tuple[str, str], list[tuple[object, ...]]]


class Place:
    """Corpora, warehouse and instance below one folder."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self.folder = folder
        self.names = names
        self.dagster_home = folder / ".dagster_home"
        self.dagster_home.mkdir(parents=True)
        (self.dagster_home / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
        for name in names:
            write_corpus(folder / "corpora", name)

    def register(self, environment: Mapping[str, str] | None = None) -> None:
        """Make a partition of every corpus."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (environment or {}).items():
                patch.setenv(name, value)
            with DagsterInstance.from_config(str(self.dagster_home)) as instance:
                instance.add_dynamic_partitions(str(CORPUS.name), list(self.names))
                # Dagster makes a pool when a step first waits in it; on Postgres two that do so at once fail.
                if environment:
                    instance.event_log_storage.set_concurrency_slots("llm", 2)

    def run_all(self, executor: str, environment: Mapping[str, str] | None = None) -> None:
        """Materialise some assets of every corpus, all corpora at once."""
        own = {
            "GRAPHRAG_DAGSTER_HOME": str(self.folder),
            "DAGSTER_HOME": str(self.dagster_home),
            EXECUTOR: executor,
        }
        command = [Path(sys.executable).with_name("dagster"), "asset", "materialize"]
        command += ["-m", "graphrag_dagster.definitions", "--select", SOME, "--partition"]
        runs = [
            subprocess.Popen(
                [*command, name],
                cwd=self.folder,
                env=os.environ | own | dict(environment or {}),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for name in self.names
        ]
        told = [run.communicate(timeout=900)[0] for run in runs]
        for run, output in zip(runs, told, strict=True):
            assert run.returncode == 0, output[-3000:]

    def run_here(self) -> None:
        """Materialise the same assets of every corpus in this process."""
        keys = {AssetKey.from_user_string(name) for name in SOME.split(",")}
        job = defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection=keys)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GRAPHRAG_DAGSTER_HOME", str(self.folder))
            with DagsterInstance.from_config(str(self.dagster_home)) as instance:
                for name in self.names:
                    assert job.execute_in_process(partition_key=name, instance=instance).success

    def tables(self) -> Tables:
        """All rows of the tables of these steps, by corpus and table, as they are stored."""
        warehouse = Warehouse(path=str(self.folder / "warehouse" / "{corpus}.duckdb"))
        found: Tables = {}
        for name in self.names:
            with warehouse.reading(name) as reader:
                found |= {
                    (name, table.full_name): _rows(reader, qualified(table))
                    for step in STEPS
                    for table in step.makes
                    if reader.has(table)
                }
        return found


def _rows(reader: Reader, table: str) -> list[tuple[object, ...]]:
    return reader.connection.execute(f"from {table}").fetchall()
