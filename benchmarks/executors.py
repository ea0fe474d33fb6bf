"""The job ``index`` for several corpora at once with each executor: seconds, and whether tables are equal.

    python benchmarks/executors.py [in_process multiprocess ray] [--corpora 2]

Each corpus is a copy of the small one that the tests index. Every run is a process of its own, as one that
Dagster's daemon launches; the tables of each are compared with those of the in-process runs, byte for byte.
``ray`` needs the extra of that name; a Ray cluster is started for it on this machine and ended with it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dagster import DagsterInstance

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_keys import CORPUS
from graphrag_dagster.resources.executors import EXECUTOR
from support.corpora import write_corpus
from support.tables_of import contents

INSTANCE = "telemetry: {enabled: false}\nnux: {enabled: false}\n"


@contextmanager
def place_of(executor: str) -> Iterator[dict[str, str]]:
    """What a run needs in its environment beyond the folders."""
    if executor != "ray":
        yield {}
        return
    from support.ray_cluster import ray_cluster

    with ray_cluster(dict(os.environ), 8299) as more:
        yield more


def index_all(executor: str, names: list[str], home: Path) -> tuple[float, dict[str, object]]:
    """Index all corpora at once; gives the seconds and the tables of each."""
    for name in names:
        write_corpus(home / "corpora", name)
    dagster_home = home / ".dagster_home"
    dagster_home.mkdir()
    (dagster_home / "dagster.yaml").write_text(INSTANCE)
    with DagsterInstance.from_config(str(dagster_home)) as instance:
        instance.add_dynamic_partitions(str(CORPUS.name), names)
    env = os.environ | {
        "GRAPHRAG_DAGSTER_HOME": str(home),
        "DAGSTER_HOME": str(dagster_home),
        EXECUTOR: executor,
    }
    command = [Path(sys.executable).with_name("dagster"), "job", "execute"]
    command += ["-m", "graphrag_dagster.definitions", "-j", "index"]
    with place_of(executor) as more:
        begin = time.monotonic()
        runs = {}
        for name in names:
            with (home / f"{name}.log").open("wb") as log:
                tags = f'{{"dagster/partition": "{name}"}}'
                runs[name] = subprocess.Popen(
                    [*command, "--tags", tags], env=env | more, cwd=home, stdout=log, stderr=subprocess.STDOUT
                )
        failed = [name for name, run in runs.items() if run.wait()]
        seconds = time.monotonic() - begin
    if failed:
        sys.exit(f"{executor}: {failed[0]} failed\n" + (home / f"{failed[0]}.log").read_text()[-3000:])
    warehouse = Warehouse(path=str(home / "warehouse" / "{corpus}.duckdb"))
    return seconds, {name: contents(warehouse, name) for name in names}


def main() -> None:
    """Measure, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("executors", nargs="*", default=["in_process", "multiprocess"])
    parser.add_argument("--corpora", type=int, default=2)
    options = parser.parse_args()
    names = [f"corpus{number}" for number in range(options.corpora)]
    first: dict[str, object] | None = None
    for executor in options.executors:
        with tempfile.TemporaryDirectory() as folder:
            seconds, made = index_all(executor, names, Path(folder))
        first = first or made
        equal = "equal" if made == first else "DIFFERENT"
        print(f"{executor:<14}{len(names)} corpora at once {seconds:8.1f} s   tables {equal}", flush=True)


if __name__ == "__main__":
    main()
