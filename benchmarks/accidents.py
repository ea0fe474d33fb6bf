"""What survives ``kill -9`` and a full disk.

    python benchmarks/accidents.py [--rounds 10]

Runs and ``dagster dev`` are killed at random moments while they index a corpus of which a document has just
been changed; then the corpus is indexed on file systems of a few megabytes that are full sooner or later.
After each the published snapshot is read, and in the end the index is completed. For Linux.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import duckdb
from homes import BIN, command, documents, environment, index, plain_texts, published, settings
from servers import MODULE, started

from support.serve import ServedEndpoint

LAUNCH = """
mutation ($selector: JobOrPipelineSelector!, $tags: [ExecutionTag!]!) {
  launchRun(executionParams: {
    selector: $selector, runConfigData: {}, mode: "default", executionMetadata: { tags: $tags }
  }) { __typename ... on PythonError { message } }
}
"""
#: Bytes that are left on a disk.
ROOMS = (100_000, 1_000_000, 4_000_000, 9_000_000, 14_000_000, 20_000_000)


def accidents(rounds: int) -> None:
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as scratch, ServedEndpoint(seconds=0.01, script="wordy") as server:
        home = Path(scratch)
        folder = home / "corpora" / "living"
        texts = plain_texts(documents("harbour", folder))
        settings(folder, server.url)
        index(home, "living", server)
        whole = index(home, "living", server, "--again").seconds

        def run_is_killed() -> bool:
            run = subprocess.Popen(
                [str(BIN / "graphrag-dagster"), "index", "living", "--json"],
                env=environment(home),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            time.sleep(chance.uniform(1, whole))
            running = run.poll() is None
            kill_session(run.pid)
            run.wait()
            return running

        def dev_is_killed() -> bool:
            with dagster_dev(home) as (pid, address):
                launch(address, "living")
                time.sleep(chance.uniform(2, whole))
                kill_session(pid)
            return True

        for what, times, accident in (
            ("a run", rounds, run_is_killed),
            ("dagster dev", max(rounds // 3, 1), dev_is_killed),
        ):
            killed = readable = 0
            for number in range(times):
                path = chance.choice(texts)
                more = f"\n\nWendeline Sarro came {number} times to Kelderwick by {what}."
                path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
                killed += accident()
                readable += consistent(home)
            done = index(home, "living", server)
            print(f"kill -9 of {what}: {killed} of {times} at work; ", end="")
            print(f"the published snapshot was whole {readable} of {times} times; ", end="")
            print(f"the next index: {done.seconds:.1f} s, {sum(done.calls.values())} calls", flush=True)
        full_disks(home, server)


def kill_session(leader: int) -> None:
    """Kill a process and all that it has started, at once."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if os.getsid(int(entry.name)) == leader:
                    os.kill(int(entry.name), signal.SIGKILL)


@contextlib.contextmanager
def dagster_dev(home: Path) -> Iterator[tuple[int, str]]:
    """``dagster dev`` with its daemon on these definitions; gives its process and its address."""
    dev, address = started([str(BIN / "dagster"), "dev"], environment(home), home)
    try:
        yield dev.pid, address
    finally:
        kill_session(dev.pid)
        dev.wait()


def launch(address: str, corpus: str) -> None:
    """Have the web server launch the job ``index`` for a corpus, as its pages do."""
    variables = {
        "selector": {
            "repositoryLocationName": MODULE,
            "repositoryName": "__repository__",
            "jobName": "index",
        },
        "tags": [{"key": "dagster/partition", "value": corpus}],
    }
    body = json.dumps({"query": LAUNCH, "variables": variables}).encode()
    with urlopen(Request(f"{address}/graphql", body, {"Content-Type": "application/json"})) as answer:
        told = json.load(answer)
    if told.get("data", {}).get("launchRun", {}).get("__typename") != "LaunchRunSuccess":
        sys.exit(f"nothing was launched: {json.dumps(told)[:1000]}")


def consistent(home: Path) -> bool:
    """Whether the published snapshot is byte for byte what was published, and its parts fit together."""
    file = published(home, "living")
    manifest = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    with file.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != manifest["hash"]:
            return False
    with duckdb.connect(str(file), read_only=True) as database:
        row = database.execute(
            "select "
            "(select count(*) from corpus.text_chunks anti join corpus.documents using (document_id)), "
            "(select count(*) from graph.communities c anti join reports.community_reports r "
            "on r.report_id = c.community_id), (select count(*) from graph.entities)"
        ).fetchone()
    return row is not None and row[0] == 0 and row[1] == 0 and row[2] > 0


def full_disks(home: Path, server: ServedEndpoint) -> None:
    """Run on file systems of a few megabytes, where they may be mounted, which are full sooner or later."""
    small = home / "small"
    small.mkdir()
    used = sum(path.stat().st_size for path in (home / "warehouse").rglob("*") if path.is_file())
    mount = ["mount", "-t", "tmpfs", "-o", f"size={used * 2 + 40_000_000}", "tmpfs", str(small)]
    for room in ROOMS:
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            print("full disk: not tried, no file system can be mounted here")
            return
        try:
            full_disk(home, small, room, server)
        finally:
            subprocess.run(["umount", str(small)], check=False)


def full_disk(home: Path, small: Path, room: int, server: ServedEndpoint) -> None:
    for part in ("warehouse", "corpora", "cache", ".dagster_home"):
        shutil.copytree(home / part, small / part)
    target = plain_texts(sorted((small / "corpora" / "living").rglob("*.txt")))[0]
    target.write_text(target.read_text(encoding="utf-8") + " Wendeline Sarro left.", encoding="utf-8")
    filler = small / "filler"
    filler.write_bytes(b"\0" * max(shutil.disk_usage(small).free - room, 0))
    done = command(small, "index", "living", "--json")
    print(f"full disk, {room / 1e6:g} MB left: exit {done.returncode}, snapshot whole {consistent(small)}")
    print("  " + (done.stderr.strip().splitlines() or ["nothing said"])[-1][:200])
    filler.unlink()
    after = index(small, "living", server)
    print(
        f"  with room again the next index: {after.seconds:.1f} s, snapshot whole {consistent(small)}",
        flush=True,
    )


def main() -> None:
    """Try and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    accidents(parser.parse_args().rounds)


if __name__ == "__main__":
    main()
