"""What it takes to catch up with a changed corpus, and what survives accidents.

    python benchmarks/living.py catch_up [--corpus harbour|podcast]
    python benchmarks/living.py backfill [--corpora 20]
    python benchmarks/living.py accidents [--rounds 10]

``catch_up``: a corpus without a tenth of its documents is indexed through a scripted endpoint that answers
after half a second (``tests/support/serve.py``), then the tenth is added, a document removed, a sentence
edited. Each step is told beside a cold rebuild of the same documents with an empty memory. A report stayed
where its text did, but for the numbers of what it cites: they are those of rows, and a new row shifts them.
``backfill``: so many small corpora with the multiprocess executor, several runs at a time, while another
process keeps a published file open. ``accidents``: ``kill -9`` of runs at random moments and a disk that is
full; after each the published snapshot is read, and in the end the index is completed.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import duckdb
from dagster import DagsterInstance

from graphrag_dagster.executors import EXECUTOR
from graphrag_dagster.partitions import CORPUS
from support.serve import ServedEndpoint

BIN = Path(sys.executable).parent
PODCAST = ROOT.parent / "shared" / "data" / "podcast" / "transcripts.zip"
CITATION = re.compile(r" ?\[Data: [^\]]*\]")
EXTRACTION = ("extract_graph", "glean_check", "glean_continue")


@dataclass
class Step:
    """One index: seconds, calls by task, and the tables that came of it."""

    seconds: float
    calls: dict[str, int]
    units: set[str]
    reports: dict[str, str]

    @property
    def extraction(self) -> int:
        return sum(self.calls.get(task, 0) for task in EXTRACTION)

    @property
    def written(self) -> int:
        return self.calls.get("community_report", 0)


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "GRAPHRAG_DAGSTER_HOME": str(home),
        "DAGSTER_HOME": str(home / ".dagster_home"),
        "OPENAI_API_KEY": "none",
        **more,
    }


def command(home: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / "graphrag-dagster"), *arguments],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def published(home: Path, name: str) -> Path:
    folder = home / "warehouse" / "published" / name
    version = json.loads((folder / "current.json").read_text(encoding="utf-8"))["version"]
    return folder / f"{version}.duckdb"


def index(home: Path, name: str, server: ServedEndpoint, *options: str) -> Step:
    server.reset()
    begin = time.monotonic()
    done = command(home, "index", name, "--json", *options)
    if done.returncode:
        sys.exit(f"index failed with {done.returncode}: {done.stderr[-2000:]}")
    seconds = time.monotonic() - begin
    with duckdb.connect(str(published(home, name)), read_only=True) as database:
        units = {row[0] for row in database.execute("select text_unit_id from corpus.text_chunks").fetchall()}
        told = database.execute("select report_id, content from reports.community_reports").fetchall()
        reports = {report: CITATION.sub("", content) for report, content in told}
    return Step(seconds, server.tally()["calls"], units, reports)


def documents(kind: str, folder: Path) -> list[Path]:
    """Put the documents into a folder; those of the podcast are its transcripts."""
    if kind == "harbour":
        shutil.copytree(ROOT / "examples" / "harbour", folder)
        (folder / "corpus.yaml").unlink()
    else:
        folder.mkdir(parents=True)
        with zipfile.ZipFile(PODCAST) as archive:
            for member in archive.namelist():
                if member.endswith(".txt"):
                    (folder / Path(member).name).write_bytes(archive.read(member))
    return sorted(path for path in folder.rglob("*") if path.is_file())


def settings(folder: Path, url: str) -> None:
    content = {
        "engine": "llm",
        "embeddings": {"embedder": "endpoint", "model": "scripted-embedding"},
        "model": {"base_url": url, "name": "gpt-4.1-mini", "concurrency": 32},
    }
    (folder / "corpus.yaml").write_text(json.dumps(content), encoding="utf-8")


def of_middling_size(files: list[Path]) -> list[Path]:
    """Two plain texts of a size that is common in the corpus."""
    texts = [path for path in files if path.suffix in {".txt", ".md"} and decodes(path)]
    texts.sort(key=lambda path: (path.stat().st_size, path))
    middle = len(texts) // 2
    return texts[middle : middle + 2]


def decodes(path: Path) -> bool:
    try:
        return bool(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        return False


def told(what: str, before: Step, now: Step, cold: Step) -> None:
    new = len(now.units - before.units) / len(now.units)
    stayed = sum(before.reports.get(key) == text for key, text in now.reports.items())
    known = sum(key in before.reports for key in now.reports)
    print(f"\n{what}: {len(now.units):,} text units, {new:.1%} of them new")
    print(f"  extraction calls {now.extraction:,} against {cold.extraction:,} cold: ", end="")
    share = now.extraction / max(cold.extraction, 1)
    print(f"{share:.1%}" + (f" = {share / new:.2f} x the share of new units" if new else ""))
    print(f"  reports written {now.written:,} of {len(now.reports):,} ({now.written / len(now.reports):.1%})")
    print(f"  communities whose id stayed {known / len(now.reports):.1%}, ", end="")
    print(f"whose id and report stayed {stayed / len(now.reports):.1%}")
    print(f"  calls in all {sum(now.calls.values()):,} against {sum(cold.calls.values()):,}; ", end="")
    print(f"seconds {now.seconds:.1f} against {cold.seconds:.1f}", flush=True)


def catch_up(kind: str) -> None:
    with tempfile.TemporaryDirectory() as scratch, ServedEndpoint(seconds=0.5, script="wordy") as server:
        home = Path(scratch) / "warm"
        folder = home / "corpora" / "living"
        files = documents(kind, folder)
        settings(folder, server.url)
        aside = Path(scratch) / "aside"
        aside.mkdir()
        added = files[::10]
        for number, path in enumerate(added):
            shutil.move(path, aside / str(number))

        def cold(number: int) -> Step:
            other = Path(scratch) / f"cold{number}"
            shutil.copytree(folder, other / "corpora" / "living")
            return index(other, "living", server)

        base = index(home, "living", server)
        print(f"{kind}: {len(files) - len(added)} files, {len(base.units):,} text units, ", end="")
        print(f"{sum(base.calls.values()):,} calls, {base.seconds:.1f} s; {len(added)} files are added")
        for number, path in enumerate(added):
            shutil.move(aside / str(number), path)
        more = index(home, "living", server)
        told("+10 % documents", base, more, cold(1))
        again = index(home, "living", server)
        whole = index(home, "living", server, "--again")
        print(f"\nunchanged: {sum(again.calls.values())} calls, {again.seconds:.1f} s; ", end="")
        print(f"run all the same: {sum(whole.calls.values())} calls, {whole.seconds:.1f} s")
        gone, edited = of_middling_size(files)
        gone.unlink()
        fewer = index(home, "living", server)
        told("-1 document", again, fewer, cold(2))
        text = edited.read_text(encoding="utf-8")
        ends = [match.end() for match in re.finditer(r"\. ", text)]
        place = ends[len(ends) // 2]
        edited.write_text(
            text[:place] + "Nobody had expected Wendeline Sarro. " + text[place:], encoding="utf-8"
        )
        told("one sentence more", fewer, index(home, "living", server), cold(3))


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


def backfill(count: int, at_once: int = 4) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        names = [f"corpus{number:02}" for number in range(count)]
        for number, name in enumerate(names):
            folder = home / "corpora" / name
            folder.mkdir(parents=True)
            for part in range(3):
                (folder / f"{part}.txt").write_text(SMALL.format(n=number * 3 + part), encoding="utf-8")
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
                env=environment(home, **{EXECUTOR: "multiprocess"}),
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
        rows = {}
        for name in names:
            with duckdb.connect(str(published(home, name)), read_only=True) as database:
                rows[name] = database.execute(
                    "select (select count(*) from corpus.documents), (select count(*) from graph.entities)"
                ).fetchone()
        told_by_reader, _ = reader.communicate("go\n")
        print(f"{count} corpora, multiprocess executor, {at_once} runs at a time: {seconds:.0f} s")
        print(f"failed {len(failed)}, lock errors {locks}, documents and entities {set(rows.values())}")
        print(f"the reader that held {names[0]}'s published file throughout counts {told_by_reader.strip()}")
        for name, text in failed:
            print(name, text)


def accidents(rounds: int) -> None:
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as scratch, ServedEndpoint(seconds=0.01, script="wordy") as server:
        home = Path(scratch)
        folder = home / "corpora" / "living"
        files = documents("harbour", folder)
        settings(folder, server.url)
        index(home, "living", server)
        whole = index(home, "living", server, "--again").seconds
        killed = readable = 0
        for number in range(rounds):
            path = files[number % len(files)]
            if path.suffix in {".txt", ".md"}:
                extra = f"\n\nWendeline Sarro came {number} times to Kelderwick."
                path.write_text(path.read_text(encoding="utf-8") + extra, encoding="utf-8")
            run = subprocess.Popen(
                [str(BIN / "graphrag-dagster"), "index", "living", "--json"],
                env=environment(home),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            time.sleep(chance.uniform(1, whole + 3))
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                killed += 1
            run.wait()
            readable += consistent(home)
        done = index(home, "living", server)
        print(f"kill -9: {killed} of {rounds} runs killed; the published snapshot was whole {readable} times")
        print(f"the next run completed in {done.seconds:.1f} s with {sum(done.calls.values())} calls")
        server.reset()
        full_disk(home, server)


def consistent(home: Path) -> bool:
    """Whether the published snapshot can be read and its parts fit together."""
    with duckdb.connect(str(published(home, "living")), read_only=True) as database:
        row = database.execute(
            "select "
            "(select count(*) from corpus.text_chunks anti join corpus.documents using (document_id)), "
            "(select count(*) from graph.communities c anti join reports.community_reports r "
            "on r.report_id = c.community_id), (select count(*) from graph.entities)"
        ).fetchone()
    return row is not None and row[0] == 0 and row[1] == 0 and row[2] > 0


def full_disk(home: Path, server: ServedEndpoint) -> None:
    """Run on a file system of a few megabytes, where it may be mounted, until it is full."""
    small = home / "small"
    small.mkdir()
    used = sum(path.stat().st_size for path in (home / "warehouse").rglob("*") if path.is_file())
    size = used * 2 + 40_000_000
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        print("full disk: not tried, no file system can be mounted here")
        return
    try:
        for part in ("warehouse", "corpora", "cache", ".dagster_home"):
            if (home / part).exists():
                shutil.copytree(home / part, small / part)
        free = shutil.disk_usage(small).free
        (small / "filler").write_bytes(b"\0" * max(free - 600_000, 0))
        target = next(path for path in (small / "corpora" / "living").rglob("*.txt"))
        with contextlib.suppress(OSError):
            target.write_text(target.read_text(encoding="utf-8") + " Wendeline Sarro left.", encoding="utf-8")
        done = command(small, "index", "living", "--json")
        whole = consistent(small)
        print(f"full disk: exit {done.returncode}; the published snapshot is whole: {whole}")
        print("  " + (done.stderr.strip().splitlines() or ["nothing said"])[-1][:300])
        (small / "filler").unlink()
        after = index(small, "living", server)
        print(f"  with room again the next run completed in {after.seconds:.1f} s: {consistent(small)}")
    finally:
        subprocess.run(["umount", str(small)], check=False)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("catch_up", "backfill", "accidents"))
    parser.add_argument("--corpus", choices=("harbour", "podcast"), default="harbour")
    parser.add_argument("--corpora", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    if given.what == "catch_up":
        catch_up(given.corpus)
    elif given.what == "backfill":
        backfill(given.corpora)
    else:
        accidents(given.rounds)


if __name__ == "__main__":
    main()
