"""Is what the paper reports of context nodes more than what its measures give anything? On real graphs.

    python benchmarks/context_quality.py [--graphs NAME …] [--parts NAME …] [--home FOLDER]

Cross-cluster similarity and Precision@5 in the paper's form (.1784 → .2006; .882 → .959 on some hundred
nodes), beside as many random nodes and as many random misaligned ones, 30 draws each. *Normalised*: the gain
over random nodes as a share of what there was to gain. Brackets: 95 %, over draws for controls, else by
bootstrap. Parts:

    levels       default settings, vectors of texts, every level
    prediction   40 to 60 communities of the largest component, text and structure side by side, where the
                 paper expects a gain of .10 to .15
    embeddings   what is compared, on those communities
    budget       alpha, and whether a node counts in its own community, on those communities
    thinned      edges drawn at random, communities found anew (C0), what is unreachable dropped or far

Graphs: an index of the podcasts without a model (kept in --home), two indexes made by GPT, the triples of
MuSiQue by GPT-3.5, WikiMovies; the last two have names and no descriptions. Node2Vec is left out beyond
5,000 nodes.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from context_graphs import GRAPHS, Graph, load
from measuring import table

from graphrag_dagster.systems.context_leiden.index.context_node_selection import build_context
from graphrag_dagster.systems.context_leiden.index.node_embeddings import NodeVectors, node_vectors
from graphrag_dagster.systems.context_leiden.settings import ContextSettings
from graphrag_dagster.systems.context_leiden.studies.context_metrics import measure_context

HEADER = (
    "graph",
    "variant",
    "nodes in communities",
    "misaligned / unreachable / taken",
    "cross: context / Leiden / random / misaligned",
    "P@5: Leiden → context",
    "random",
    "misaligned",
    "context − random",
    "normalised",
    "own set",
    "nearest to mean: Leiden → context, own mean",
)
NODE2VEC_UP_TO = 5_000


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


class Measured:
    """The measures of a level, by measure and reading."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._rows = {(row["measure"], row["reading"]): row for row in frame.iter_rows(named=True)}

    def plain(self, measure: str, reading: str) -> str:
        return number(self._rows[measure, reading]["value"])

    def ranged(self, measure: str, reading: str) -> str:
        row = self._rows[measure, reading]
        if row["low"] is None:
            return number(row["value"])
        return f"{number(row['value'])} ({number(row['low'])}–{number(row['high'])})"


def rows(
    graph: Graph, levels: pl.DataFrame, vectors: NodeVectors, options: ContextSettings, variant: str
) -> Iterator[list[str]]:
    """A row for each level that differs from the one before."""
    found = build_context(graph.relationships, levels, vectors, options)
    measured = measure_context(found.candidates, levels, vectors)
    before = None
    for account in found.account.iter_rows(named=True):
        level = account.pop("level")
        if account == before:
            continue
        before = account
        of = Measured(measured.filter(level=level))
        cross, near, mean = "cross_similarity", "precision_at_5", "mean_precision_at_5"
        means = " → ".join(of.plain(mean, reading) for reading in ("plain", "context"))
        similar = ("context", "leiden", "random", "random_misaligned")
        yield [
            graph.name,
            variant.format(level=level),
            f"{account['nodes']:,} in {account['communities']:,}",
            f"{account['misaligned']:,} / {account['unreachable']:,} / {account['taken']:,}",
            " / ".join(of.plain(cross, reading) for reading in similar),
            " → ".join(of.plain(near, reading) for reading in ("plain", "context")),
            of.plain(near, "random"),
            of.ranged(near, "random_misaligned"),
            of.ranged(near, "context_minus_random"),
            of.plain(near, "size_normalised"),
            of.plain("precision_at_5_own_set", "context"),
            f"{means}, {of.plain(mean, 'context_own_mean')}",
        ]


@dataclass(frozen=True)
class Case:
    """A graph and the vectors of its texts."""

    graph: Graph
    text: pl.DataFrame

    def vectors(self, embedding: Any, of: Graph | None = None) -> NodeVectors:
        network = (of or self.graph).network
        return node_vectors(embedding, network.names, self.text, network)

    def flat(self) -> Iterator[tuple[str, pl.DataFrame]]:
        if (found := self.graph.flat(40, 60)) is None:
            print(f"{self.graph.name}: no resolution gives 40 to 60 communities\n")
        else:
            yield f"resolution {found[0]:.2g}", found[1]


def by_level(case: Case) -> Iterator[list[str]]:
    yield from rows(case.graph, case.graph.levels(), case.vectors("text"), ContextSettings(), "C{level}")


def prediction(case: Case) -> Iterator[list[str]]:
    for where, levels in case.flat():
        yield from rows(case.graph, levels, case.vectors("concat"), ContextSettings(), f"concat, {where}")


def embeddings(case: Case) -> Iterator[list[str]]:
    small = len(case.graph.network.names) <= NODE2VEC_UP_TO
    for where, levels in case.flat():
        for embedding in ("text", "spectral", *(["node2vec"] if small else []), "concat", "mean"):
            vectors = case.vectors(embedding)
            yield from rows(case.graph, levels, vectors, ContextSettings(), f"{embedding}, {where}")


def budget(case: Case) -> Iterator[list[str]]:
    vectors = case.vectors("text")
    for _, levels in case.flat():
        for alpha in (0.5, 1.0, 2.0, 4.0):
            for include_self, itself in ((True, "counted"), (False, "left out")):
                options = ContextSettings(alpha=alpha, lambda_max=40, include_self=include_self)
                yield from rows(case.graph, levels, vectors, options, f"alpha {alpha}, itself {itself}")


def thinned(case: Case) -> Iterator[list[str]]:
    for share in (1.0, 0.5, 0.25, 0.1):
        fewer = case.graph.thinned(share)
        levels, vectors = fewer.levels().filter(level=0), case.vectors("text", fewer)
        for unreachable in ("drop", "far"):
            options = ContextSettings(unreachable=unreachable)
            yield from rows(fewer, levels, vectors, options, f"{share:.0%}, {unreachable}")


PARTS: Mapping[str, Callable[[Case], Iterator[list[str]]]] = {
    "levels": by_level,
    "prediction": prediction,
    "embeddings": embeddings,
    "budget": budget,
    "thinned": thinned,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--graphs", nargs="*", choices=GRAPHS, default=GRAPHS)
    parser.add_argument("--parts", nargs="*", choices=tuple(PARTS), default=tuple(PARTS))
    parser.add_argument("--home", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        graphs = [load(name, asked.home or Path(made)) for name in asked.graphs]
        cases = [Case(graph, graph.text_rows()) for graph in graphs]
        for part in asked.parts:
            print(f"\n### {part}\n")
            for case in cases:
                begin = time.monotonic()
                table(HEADER, PARTS[part](case))
                print(f"\n{time.monotonic() - begin:.0f} s, load {os.getloadavg()[0]:.1f}\n", flush=True)


if __name__ == "__main__":
    main()
