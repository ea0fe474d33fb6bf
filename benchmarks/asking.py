"""Seconds of whole processes of ``ask``, and what they import.

    python benchmarks/asking.py HOME CORPUS [--ways local,global,basic] [--rounds 3] [--question "…"]
    python benchmarks/asking.py HOME --make ENTITIES
    python benchmarks/asking.py HOME CORPUS --inside 30

``HOME`` holds an indexed corpus; with ``--make``, one of random words with so many entities is published
there, under the name ``random``. The first process after what is kept beside the snapshot is deleted is
``first``; ``later`` is the quickest of the rounds that follow, by the seconds of the processor. Where this
process may, the page cache is dropped once, which is ``cold``. Imports are by package, in milliseconds of
``-X importtime``, which adds some. With ``--inside`` so many questions about two names are asked by each
method in this process instead, and milliseconds of the processor are told.
"""

import argparse
import hashlib
import os
import random
import shutil
import time
from pathlib import Path

import numpy as np
import polars as pl
from imports import imported, ran

QUESTION = "What is it about, and who was there?"
SHOWN = 12


def dropped() -> bool:
    try:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")
    except OSError:
        return False
    return True


def measure(home: Path, corpus: str, ways: list[str], rounds: int, question: str) -> None:
    kept = home / "warehouse" / "published" / corpus / "searched"
    print("| way | first: wall s, CPU s | later: wall s, CPU s | cold: wall s |\n| --- | --- | --- | --- |")
    for way in ways:
        arguments = ["ask", corpus, question, "--method", way]
        shutil.rmtree(kept, ignore_errors=True)
        first = ran(home, *arguments)
        later = min((ran(home, *arguments) for _ in range(rounds)), key=lambda one: one[1])
        cold = f"{ran(home, *arguments)[0]:.2f}" if dropped() else "–"
        print(
            f"| {way} | {first[0]:.2f}, {first[1]:.2f} | {later[0]:.2f}, {later[1]:.2f} | {cold} |",
            flush=True,
        )
    arguments = ["ask", corpus, question, "--method", ways[0]]
    ran(home, *arguments)
    spent = imported(home, *arguments)
    print(f"\nimports of {ways[0]}: {sum(spent.values()):.0f} ms")
    print(", ".join(f"{name} {milliseconds:.0f}" for name, milliseconds in spent.most_common(SHOWN)))


def make(home: Path, entities: int) -> None:
    os.environ["GRAPHRAG_DAGSTER_HOME"] = str(home)
    from random_graph import random_graph

    from graphrag_dagster.kernel.documents.document_metadata import periods_of
    from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
    from graphrag_dagster.kernel.storage.published import publish
    from graphrag_dagster.kernel.storage.warehouse import Warehouse
    from graphrag_dagster.kernel.tables import core_tables as tables

    folder = home / "corpora" / "random"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.txt").write_text("Random words.\n", encoding="utf-8")
    # Its communities have one level.
    (folder / "corpus.yaml").write_text("search:\n  level: 0\n", encoding="utf-8")
    made, embedder = random_graph(entities), StaticEmbedder()

    def vectors(key: str, ids: pl.Series, texts: list[str]) -> pl.DataFrame:
        hashes = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        rows = pl.Series(embedder.embed(texts), dtype=pl.Array(pl.Float32, embedder.dimension))
        return pl.DataFrame({key: ids, "text_hash": hashes, "vector": rows}).with_columns(
            embedder=pl.lit(embedder.name)
        )

    chunks, texts = made.text_chunks, made.text_chunks["text"].to_list()
    named = made.entities.select(pl.format("{}: {}", "title", "description"))["title"].to_list()
    frames = {
        tables.FILES: tables.FILES.empty(),
        tables.DOCUMENTS: made.documents,
        tables.DOCUMENT_PERIODS: periods_of(made.documents),
        tables.TEXT_CHUNKS: chunks,
        tables.ENTITIES: made.entities,
        tables.RELATIONSHIPS: made.relationships,
        tables.COMMUNITIES: made.communities,
        tables.COMMUNITY_LEVELS: made.community_levels,
        tables.COMMUNITY_REPORTS: made.reports,
        tables.REPORT_FINDINGS: made.findings,
        tables.REPORT_REFERENCES: made.references,
        tables.COMMUNITY_MEMBERS: made.members,
        tables.TEXT_UNIT_EMBEDDINGS: vectors("text_unit_id", chunks["text_unit_id"], texts),
        tables.ENTITY_EMBEDDINGS: vectors("entity_id", made.entities["entity_id"], named),
    }
    warehouse = Warehouse()
    for table, frame in frames.items():
        warehouse.write(table, "random", frame.select(table.column_names))
    publish(warehouse, "random")


def inside(home: Path, corpus: str, ways: list[str], questions: int) -> None:
    """Print milliseconds of the processor for a question where the index is open, without the first three."""
    os.environ["GRAPHRAG_DAGSTER_HOME"] = str(home)
    from graphrag_dagster import Index

    index, rng = Index.open(corpus), random.Random(3)
    names = index.searcher.index.entities["title"].to_list()
    asked = [f"How did {rng.choice(names)} come to {rng.choice(names)}?" for _ in range(questions)]
    print("| way | p50 ms | p95 ms |\n| --- | --- | --- |")
    for way in ways:
        times = []
        for question in asked:
            begin = time.process_time()
            index.ask(question, method=way)
            times.append(1000 * (time.process_time() - begin))
        p50, p95 = np.quantile(times[3:], [0.5, 0.95])
        print(f"| {way} | {p50:.0f} | {p95:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("home", type=Path)
    parser.add_argument("corpus", nargs="?", default="random")
    parser.add_argument("--ways", default="local,global,basic")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument("--make", type=int, metavar="ENTITIES")
    parser.add_argument("--inside", type=int, metavar="QUESTIONS")
    given = parser.parse_args()
    if given.make:
        make(given.home.resolve(), given.make)
    if given.inside:
        inside(given.home.resolve(), given.corpus, given.ways.split(","), given.inside)
        return
    measure(given.home.resolve(), given.corpus, given.ways.split(","), given.rounds, given.question)


if __name__ == "__main__":
    main()
