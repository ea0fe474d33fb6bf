"""Personalised PageRank beside igraph, SciPy and fast-pagerank, and how long questions to a graph take.

    python benchmarks/paths.py FOLDER [--edges 1000000 3000000 10000000] [--parts ppr instance isar]

``ppr``: synthetic graphs (:mod:`path_graphs`), edges in both directions, each system in a process of its own;
its peak memory is that of the process, mapped arrays included. *Bare* is the sparse products alone that the
solution takes. ``instance``: instance 12 with static vectors on WikiMovies, MetaQA's development
questions one by one; ``isar``: instance 14, beam 8, 4 hops. Graphs are kept in FOLDER.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from path_graphs import made_power_law

from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.systems.lego.retrieval.path_retrievers import retriever_of
from graphrag_dagster.systems.lego.retrieval.scorer_registry import scorer_of
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions, instance
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery
from graphrag_dagster.systems.lego.subgraphs.personalized_pagerank import PageRanks
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import WalkProducts, adjacency_of

#: Seeds of one vector each, drawn once; the second time a system is asked is what counts.
SEEDS = 3
TOLERANCE = 1e-8


class _Counted(WalkProducts):
    """Products that know how often they were made."""

    rounds = 0

    def step(self, shares: Any) -> Any:
        object.__setattr__(self, "rounds", self.rounds + 1)
        return super().step(shares)


def ours(store: PathStore, seeds: Iterable[int]) -> dict[str, Any]:
    adjacency = adjacency_of(store, "both")
    made = adjacency.products
    counted = _Counted(made.order, made.part, made.into, made.out)
    adjacency.__dict__["products"] = counted
    PageRanks(adjacency).ranks((0,))
    begun, before = time.perf_counter(), counted.rounds
    for seed in seeds:
        PageRanks(adjacency).ranks((int(seed),))
    seconds = (time.perf_counter() - begun) / SEEDS
    rounds = (counted.rounds - before) / SEEDS
    mass = np.random.default_rng(0).random(store.nodes)
    begun = time.perf_counter()
    for _ in range(20):
        for matrix in (counted.into, counted.out):
            _ = matrix @ mass
    bare = (time.perf_counter() - begun) / 20 * rounds
    return {"seconds": seconds, "rounds": rounds, "bare": bare}


def scipys(store: PathStore, seeds: Iterable[int]) -> dict[str, Any]:
    """Power iteration on one matrix of both directions, as it is written in few lines."""
    from scipy.sparse import csr_array

    ends = np.concatenate([store.heads, store.tails]), np.concatenate([store.tails, store.heads])
    degrees = np.maximum(np.bincount(ends[0], minlength=store.nodes), 1)
    shape = (store.nodes, store.nodes)
    walk = csr_array((1 / degrees[ends[0]], (ends[1], ends[0])), shape=shape)
    begun, rounds = time.perf_counter(), 0
    for seed in seeds:
        reset = np.zeros(store.nodes)
        reset[seed] = 1
        ranks, change = reset, 1.0
        while change > TOLERANCE:
            image = 0.2 * reset + 0.8 * (walk @ ranks)
            image += (1 - image.sum()) * reset
            change, ranks, rounds = np.abs(image - ranks).sum(), image, rounds + 1
    return {"seconds": (time.perf_counter() - begun) / SEEDS, "rounds": rounds / SEEDS}


def igraphs(store: PathStore, seeds: Iterable[int]) -> dict[str, Any]:
    import igraph

    graph = igraph.Graph(store.nodes, np.stack([store.heads, store.tails], axis=1), directed=False)
    begun = time.perf_counter()
    for seed in seeds:
        graph.personalized_pagerank(implementation="prpack", damping=0.8, reset_vertices=[int(seed)])
    return {"seconds": (time.perf_counter() - begun) / SEEDS}


def fast_pageranks(store: PathStore, seeds: Iterable[int]) -> dict[str, Any]:
    from fast_pagerank import pagerank_power
    from scipy.sparse import csr_matrix

    ends = np.concatenate([store.heads, store.tails]), np.concatenate([store.tails, store.heads])
    adjacency = csr_matrix((np.ones(len(ends[0])), ends), shape=(store.nodes, store.nodes))
    begun = time.perf_counter()
    for seed in seeds:
        reset = np.zeros(store.nodes)
        reset[seed] = 1
        pagerank_power(adjacency, p=0.8, personalize=reset, tol=TOLERANCE, max_iter=200)
    return {"seconds": (time.perf_counter() - begun) / SEEDS}


SYSTEMS: dict[str, Callable[[PathStore, Iterable[int]], dict[str, Any]]] = {
    "ours": ours,
    "SciPy, power iteration": scipys,
    "igraph, prpack": igraphs,
    "fast-pagerank, power": fast_pageranks,
}


def peak_memory() -> float:
    """Return the most megabytes that this program held; not, as by ``getrusage``, what started it held."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def child(place: Path, system: str) -> None:
    begun = time.perf_counter()
    store = PathStore.open(place)
    opened = time.perf_counter() - begun
    seeds = np.random.default_rng(1).integers(store.nodes, size=SEEDS)
    begun = time.perf_counter()
    told = SYSTEMS[system](store, seeds)
    whole = time.perf_counter() - begun
    print(json.dumps({**told, "opened": opened, "whole": whole, "peak": peak_memory()}))


