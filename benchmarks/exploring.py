"""What the page asks for, at the sizes of large corpora: seconds, bytes and memory of each read.

A made-up index is written, published and read through ``Explorer``: three relationships and ten mentions to
an entity, communities of 1,000, 100 and 10 members, a report for each. Each read is a process's first, then
the median of five more, then the mean of the seconds for which processors were busy, which other programs on
the machine change less; bytes are those of the answer as JSON, and compressed as over HTTP.

Run: python benchmarks/exploring.py [ENTITIES ...] [--keep FOLDER]      default: 1000 10000 100000
"""

import argparse
import gzip
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from pydantic import TypeAdapter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.apps.explorer.table_pages import Order
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.published_graphs import MadeGraph, community_id, document_id, entity_id, publish_graph

TIMES = 5
Read = Callable[[Explorer], object]


def reads(made: MadeGraph) -> dict[str, Read]:
    middle = entity_id(made.entities // 2)
    return {
        "overview": lambda seen: seen.overview(),
        "communities": lambda seen: seen.communities(),
        "communities, by tokens": lambda seen: seen.communities(measure="tokens"),
        "communities of C2": lambda seen: seen.communities(level=2),
        "community": lambda seen: seen.community(community_id(0, 0)),
        "drawn": lambda seen: seen.drawn(),
        "drawn of C2": lambda seen: seen.drawn(level=2),
        "drawn within": lambda seen: seen.drawn(within=community_id(0, 0)),
        "entity, the most named": lambda seen: seen.entity(entity_id(0)),
        "entity": lambda seen: seen.entity(middle),
        "mentions, the last": lambda seen: seen.mentions(entity_id(0), 500, 50),
        "why an entity": lambda seen: seen.why("entity", middle),
        "why a report": lambda seen: seen.why("report", community_id(0, 0)),
        "document": lambda seen: seen.document(document_id(0)),
        "text": lambda seen: seen.text(document_id(0), cited="30000-30100"),
        "impact": lambda seen: seen.impact(document_id(0)),
        "tables": lambda seen: seen.tables(),
        "table, sorted": lambda seen: seen.table("entities", Order("title", descending=True)),
        "table, filtered": lambda seen: seen.table("relationships", Order(words="person 77")),
        "find": lambda seen: seen.find("person 4711"),
        "find everywhere": lambda seen: seen.find("harbour gale"),
        "CSV": lambda seen: sum(map(len, seen.csv("entities"))),
    }


def measure(entities: int, kept: Path | None) -> None:
    made = MadeGraph(entities)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if kept is None else kept / str(entities)
        os.environ["GRAPHRAG_DAGSTER_HOME"] = str(folder)
        if not (folder / "corpora" / "made").is_dir():
            (folder / "corpora" / "made").mkdir(parents=True)
            publish_graph(made, "made", Warehouse())
        seen = Explorer("made")
        size = seen.snapshots()[0].bytes
        print(f"\n{entities:,} entities, a snapshot of {size / 1e6:,.0f} MB")
        print("| read | first, s | again, s | processor, s | kB | kB compressed |\n|---|---|---|---|---|---|")
        for name, read in reads(made).items():
            _row(name, read, seen)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"peak of the process: {peak:.1f} GB")


def _row(name: str, read: Read, seen: Explorer) -> None:
    seconds, busy = [], time.process_time()
    for _ in range(TIMES + 1):
        begin = time.perf_counter()
        answer = read(seen)
        seconds.append(time.perf_counter() - begin)
    busy = (time.process_time() - busy) / (TIMES + 1)
    told = (
        TypeAdapter(type(answer)).dump_json(answer) if not isinstance(answer, list) else repr(answer).encode()
    )
    small = len(gzip.compress(told, 5))
    times = f"{seconds[0]:.3f} | {median(seconds[1:]):.3f} | {busy:.3f}"
    print(f"| {name} | {times} | {len(told) / 1e3:,.1f} | {small / 1e3:,.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entities", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--keep", type=Path, help="folder that keeps what was made, for the next time")
    asked = parser.parse_args()
    for entities in asked.entities:
        measure(entities, asked.keep)


if __name__ == "__main__":
    main()
