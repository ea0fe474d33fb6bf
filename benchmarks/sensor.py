"""Seconds of a tick with many corpora: folders, clock, and the condition of all index assets.

    python benchmarks/sensor.py [--corpora 1000]

Nothing has changed between the measured ticks. Folders hold five files each.
"""

import argparse
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg
from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor
from dagster._core.definitions.automation_tick_evaluation_context import AutomationTickEvaluationContext

from graphrag_dagster.automation import corpora_sensor
from graphrag_dagster.automation.schedules import scheduled
from graphrag_dagster.definitions import defs
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse

FILES = 5


def make(root: Path, corpora: int) -> list[str]:
    names = [f"corpus {number:05}" for number in range(corpora)]
    for name in names:
        (root / name).mkdir(parents=True)
        for number in range(FILES):
            (root / name / f"{number}.txt").write_text(f"Document {number} of {name}.", encoding="utf-8")
        (root / name / "corpus.yaml").write_text('schedule: {cron: "0 3 * * *"}', encoding="utf-8")
    return names


def folders(instance: dg.DagsterInstance, cursor: str | None) -> str | None:
    resources = {"corpora": CorpusStore(), "warehouse": Warehouse()}
    with dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources) as context:
        found = corpora_sensor(context)
    assert isinstance(found, dg.SensorResult)
    return found.cursor


def clock(instance: dg.DagsterInstance, cursor: str | None) -> str | None:
    with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
        return scheduled(context, CorpusStore(), time.time()).cursor


def condition(instance: dg.DagsterInstance, cursor: AssetDaemonCursor | None) -> AssetDaemonCursor:
    # As the daemon does; dg.evaluate_automation_conditions asks for the partitions thousands of times.
    tick = AutomationTickEvaluationContext(
        evaluation_id=1,
        instance=instance,
        asset_graph=defs.resolve_asset_graph(),
        cursor=cursor or AssetDaemonCursor.empty(),
        materialize_run_tags={},
        observe_run_tags={},
        auto_observe_asset_keys=set(),
        asset_selection=dg.AssetSelection.all(),
        logger=logging.getLogger("benchmark"),
        emit_backfills=False,
    )
    return tick.evaluate()[1]


def ticks(name: str, tick: Callable[..., object], instance: dg.DagsterInstance) -> None:
    cursor, seconds = None, []
    for _ in range(5):
        begin = time.perf_counter()
        cursor = tick(instance, cursor)
        seconds.append(time.perf_counter() - begin)
    size = f", cursor {len(cursor) / 1000:.0f} kB" if isinstance(cursor, str) else ""
    print(
        f"{name}: first {seconds[0]:.2f} s, unchanged {min(seconds[2:]):.2f}–{max(seconds[2:]):.2f} s{size}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GRAPHRAG_DAGSTER_HOME"] = folder
        names = make(Path(folder) / "corpora", asked.corpora)
        home = Path(folder) / "dagster"
        home.mkdir()
        with dg.DagsterInstance.local_temp(str(home)) as instance:
            begin = time.perf_counter()
            instance.add_dynamic_partitions("corpus", names)
            print(f"{asked.corpora} partitions added in {time.perf_counter() - begin:.2f} s")
            ticks("corpora", folders, instance)
            ticks("scheduled_corpora", clock, instance)
            ticks("outdated_assets", condition, instance)


if __name__ == "__main__":
    main()