def ppr(folder: Path, sizes: Iterable[int]) -> None:
    from measuring import table

    rows = []
    for size in sizes:
        place = made_power_law(folder, size)
        for system in SYSTEMS:
            command = [sys.executable, __file__, str(place), "--child", system]
            told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            bare = told.get("bare")
            rows.append(
                [
                    *(f"{size:,}", system, f"{told['opened'] * 1000:.0f} ms", f"{told['seconds']:.2f} s"),
                    f"{told['rounds']:.0f}" if "rounds" in told else "",
                    f"{bare:.2f} s = 1 : {told['seconds'] / bare:.2f}" if bare else "",
                    *(f"{told['whole']:.1f} s", f"{told['peak']:,.0f} MB"),
                ]
            )
    table(("edges", "", "opened", "a vector", "rounds", "bare", "with making", "peak memory"), rows)


def by_questions(folder: Path, number: int, *, whole: bool) -> None:
    """Instance 12, whose paths are ranked as wholes, or instance 14, whose grow in a beam."""
    from measuring import table
    from metaqa_runs import asked, made_store

    store = PathStore.open(made_store(folder))
    labels = list(store.labels)
    nodes = {labels[label]: node for node, label in enumerate(store.label_of.tolist())}
    options = instance("12" if whole else "14").options(PathOptions())
    scorer = scorer_of("static", relation_words=True)
    extractor = extractor_of(options, store, scorer=scorer)
    retriever = retriever_of(options, store, scorer=scorer)
    rows = []
    every = asked()
    warm = PathQuery("what films did he act in", (0,))
    retriever.retrieve(warm, extractor.extract(warm).subgraph)
    for hops in (1, 2, 3):
        questions = [one for one in every if one.hops == hops][:number]
        took: dict[str, list[float]] = {"subgraph": [], "paths": [], "both": []}
        processor = []
        for one in questions:
            query = PathQuery(one.text, tuple(nodes[label] for label in one.entities))
            begun, used = time.perf_counter(), time.process_time()
            found = extractor.extract(query)
            between = time.perf_counter()
            retriever.retrieve(query, found.subgraph)
            ended = time.perf_counter()
            processor.append((time.process_time() - used) * 1000)
            for name, value in zip(took, (between - begun, ended - between, ended - begun), strict=True):
                took[name].append(value * 1000)
        medians = [f"{statistics.median(values):.1f} ms" for values in took.values()]
        ninetieth = f"{statistics.quantiles(took['both'], n=10)[-1]:.1f} ms"
        rate = f"{1000 * len(questions) / sum(took['both']):.1f}"
        own = f"{statistics.median(processor):.1f} ms"
        rows.append([str(hops), str(len(questions)), *medians, own, ninetieth, rate])
    header = ("hops", "questions", "subgraph", "paths", "both, median", "of it processor", "90 %", "a second")
    table(header, rows)
    print(f"peak memory {peak_memory():,.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edges", type=int, nargs="*", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument(
        "--parts", nargs="*", choices=("ppr", "instance", "isar"), default=("ppr", "instance", "isar")
    )
    parser.add_argument("--questions", type=int, default=200, help="of each number of hops; default: 200")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.folder, given.child)
        return
    if "ppr" in given.parts:
        ppr(given.folder, given.edges)
    for part in ("instance", "isar"):
        if part in given.parts:
            print(part)
            by_questions(given.folder, given.questions, whole=part == "instance")


if __name__ == "__main__":
    main()
