"""Many small corpora indexed at once, while another process keeps a published file open.

    python benchmarks/backfill.py [--corpora 20] [--at-once 4] [--executor multiprocess]

Each run is a process of its own, as Dagster's daemon launches those of a backfill; with the multiprocess
executor each of its steps is one, too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dagster import DagsterInstance
from homes import BIN, command, environment, published

from graphrag_dagster.kernel.pipeline.orchestration.dagster_keys import CORPUS
from graphrag_dagster.kernel.pipeline.orchestration.executors import EXECUTOR

SMALL = (
    "Orrin Vask founded Tallow Marine {n}. Tallow Marine acquired Brinefield Shipping. Selma Dray opposed "
    "the merger. Orrin Vask met Selma Dray in Port Ellery. The Ellery Gazette reported on Tallow Marine {n}."
)
HOLD = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
print("open", flush=True)
for _ in sys.stdin:
    break
print(connection.execute("select count(*) from graph.entities").fetchone()[0])
"""


def backfill(count: int, at_once: int, executor: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        names = [f"corpus{number:02}" for number in range(count)]
        for name in names:
            folder = home / "corpora" / name
            folder.mkdir(parents=True)
            for part in range(3):
                (folder / f"{part}.txt").write_text(SMALL.format(n=part), encoding="utf-8")
        if command(home, "index", names[0], "--json").returncode:
            sys.exit("the first index failed")
        with DagsterInstance.from_config(str(home / ".dagster_home")) as instance:
            instance.add_dynamic_partitions(str(CORPUS.name), names)
        reader = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(published(home, names[0]))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert reader.stdout is not None
        reader.stdout.readline()
        begin = time.monotonic()

        def one(name: str) -> tuple[str, int, str]:
            done = subprocess.run(
                [
                    *(str(BIN / "dagster"), "job", "execute", "-m", "graphrag_dagster.definitions"),
                    *("-j", "index", "--tags", json.dumps({"dagster/partition": name})),
                ],
                env=environment(home, **{EXECUTOR: executor}),
                cwd=home,
                capture_output=True,
                text=True,
                check=False,
            )
            return name, done.returncode, done.stderr

        with ThreadPoolExecutor(at_once) as pool:
            results = list(pool.map(one, names))
        seconds = time.monotonic() - begin
        failed = [(name, text[-500:]) for name, code, text in results if code]
        locks = sum("is held by" in text for _, _, text in results)
        states = {published(home, name).stem for name in names}
        told_by_reader, _ = reader.communicate("go\n")
        print(f"{count} corpora, executor {executor}, {at_once} runs at a time: {seconds:.0f} s")
        print(f"failed {len(failed)}, lock errors {locks}; ", end="")
        print(f"all corpora hold the same texts, and of their states {len(states)} differ by hash (1: none)")
        print(f"the reader that held {names[0]}'s published file throughout counts {told_by_reader.strip()}")
        for name, text in failed:
            print(name, text)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=int, default=20)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--executor", default="multiprocess")
    given = parser.parse_args()
    backfill(given.corpora, given.at_once, given.executor)


if __name__ == "__main__":
    main()
