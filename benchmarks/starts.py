"""What a command of the command line takes beside its work, and small corpora as wholes.

    python benchmarks/starts.py [help unchanged four sample call ui imports] [--rounds 3]

Each is a process in a fresh home: ``--help``, an ``index`` where nothing has changed, one of four short
documents and one of the sample corpus, both without a model, an ``index`` by a model up to its first call,
and ``dagster dev`` up to its answer with all assets. Seconds are those of the quickest round, of the
processor (user and system, of ``dagster dev`` with all its processes) and of the clock; of the last two, both
at that moment. ``imports`` tells the milliseconds of imports by package, of the unchanged corpus and of the
four documents.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Any
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from first_use import DOCUMENTS, SETTINGS, write
from imports import command, environment, imported, ran

from support.endpoint import ScriptedEndpoint

FOUR = ("minutes/2021-03-meeting.txt", "minutes/2022-10-meeting.txt", "letter.md", "about.html")
SAMPLE = ROOT / "graphrag_dagster" / "sample" / "harbour"
SHOWN = 12
DAGSTER = Path(sys.executable).parent / "dagster"


def four_documents(home: Path) -> Path:
    folder = home / "corpora" / "four"
    write(folder, {name: DOCUMENTS[name] for name in FOUR})
    return folder


def shown_help(home: Path) -> tuple[float, float]:
    return ran(home, "--help")[:2]


def four(home: Path) -> tuple[float, float]:
    four_documents(home)
    return ran(home, "index", "four")[:2]


def unchanged(home: Path) -> tuple[float, float]:
    four(home)
    return ran(home, "index", "four")[:2]


def sample(home: Path) -> tuple[float, float]:
    shutil.copytree(SAMPLE, home / "corpora" / "harbour")
    return ran(home, "index", "harbour")[:2]


def call(home: Path) -> tuple[float, float]:
    folder, heard = four_documents(home), threading.Event()

    def listen(event: str, _: Any) -> None:
        if event == "begin" and not heard.is_set():
            measured.extend((time.perf_counter() - begun, processor_seconds(process.pid)))
            heard.set()

    measured: list[float] = []
    with ScriptedEndpoint(listener=listen) as endpoint:
        write(folder, {"corpus.yaml": SETTINGS.format(url=endpoint.url)})
        begun = time.perf_counter()
        process = subprocess.Popen(
            command("index", "four"),
            env=environment(home),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        process.wait()
    return measured[0], measured[1]


def ui(home: Path) -> tuple[float, float]:
    (home / ".dagster_home").mkdir(exist_ok=True)
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = Request(
        f"http://127.0.0.1:{port}/graphql",
        b'{"query": "{ assetNodes { id } }"}',
        {"Content-Type": "application/json"},
    )
    begun = time.perf_counter()
    server = subprocess.Popen(
        [DAGSTER, "dev", "-h", "127.0.0.1", "-p", str(port), "-m", "graphrag_dagster.definitions"],
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while True:
            with suppress(OSError), urlopen(asked) as answer:
                if json.load(answer)["data"]["assetNodes"]:
                    return time.perf_counter() - begun, tree_seconds(server.pid)
            time.sleep(0.05)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tree_seconds(process: int) -> float:
    threads = Path(f"/proc/{process}/task").glob("*/children")
    below = (int(child) for thread in threads for child in thread.read_text(encoding="ascii").split())
    return processor_seconds(process) + sum(map(tree_seconds, below))


def imports(home: Path) -> None:
    four_documents(home)
    for what in ("four documents", "unchanged"):
        spent = imported(home, "index", "four")
        packages = ", ".join(f"{name} {milliseconds:.0f}" for name, milliseconds in spent.most_common(SHOWN))
        print(f"imports, {what}: {sum(spent.values()):.0f} ms: {packages}")


MEASURED: dict[str, Callable[[Path], tuple[float, float]]] = {
    "help": shown_help,
    "unchanged": unchanged,
    "four": four,
    "sample": sample,
    "call": call,
    "ui": ui,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=[*MEASURED, "imports"])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for name in given.what:
        if name == "imports":
            with tempfile.TemporaryDirectory() as home:
                imports(Path(home))
            continue
        taken = []
        for _ in range(given.rounds):
            with tempfile.TemporaryDirectory() as home:
                taken.append(MEASURED[name](Path(home)))
        wall, cpu = (min(column) for column in zip(*taken, strict=True))
        print(f"{name}: {cpu:.2f} s of the processor, {wall:.2f} s of the clock", flush=True)


if __name__ == "__main__":
    main()
