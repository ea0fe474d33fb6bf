"""Homes that benchmarks index by the command line, with documents to index."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import duckdb

from graphrag_dagster.kernel import tables as declared
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from support.serve import ServedEndpoint

BIN = Path(sys.executable).parent
PODCAST = ROOT.parent / "shared" / "data" / "podcast" / "transcripts.zip"
CITATION = re.compile(r" ?\[Data: [^\]]*\]")
#: Tables of the index, without the accounts.
INDEXED = tuple(
    table
    for table in all_tables()
    if table not in declared.ACCOUNTS and table.group not in {"questions", "answers", "evaluation", "studies"}
)
EXTRACTION = ("extract_graph", "glean_check", "glean_continue")


@dataclass
class Step:
    """One index: seconds, calls by task, and what came of it."""

    seconds: float
    calls: dict[str, int]
    units: set[str]
    reports: dict[str, str]
    tables: dict[str, tuple[object, ...]]
    modularity: float

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
        tables = {table.full_name: hashed(database, table.full_name) for table in INDEXED}
        measured = database.execute("select modularity from graph.clustering_state").fetchone()
    return Step(seconds, server.tally()["calls"], units, reports, tables, measured[0])


def hashed(database: duckdb.DuckDBPyConnection, table: str) -> tuple[object, ...]:
    """Number of rows, and two sums of their hashes, whatever their order."""
    query = f"select count(*), bit_xor(hash(t)), sum(hash(t)::hugeint) from {table} t"
    return database.execute(query).fetchone() or ()


def documents(kind: str, folder: Path) -> list[Path]:
    """Put the documents into a folder; those of the podcast are its transcripts."""
    if kind == "harbour":
        shutil.copytree(ROOT / "graphrag_dagster" / "sample" / "harbour", folder)
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


def plain_texts(files: list[Path]) -> list[Path]:
    return [path for path in files if path.suffix in {".txt", ".md"} and decodes(path)]


def decodes(path: Path) -> bool:
    try:
        return bool(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        return False
