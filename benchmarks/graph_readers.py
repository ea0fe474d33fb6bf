"""Reading graphs: rows a second and peak memory of each format, beside a plain pass over the same file.

    python benchmarks/graph_readers.py [--rows 1000000] [--formats csv parquet …] [--folder FOLDER]

Triples are made up: 40 relations, a tenth as many entities as triples, the more frequent the lower their
number. The plain pass goes through the lines of the file, or the batches of Parquet, and does nothing with
them. Each is measured in a process of its own, so peak memory has the imports in it, too.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent))

from graphrag_dagster.apps.interchange.readers.graph_files import graph_files
from graphrag_dagster.apps.interchange.readers.graph_reader import read_file
from graphrag_dagster.kernel.common.file_discovery import discover

_AT_ONCE = 100_000
_IRI = "http://example.org"
Triples = Iterator[tuple[list[str], list[str], list[str]]]


def triples(rows: int) -> Triples:
    rng = np.random.default_rng(7)
    for begin in range(0, rows, _AT_ONCE):
        size = min(_AT_ONCE, rows - begin)
        ends = (rng.beta(0.6, 3, (2, size)) * (rows // 10 + 1)).astype(int)
        head, tail = ([f"Entity number {one}" for one in some] for some in ends)
        yield head, [f"relation_{one}" for one in rng.integers(0, 40, size)], tail


def _lines(kind: str, some: tuple[list[str], list[str], list[str]]) -> Iterable[str]:
    rows = zip(*some, strict=True)
    if kind == "csv":
        return (f"{h},{r},{t}\n" for h, r, t in rows)
    if kind == "jsonl":
        return (json.dumps({"head": h, "relation": r, "tail": t}) + "\n" for h, r, t in rows)
    if kind == "graphml":
        return (f'<edge source="{h}" target="{t}"><data key="d">{r}</data></edge>\n' for h, r, t in rows)
    names = ((h.replace(" ", "_"), r, t.replace(" ", "_")) for h, r, t in rows)
    return (f"<{_IRI}/{h}> <{_IRI}/{r}> <{_IRI}/{t}> .\n" for h, r, t in names)


_BEGIN = {
    "csv": "head,relation,tail\n",
    "graphml": '<graphml><key id="d" for="edge" attr.name="label" attr.type="string"/><graph>\n',
}
_END = {"graphml": "</graph></graphml>\n"}


def make(kind: str, file: Path, rows: int) -> None:
    if kind == "parquet":
        with pq.ParquetWriter(
            file, pa.schema([(n, pa.string()) for n in ("head", "relation", "tail")])
        ) as writer:
            for some in triples(rows):
                writer.write_table(pa.table(dict(zip(("head", "relation", "tail"), some, strict=True))))
        return
    with file.open("w") as stream:
        stream.write(_BEGIN.get(kind, ""))
        for some in triples(rows):
            stream.writelines(_lines(kind, some))
        stream.write(_END.get(kind, ""))


def plain_pass(file: Path) -> int:
    if file.suffix == ".parquet":
        return sum(batch.num_rows for batch in pq.ParquetFile(file).iter_batches())
    with file.open("rb") as stream:
        return sum(1 for _ in stream)


def read(file: Path) -> int:
    rows = 0
    for graph in graph_files(discover(file.parent, max_bytes=10**12)).graphs:
        for part in graph.files:
            for batch in read_file(graph, part):
                if batch.table == "relations":
                    rows += batch.frame.height
    return rows


def _measured(what: str, file: Path) -> tuple[int, float, float]:
    out = subprocess.run(
        [sys.executable, __file__, what, str(file)], check=True, capture_output=True, text=True
    )
    rows, seconds, peak = out.stdout.split()
    return int(rows), float(seconds), float(peak)


def _measure(what: str, file: Path) -> None:
    began = time.perf_counter()
    rows = {"read": read, "plain": plain_pass}[what](file)
    seconds = time.perf_counter() - began
    # What getrusage tells has the peak of the process in it that started this one.
    status = Path("/proc/self/status").read_text()
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    print(rows, seconds, int(peak) / 1024)


def main() -> None:
    if len(sys.argv) == 3 and sys.argv[1] in ("read", "plain"):
        _measure(sys.argv[1], Path(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = ["csv", "jsonl", "parquet", "nt", "ttl", "graphml"]
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--formats", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--folder", type=Path, help="where the files are made; default: a temporary folder")
    given = parser.parse_args()
    print("| format | rows | MB | rows a second | of a plain pass | peak memory, MB | of a plain pass |")
    print("| --- |" + " --- |" * 6)
    for kind in given.formats:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            file = Path(folder) / f"graph.{kind}"
            make(kind, file, given.rows)
            size = file.stat().st_size / 1e6
            rows, seconds, peak = _measured("read", file)
            _, plain_seconds, plain_peak = _measured("plain", file)
        assert rows == given.rows
        print(
            f"| {kind} | {rows:,} | {size:,.0f} | {rows / seconds:,.0f} | {seconds / plain_seconds:.1f} × "
            f"| {peak:,.0f} | {peak / plain_peak:.1f} × |",
            flush=True,
        )


if __name__ == "__main__":
    main()
