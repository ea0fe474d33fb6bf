"""CoTeRAG-S without a model on synthetic triples: seconds and memory of its steps, and how both grow.

Run: python benchmarks/coterag_structure.py [triples …]

Every size is measured in a process of its own, so that peaks do not mix.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import polars as pl

from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.coterag.index.entity_descriptions import descriptions
from graphrag_dagster.systems.coterag.index.triple_communities import leiden_communities, stores, triple_graph

SIZES = (100_000, 300_000, 1_000_000)
T = TypeVar("T")


def synthetic(triples: int, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A fifth as many entities: groups of 50, hubs with a heavy tail, a tenth in small components."""
    rng = np.random.default_rng(seed)
    count = max(triples // 5, 100)
    apart = count // 10
    inner, hub = int(triples * 0.88), int(triples * 0.1)
    head = rng.integers(apart, count, inner)
    tail = np.minimum(head // 50 * 50 + rng.integers(0, 50, inner), count - 1)
    hubs = np.maximum(apart, count - np.minimum(rng.zipf(1.6, hub), count))
    small = rng.integers(0, apart, triples - inner - hub)
    head = np.concatenate([head, hubs, small])
    tail = np.concatenate([tail, rng.integers(apart, count, hub), np.minimum(small // 3 * 3 + 1, apart - 1)])
    names = np.array([f"ENTITY {number:07d} OF {number % 977}" for number in range(count)])
    units = pl.Series([[f"u{number}"] for number in range(len(head))], dtype=pl.List(pl.String))
    entities = pl.DataFrame(
        {
            "entity_id": [f"{number:032x}" for number in range(count)],
            "name": names,
            "title": [name.title() for name in names],
            "type": ["thing"] * count,
            "text_unit_ids": units.head(1).new_from_index(0, count),
        }
    )
    relations = np.array([f"relation {number}" for number in range(40)])
    drawn = pl.DataFrame(
        {
            "head": names[head],
            "relation": relations[rng.integers(0, len(relations), len(head))],
            "tail": names[tail],
            "text_unit_ids": units,
        }
    )
    return entities, drawn.unique(["head", "relation", "tail"], maintain_order=True)


def timed(name: str, work: Callable[[], T], seconds: dict[str, float]) -> T:
    began = time.perf_counter()
    made = work()
    seconds[name] = time.perf_counter() - began
    return made


def measure(triples: int) -> None:
    entities, drawn = synthetic(triples)
    tokenizer = get_tokenizer("cl100k_base")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds: dict[str, float] = {}
    graph = timed("graph", lambda: triple_graph(entities, drawn), seconds)
    split = timed("components", lambda: stores(graph), seconds)
    found = timed("Leiden", lambda: leiden_communities(graph, split), seconds)
    told = timed("descriptions", lambda: descriptions(graph, tokenizer), seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    kept = int((split["store"] == "main").sum())
    steps = " | ".join(f"{one:.1f}" for one in seconds.values())
    share = told["templated"].sum() / max(len(told), 1)
    print(
        f"| {len(graph.triples):,} | {len(entities):,} | {kept / len(entities):.0%} | "
        f"{len(found.communities):,} | {share:.0%} | {steps} | {sum(seconds.values()):.1f} | "
        f"{before:,.0f} | {peak:,.0f} |",
        flush=True,
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(int(sys.argv[2]))
        return
    print(
        "| triples | entities | main graph | communities | templated | graph s | components s | Leiden s | "
        "descriptions s | all s | MB before | MB peak |",
        flush=True,
    )
    print("|" + " --- |" * 12, flush=True)
    for size in map(int, sys.argv[1:] or SIZES):
        subprocess.run([sys.executable, __file__, "--one", str(size)], check=True)


if __name__ == "__main__":
    main()
