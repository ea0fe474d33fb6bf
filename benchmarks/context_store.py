"""Bytes of vectors that an index stores: all of them, beside those of communities and context nodes alone.

    python benchmarks/context_store.py [--corpus graphrag_dagster/sample/harbour] [--embedding node2vec]

The fourth paper says "about half" of keeping only the vectors of communities and context nodes (Table I).
Both indexes are of the same flat communities and the same context nodes; without a model.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from homes import BIN, environment

from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import CONTEXT_VECTORS

_VECTORS = (
    tables.TEXT_UNIT_EMBEDDINGS,
    tables.ENTITY_EMBEDDINGS,
    tables.REPORT_EMBEDDINGS,
    CONTEXT_VECTORS,
)
_SINGLE = 4


def stored(corpus: Path, kept: str, embedding: str) -> tuple[dict[str, int], int]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "corpora", corpus.name)
        shutil.copytree(corpus, copy)
        with (copy / "corpus.yaml").open("a", encoding="utf-8") as settings:
            settings.write(
                f"\nprofile: paper_004\nembeddings: {{kept: {kept}}}\ncontext: {{embedding: {embedding}}}\n"
            )
        indexing = [BIN / "graphrag-dagster", "index", corpus.name]
        subprocess.run(indexing, env=environment(Path(folder)), cwd=folder, check=True, capture_output=True)
        warehouse = Warehouse(path=str(Path(folder, "warehouse", "{corpus}.duckdb")))
        sizes = {}
        for table in _VECTORS:
            frame = warehouse.read(table, corpus.name)
            sizes[table.full_name] = frame.height * frame.schema["vector"].shape[0] * _SINGLE
        return sizes, warehouse.file(corpus.name).stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--corpus",
        type=Path,
        default=Path(__file__).parent.parent / "graphrag_dagster" / "sample" / "harbour",
    )
    parser.add_argument("--embedding", default="node2vec", choices=["node2vec", "spectral"])
    given = parser.parse_args()
    every, whole = stored(given.corpus, "all", given.embedding)
    few, smaller = stored(given.corpus, "communities", given.embedding)
    print("| vectors of | all, bytes | kept: communities, bytes |\n| --- | --- | --- |")
    for name, size in every.items():
        print(f"| `{name}` | {size:,} | {few[name]:,} |")
    before, after = sum(every.values()), sum(few.values())
    print(f"| sum | {before:,} | {after:,} = {after / before:.2f} |")
    print(f"| the whole file | {whole:,} | {smaller:,} = {smaller / whole:.2f} |")


if __name__ == "__main__":
    main()
