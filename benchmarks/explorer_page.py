"""The explorer in a real browser: seconds until something is shown and the graph is drawn, bytes, memory.

Made-up indexes are published and served, with three relationships and ten mentions to an entity; Chromium
opens the map with an empty cache, then one community. `first` is when the communities are drawn, `graph` when
the graph is; both from the call of the address. Bytes are those that came over the line before any data, and
of the data. Memory is what the tab's scripts hold after a collection.

Run: python benchmarks/explorer_page.py [ENTITIES ...] [--keep FOLDER]      default: 1000 10000 100000
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.browsing import launched_browser, served_home
from support.published_graphs import MadeGraph, community_id, publish_graph

TIMES = 5
_CELL, _DRAWN = ".treemap-cell", ".graph-told:not(:empty)"


def made_home(entities: int, folder: Path) -> Path:
    os.environ["GRAPHRAG_DAGSTER_HOME"] = str(folder)
    if not (folder / "corpora" / "made").is_dir():
        (folder / "corpora" / "made").mkdir(parents=True)
        publish_graph(MadeGraph(entities), "made", Warehouse())
    return folder


def opened(browser: Any, address: str) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    line = context.new_cdp_session(page)
    line.send("Network.enable")
    line.send("Performance.enable")
    sizes: dict[str, float] = {}
    names: dict[str, str] = {}
    line.on(
        "Network.responseReceived", lambda told: names.update({told["requestId"]: told["response"]["url"]})
    )
    line.on(
        "Network.loadingFinished", lambda told: sizes.update({told["requestId"]: told["encodedDataLength"]})
    )
    begun = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_selector(_CELL)
    first = time.perf_counter() - begun
    page.wait_for_selector(_DRAWN)
    graph = time.perf_counter() - begun
    page.wait_for_timeout(500)
    line.send("HeapProfiler.collectGarbage")
    metrics = {one["name"]: one["value"] for one in line.send("Performance.getMetrics")["metrics"]}
    data = sum(size for key, size in sizes.items() if "/corpora" in names.get(key, ""))
    context.close()
    return {
        "first": first,
        "graph": graph,
        "page": (sum(sizes.values()) - data) / 1e3,
        "data": data / 1e3,
        "heap": metrics["JSHeapUsedSize"] / 1e6,
    }


def measure(entities: int, kept: Path | None) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        home = made_home(entities, Path(temporary) if kept is None else kept / str(entities))
        with served_home(home) as url, launched_browser() as browser:
            for name, address in (
                ("map", f"{url}/#/made/map"),
                ("one community", f"{url}/#/made/map?within={community_id(0, 0)}"),
            ):
                found = [opened(browser, address) for _ in range(TIMES + 1)]
                later = {key: median(one[key] for one in found[1:]) for key in found[0]}
                times = f"{found[0]['first']:.2f} | {later['first']:.2f} | {later['graph']:.2f}"
                sizes = f"{later['page']:.0f} | {later['data']:.0f} | {later['heap']:.0f}"
                print(f"| {entities:,}, {name} | {times} | {sizes} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entities", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--keep", type=Path, help="folder that keeps what was made, for the next time")
    asked = parser.parse_args()
    print(
        "| entities | first at all, s | first, s | graph, s | kB before data | kB of data | MB of scripts |"
    )
    print("|---|---|---|---|---|---|---|")
    for entities in asked.entities:
        measure(entities, asked.keep)


if __name__ == "__main__":
    main()
