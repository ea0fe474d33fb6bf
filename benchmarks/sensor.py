"""Seconds of a tick, and of what the UI asks for, with many corpora.

    python benchmarks/sensor.py [--corpora 1000]

The ticks are of the sensors of folders and clock, and of the condition of all index assets. Nothing has
changed between the measured ticks; folders hold five files each. Then three assets of every corpus are
reported as made, and Dagster's web server is asked what the pages of the UI ask: how far all assets are,
which partitions of one are there, and the partitions that a job can be launched for.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import dagster as dg
from dagster._core.definitions.asset_daemon_cursor import AssetDaemonCursor
from dagster._core.definitions.automation_tick_evaluation_context import AutomationTickEvaluationContext
from servers import MODULE, started

from graphrag_dagster.definitions import defs
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.orchestration.automation import corpora_sensor, scheduled

FILES = 5
JSON = {"Content-Type": "application/json"}
INSTANCE = "telemetry: {enabled: false}\nnux: {enabled: false}\n"
MADE = (["corpus", "documents"], ["graph", "entities"], ["marts", "published_snapshot"])
STATES = """
partitionStats { numMaterialized numFailed numMaterializing numPartitions }
assetMaterializations(limit: 1) { timestamp }
"""
PARTITIONS = """
... on AssetNode {
  partitionKeysByDimension { name partitionKeys }
  assetPartitionStatuses {
    ... on DefaultPartitionStatuses { materializedPartitions unmaterializedPartitions }
  }
}
"""
JOB = f'{{ repositoryName: "__repository__", repositoryLocationName: "{MODULE}" }}'
#: What pages of the UI show, and what they ask the server for that.
PAGES = {
    "all assets": f"{{ assetNodes {{ assetKey {{ path }} {STATES} }} }}",
    "partitions of an asset": f"""
        {{ assetNodeOrError(assetKey: {{path: ["graph", "entities"]}}) {{ {PARTITIONS} }} }}""",
    "partitions of the job index": f"""
        {{ partitionSetsOrError(repositorySelector: {JOB}, pipelineName: "index") {{
           ... on PartitionSets {{ results {{ name partitionsOrError {{
               ... on Partitions {{ results {{ name }} }} }} }} }} }} }}""",
    "overview of runs": "{ runsOrError(limit: 25) { ... on Runs { results { runId status } } } }",
}


def make(root: Path, corpora: int) -> list[str]:
    names = [f"corpus {number:05}" for number in range(corpora)]
    for name in names:
        (root / name).mkdir(parents=True)
        for number in range(FILES):
            (root / name / f"{number}.txt").write_text(f"Document {number} of {name}.", encoding="utf-8")
        (root / name / "corpus.yaml").write_text('schedule: {cron: "0 3 * * *"}', encoding="utf-8")
    return names


def folders(instance: dg.DagsterInstance, cursor: str | None) -> str | None:
    resources = {"graphrag_corpora": CorpusStore(), "graphrag_warehouse": Warehouse()}
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


def report(instance: dg.DagsterInstance, names: list[str]) -> None:
    for name in names:
        for path in MADE:
            event = dg.AssetMaterialization(asset_key=dg.AssetKey(path), partition=name)
            instance.report_runless_asset_event(event)


@contextmanager
def web_server(home: Path) -> Iterator[str]:
    """Dagster's web server on these definitions; gives its address."""
    program = str(Path(sys.executable).with_name("dagster-webserver"))
    begin = time.perf_counter()
    server, address = started([program], os.environ | {"DAGSTER_HOME": str(home)}, home)
    try:
        print(f"web server: started in {time.perf_counter() - begin:.1f} s")
        yield address
    finally:
        server.terminate()
        server.wait()


def pages(address: str) -> None:
    for name, query in PAGES.items():
        seconds = []
        for _ in range(4):
            asked = Request(
                f"{address}/graphql",
                json.dumps({"query": query}).encode(),
                {"Content-Type": "application/json"},
            )
            begin = time.perf_counter()
            with urlopen(asked) as answer:
                body = answer.read()
            seconds.append(time.perf_counter() - begin)
            if b'"errors"' in body:
                sys.exit(f"{name}: {body[:1000].decode()}")
        again = f"{min(seconds[1:]):.2f}–{max(seconds[1:]):.2f} s"
        print(f"{name}: first {seconds[0]:.2f} s, again {again}, {len(body) / 1000:,.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GRAPHRAG_DAGSTER_HOME"] = folder
        names = make(Path(folder) / "corpora", asked.corpora)
        home = Path(folder) / "dagster"
        home.mkdir()
        (home / "dagster.yaml").write_text(INSTANCE, encoding="utf-8")
        with dg.DagsterInstance.from_config(str(home)) as instance:
            begin = time.perf_counter()
            instance.add_dynamic_partitions("corpus", names)
            print(f"{asked.corpora} partitions added in {time.perf_counter() - begin:.2f} s")
            ticks("corpora", folders, instance)
            ticks("scheduled_corpora", clock, instance)
            ticks("outdated_assets", condition, instance)
            report(instance, names)
            ticks("outdated_assets, three assets made", condition, instance)
        with web_server(home) as address:
            pages(address)


if __name__ == "__main__":
    main()
