"""What answering from an object store takes: questions of a machine that has nothing, and of fifty clients.

    python benchmarks/published_s3.py [--clients 50] [--seconds 10]

Indexes the sample without a model, publishes it to moto's S3 server in a process of its own on this machine,
and asks in another: the first question (which fetches the snapshot), later ones, and the same with a local
snapshot and no object store. Then clients ask in threads, of which each looks for a newer snapshot before a
question, while three are published. Tells seconds, questions a second, errors, and the longest wait.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection, socket

import polars as pl

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "graphrag_dagster" / "sample" / "harbour"
QUESTION = "Who built the quay?"
SERVER = """
import sys, threading
from moto.server import ThreadedMotoServer
ThreadedMotoServer("127.0.0.1", int(sys.argv[1]), verbose=False).start()
threading.Event().wait()
"""
ASKING = f"""
import sys, time
begin = time.monotonic()
from graphrag_dagster import Index
for _ in range(4):
    Index.open("harbour").ask({QUESTION!r}, method="basic")
    print(round(time.monotonic() - begin, 2), flush=True)
    begin = time.monotonic()
"""


@contextmanager
def s3():
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        os.environ |= {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }
        from http.client import HTTPConnection

        connection = HTTPConnection("127.0.0.1", port)
        connection.request("PUT", "/bench")
        connection.getresponse().read()
        yield "s3://bench/graphrag"
    finally:
        server.kill()
        server.wait()


def asked(home: Path, url: str) -> list[float]:
    """Seconds of the first questions of a new process."""
    environment = os.environ | {"GRAPHRAG_DAGSTER_HOME": str(home), "GRAPHRAG_DAGSTER_PUBLISHED": url}
    told = subprocess.run(
        [sys.executable, "-c", ASKING], env=environment, capture_output=True, text=True, check=True
    )
    return [float(line) for line in told.stdout.split()]


def clients(home: Path, node: Path, url: str, count: int, seconds: float) -> None:
    from graphrag_dagster import Index
    from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
    from graphrag_dagster.kernel.storage.published import publish
    from graphrag_dagster.kernel.storage.warehouse import Warehouse
    from graphrag_dagster.kernel.tables import core_tables as tables

    os.environ |= {"GRAPHRAG_DAGSTER_HOME": str(node), "GRAPHRAG_DAGSTER_PUBLISHED": url}
    indexing = Warehouse(path=str(home / "warehouse" / "{corpus}.duckdb"))
    here, nowhere = Warehouse(), CorpusStore(root=str(node / "corpora"))
    opening, ended = threading.Lock(), threading.Event()
    held = {"index": Index.open("harbour", corpora=nowhere, warehouse=here)}
    waits, errors, versions = [], [], set()

    def client(_number: int) -> None:
        while not ended.is_set():
            begin = time.monotonic()
            try:
                version = Index.published_version("harbour")
                with opening:
                    if held["index"].version != version:
                        held["index"] = Index.open("harbour", corpora=nowhere, warehouse=here)
                held["index"].ask(QUESTION, method="basic")
                versions.add(version)
            except Exception as error:
                errors.append(error)
            waits.append(time.monotonic() - begin)

    with ThreadPoolExecutor(count) as pool:
        running = [pool.submit(client, number) for number in range(count)]
        published = []
        try:
            for number in range(3):
                time.sleep(seconds / 4)
                begin = time.monotonic()
                frame = indexing.read(tables.ENTITIES, "harbour")
                changed = frame.with_columns(description=pl.lit(f"state {number}"))
                indexing.write(tables.ENTITIES, "harbour", changed)
                publish(indexing, "harbour")
                published.append(round(time.monotonic() - begin, 1))
            time.sleep(max(seconds / 4, 4))
        finally:
            ended.set()
        for one in running:
            one.result()
    print(
        f"{count} clients: {len(waits):,} questions, {len(errors)} errors, {len(versions)} versions, "
        f"median {statistics.median(waits):.2f} s, longest {max(waits):.2f} s; published in {published} s"
    )
    for error in errors[:3]:
        print(f"  {error!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, s3() as url:
        home, node = Path(folder, "indexing"), Path(folder, "node")
        node.mkdir()
        shutil.copytree(SAMPLE, home / "corpora" / "harbour")
        environment = os.environ | {
            "GRAPHRAG_DAGSTER_HOME": str(home),
            "DAGSTER_HOME": str(home / ".dagster_home"),
            "GRAPHRAG_DAGSTER_PUBLISHED": url,
        }
        index = [sys.executable, "-m", "graphrag_dagster", "index", "harbour"]
        subprocess.run(index, env=environment, check=True, capture_output=True)
        (snapshot,) = (home / "warehouse" / "published" / "harbour").glob("*.duckdb")
        print(f"snapshot of {snapshot.stat().st_size / 1e6:.1f} MB")
        print(f"a machine with nothing, first and later questions: {asked(node, url)} s")
        print(f"the same with its copy: {asked(node, url)} s")
        print(f"no object store: {asked(home, '')} s")
        clients(home, node, url, given.clients, given.seconds)


if __name__ == "__main__":
    main()
