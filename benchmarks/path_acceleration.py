"""What an acceleration of PageRank costs in recall: the paper's Tables 5 and 6, in their form.

    python benchmarks/path_acceleration.py FOLDER [--graph movies] [--questions 100] [--methods exact push …]
        [--processes]

``movies``: WikiMovies and MetaQA's development questions, so many of each number of hops, in an order drawn
by ``--seed``, each with a seed that no earlier one has; recall and F1 are of gold answers among the nodes.
``synthetic``: a graph by chance with 1 million nodes and 10 million edges (``--edges``), one seed a question;
there recall and F1 are of the nodes that exact PageRank keeps, which is no answer to anything. All keep at
most 2,000 nodes, but for vectors, whose size is what their own options make it. *Before* is what is made once
for a graph; *a question* is a mean, of wall clock and of processors. Edges are followed in both directions.

``--processes`` measures exact PageRank of all questions with one process, then two.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from measuring import table
from metaqa_runs import asked, made_store
from path_graphs import made_power_law

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.systems.lego.retrieval.scorer_registry import scorer_of
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery, Subgraph
from graphrag_dagster.systems.lego.studies.answer_metrics import (
    Answers,
    NormalisedLabels,
    harmonic_mean,
    subgraph_scores,
)
from graphrag_dagster.systems.lego.subgraphs.community_partition import CommunityTexts, partition_of
from graphrag_dagster.systems.lego.subgraphs.personalized_pagerank import PageRanks
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import (
    label_vectors,
    largest_places,
    triple_vectors,
)
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import adjacency_of

BASE = PathOptions(direction="both", max_ent=2000)
#: Nodes of the highest degree whose labels stand for the report of a community.
NAMED = 20
METHODS: dict[str, PathOptions] = {
    "exact": BASE,
    "push 1e-5": replace(BASE, extraction="push", rmax=1e-5),
    "push 1e-6": replace(BASE, extraction="push", rmax=1e-6),
    "push 1e-7": replace(BASE, extraction="push", rmax=1e-7),
    "FORA": replace(BASE, extraction="fora"),
    "RBS 1e-4": replace(BASE, extraction="rbs", rmax=1e-4),
    "RBS 1e-5": replace(BASE, extraction="rbs", rmax=1e-5),
    "partition, by seed": replace(BASE, extraction="partition"),
    "partition, by text": replace(BASE, extraction="partition", partitions="report"),
    "node vectors, 1 hop": replace(BASE, extraction="node_vectors"),
    "node vectors, 2 hops": replace(BASE, extraction="node_vectors", vector_hops=2),
    "triple vectors, 256": replace(BASE, extraction="triple_vectors"),
    "triple vectors, 2000": replace(BASE, extraction="triple_vectors", max_triples=2000),
}


@dataclass(frozen=True)
class Asked:
    """A question, and how good a subgraph is for it: recall and F1."""

    query: PathQuery
    scored: Callable[[Subgraph], tuple[float, float]]


class Prepared:
    """What is made once for a graph, with the seconds that it took."""

    def __init__(self, store: PathStore) -> None:
        self.store = store
        self.embedder = CorpusEmbedder(StaticEmbedder())
        self.scorer = scorer_of("static", relation_words=True)

    @cached_property
    def adjacency(self) -> tuple[Any, float]:
        return _timed(lambda: adjacency_of(self.store, "both"))

    @cached_property
    def partition(self) -> tuple[Any, float]:
        return _timed(lambda: partition_of(self.store))

    @cached_property
    def reports(self) -> tuple[Any, float]:
        return _timed(self._reports)

    @cached_property
    def labels(self) -> tuple[Any, float]:
        return _timed(lambda: label_vectors(self.store, self.embedder, "float16"))

    @cached_property
    def triples(self) -> tuple[Any, float]:
        return _timed(lambda: triple_vectors(self.store, self.embedder, "float16"))

    def extractor(self, options: PathOptions) -> tuple[Any, float]:
        """Return an extraction, and the seconds before it can be asked."""
        made: dict[str, tuple[Any, float]] = {}
        if options.extraction == "partition":
            made["partition"] = self.partition
            if options.partitions == "report":
                made["reports"] = self.reports
        elif options.extraction == "node_vectors":
            made["vectors"] = self.labels
        elif options.extraction == "triple_vectors":
            made["vectors"] = self.triples
        else:
            made["adjacency"] = self.adjacency
        seconds = sum(one for _, one in made.values())
        given = {name: thing for name, (thing, _) in made.items() if name != "adjacency"}
        found = extractor_of(options, self.store, scorer=self.scorer, embedder=self.embedder, **given)
        return found, seconds

    def _reports(self) -> CommunityTexts:
        partition, _ = self.partition
        degrees = self.store.degrees("both")
        texts = {}
        for community in range(partition.communities):
            members = partition.members(np.array([community]))
            known = members[np.argsort(-degrees[members], kind="stable")[:NAMED]]
            texts[community] = ", ".join(self.store.label(node) for node in known)
        return CommunityTexts.of(texts, self.embedder)


def movies(store: PathStore, most: int, seed: int) -> list[Asked]:
    labels = list(store.labels)
    nodes = {labels[label]: node for node, label in enumerate(store.label_of.tolist())}
    normal = NormalisedLabels(store)
    found: list[Asked] = []
    seen: set[tuple[int, ...]] = set()
    count = dict.fromkeys((1, 2, 3), 0)
    for one in asked(seed=seed):
        seeds = tuple(nodes[label] for label in one.entities)
        if seeds in seen or count[one.hops] >= most:
            continue
        seen.add(seeds)
        count[one.hops] += 1
        found.append(Asked(PathQuery(one.text, seeds), _by_answers(Answers.of(one.answers), normal)))
    return found


def synthetic(store: PathStore, most: int, seed: int) -> list[Asked]:
    seeds = np.random.default_rng(seed).choice(store.nodes, most, replace=False).tolist()
    ranks = PageRanks(adjacency_of(store, "both"))
    found = []
    for one in seeds:
        kept = largest_places(ranks.ranks((one,)), BASE.max_ent, (one,))
        question = f"what is {store.label(one)} related to"
        found.append(Asked(PathQuery(question, (one,)), _by_nodes(kept)))
    return found


def measured(prepared: Prepared, name: str, questions: Sequence[Asked]) -> list[str]:
    options = METHODS[name]
    try:
        extractor, before = prepared.extractor(options)
    except GraphragError as error:
        return [name, "refused", str(error), *[""] * 6]
    told: dict[str, list[float]] = {
        key: [] for key in ("seconds", "own", "recall", "f1", "components", "nodes")
    }
    for one in questions:
        if options.extraction == "ppr":
            # What was asked before is cached, and this is about what is not.
            ranks = PageRanks(prepared.adjacency[0])
            begun, own = time.perf_counter(), time.process_time()
            nodes = largest_places(ranks.ranks(one.query.seeds), options.max_ent, one.query.seeds)
            subgraph = Subgraph.of_nodes(prepared.store, nodes, one.query.seeds)
        else:
            begun, own = time.perf_counter(), time.process_time()
            subgraph = extractor.extract(one.query).subgraph
        told["seconds"].append(time.perf_counter() - begun)
        told["own"].append(time.process_time() - own)
        recall, f1 = one.scored(subgraph)
        told["recall"].append(recall)
        told["f1"].append(f1)
        told["components"].append(subgraph.components)
        told["nodes"].append(len(subgraph.nodes))
    means = {key: statistics.fmean(values) for key, values in told.items()}
    return [
        *(name, f"{before:.1f} s", f"{means['seconds'] * 1000:,.1f} ms", f"{means['own'] * 1000:,.1f} ms"),
        *(
            f"{means['recall']:.3f}",
            f"{means['f1']:.4f}",
            f"{means['components']:.1f}",
            f"{means['nodes']:,.0f}",
            str(len(questions)),
        ),
    ]


def _by_answers(gold: Answers, labels: NormalisedLabels) -> Callable[[Subgraph], tuple[float, float]]:
    def scored(subgraph: Subgraph) -> tuple[float, float]:
        found = subgraph_scores(subgraph, gold, labels)
        return found["subgraph_recall"] or 0.0, found["subgraph_f1"] or 0.0

    return scored


def _by_nodes(kept: Any) -> Callable[[Subgraph], tuple[float, float]]:
    def scored(subgraph: Subgraph) -> tuple[float, float]:
        shared = len(np.intersect1d(kept, subgraph.nodes))
        recall = shared / len(kept)
        return recall, harmonic_mean(shared / len(subgraph.nodes), recall)

    return scored


def _timed(made: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    return made(), time.perf_counter() - begun


def _solve(task: tuple[Path, list[tuple[int, ...]]]) -> None:
    place, seeds = task
    ranks = PageRanks(adjacency_of(PathStore.open(place), "both"))
    for one in seeds:
        ranks.ranks(one)


def speed_up(place: Path, questions: Sequence[Asked]) -> None:
    seeds = [one.query.seeds for one in questions]
    rows = []
    for processes in (1, 2):
        with get_context("spawn").Pool(processes) as pool:
            pool.map(_solve, [(place, [])] * processes)
            begun = time.perf_counter()
            pool.map(_solve, [(place, seeds[part::processes]) for part in range(processes)])
            rows.append([str(processes), f"{time.perf_counter() - begun:.2f} s"])
    table(("processes", f"exact PageRank of {len(seeds)} questions"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graph", choices=("movies", "synthetic"), default="movies")
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--questions", type=int, default=100, help="of each number of hops; default: 100")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--processes", action="store_true")
    given = parser.parse_args()
    if given.graph == "movies":
        place = made_store(given.folder)
        store = PathStore.open(place)
        questions = movies(store, given.questions, given.seed)
    else:
        place = made_power_law(given.folder, given.edges)
        store = PathStore.open(place)
        questions = synthetic(store, given.questions, given.seed)
    if given.processes:
        speed_up(place, questions)
        return
    prepared = Prepared(store)
    header = (
        "method",
        "before",
        "a question",
        "of it processor",
        "recall",
        "F1",
        "WCC",
        "nodes",
        "questions",
    )
    table(header, (measured(prepared, name, questions) for name in given.methods))


if __name__ == "__main__":
    main()
