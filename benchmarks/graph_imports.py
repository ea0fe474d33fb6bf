"""Taking graphs in: from files to the tables of imports, and how much of an index there is room for.

    python benchmarks/graph_imports.py [--rows 1000000 10000000] [--format csv] [--folder FOLDER]

The triples are those of ``graph_readers.py``. ``taken`` is the whole of the stage imports: reading, names of
ends, repeated rows, loops, the account, written to a DuckDB file in one transaction; beside it stands what
the readers alone take for the same file in the same run. Each is measured in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from graph_readers import make

from graphrag_dagster.apps.interchange.graph_import import import_graphs
from graphrag_dagster.apps.interchange.readers.graph_files import graph_files
from graphrag_dagster.apps.interchange.readers.graph_reader import read_file
from graphrag_dagster.kernel.common.file_discovery import discover
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import IMPORT_ACCOUNT


def read(home: Path) -> dict[str, object]:
    begin = time.monotonic()
    (graph,) = graph_files(discover(home / "corpora" / "made", max_bytes=2**62)).graphs
    rows = sum(
        batch.frame.height
        for file in graph.files
        for batch in read_file(graph, file)
        if batch.table == "relations"
    )
    return {"rows": rows, "seconds": time.monotonic() - begin}


def taken(home: Path) -> dict[str, object]:
    corpora = CorpusStore(root=str(home / "corpora"))
    warehouse = Warehouse(path=str(home / "{corpus}.duckdb"))
    begin = time.monotonic()
    import_graphs(corpora, warehouse, "made")
    seconds = time.monotonic() - begin
    account = warehouse.read(IMPORT_ACCOUNT, "made")
    rows = int(account["rows"].sum())
    told = dict(account.select("outcome", "rows").rows())
    size = warehouse.file("made").stat().st_size
    return {"rows": rows, "seconds": seconds, "bytes": size, "account": told}


def measured(what: str, home: Path) -> dict[str, object]:
    made = {"read": read, "taken": taken}[what](home)
    status = Path("/proc/self/status").read_text()
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    return {**made, "peak_mb": int(peak) // 1024}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--format", default="csv")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--of", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.of:
        print(json.dumps(measured(chosen.of[0], Path(chosen.of[1]))))
        return
    for rows in chosen.rows:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            corpus = Path(folder) / "corpora" / "made"
            corpus.mkdir(parents=True)
            (corpus / "corpus.yaml").write_text("kind: graph\n", "utf-8")
            make(chosen.format, corpus / f"triples.{chosen.format}", rows)
            for what in ("read", "taken"):
                command = [sys.executable, __file__, "--of", what, folder]
                told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                speed = told["rows"] / told["seconds"]
                print(
                    f"{rows:,} {chosen.format} {what}: {told['seconds']:.1f} s, {speed:,.0f} rows/s, {told}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
