"""Warm against cold starts of the communities after a graph has changed: what stays, how good, how long.

Run: python benchmarks/warm_start.py [edges of the synthetic graph]

Graphs: a synthetic one, and one of the triples that a large model found in 1,890 passages of MuSiQue, where
it is at hand. A change of the first takes random edges, one of the second whole passages. Every start is
compared to the communities before the change: those that keep their id, or exactly their members,
and the share of (node, level) that stays in the community of that id. A cold start has ids of its own; to
compare like with like, its communities are matched to those before by the rule of the warm ones too.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import polars as pl
from leiden import planted

from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.graph.hierarchical_leiden import match_clusters
from graphrag_dagster.systems.graphrag.index.community_detection import CommunityClustering, Start, cluster

TRIPLES = (
    Path(__file__).parents[1]
    / "../shared/data/hipporag/openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json"
)
SEED = 3


def rows(edges: pl.DataFrame) -> pl.DataFrame:
    """Rows of graph.relationships from source, target and weight; repeats are summed."""
    pairs = (
        edges.select(
            source_id=pl.min_horizontal("source", "target"),
            target_id=pl.max_horizontal("source", "target"),
            weight="weight",
        )
        .filter(pl.col("source_id") != pl.col("target_id"))
        .group_by("source_id", "target_id")
        .agg(pl.sum("weight"))
        .sort("source_id", "target_id")
    )
    ids = [stable_id(*pair) for pair in pairs.select("source_id", "target_id").iter_rows()]
    return pairs.with_columns(relationship_id=pl.Series(ids, dtype=pl.String))


def synthetic(edges: int) -> Callable[[float, float], pl.DataFrame]:
    """Parts of a shuffled synthetic graph."""
    graph = planted(edges).sample(fraction=1, shuffle=True, seed=SEED)
    return lambda begin, end: rows(graph[int(begin * len(graph)) : int(end * len(graph))])


def triples(file: Path) -> tuple[int, Callable[[float, float], pl.DataFrame]]:
    """Graphs of the triples of a part of the passages, in shuffled order; and the number of passages."""
    passages = json.loads(file.read_text(encoding="utf-8"))["docs"]
    random.Random(SEED).shuffle(passages)

    def of(begin: float, end: float) -> pl.DataFrame:
        part = passages[int(begin * len(passages)) : int(end * len(passages))]
        found = [
            (stable_id(str(triple[0]).upper()), stable_id(str(triple[2]).upper()), 1.0)
            for passage in part
            for triple in passage["extracted_triples"]
            if len(triple) == 3 and triple[0] and triple[2]
        ]
        return rows(pl.DataFrame(found, schema=["source", "target", "weight"], orient="row"))

    return len(passages), of


def stayed(before: CommunityClustering, after: CommunityClustering) -> tuple[float, float, float]:
    """Shares of communities of the same id, of the same members, and of (node, level) that stayed."""
    old, new = before.hierarchy.members, after.hierarchy.members
    goes_on = match_clusters(new, old)
    renamed = new.with_columns(community_id=pl.col("community_id").replace_strict(goes_on, default=None))
    both = new.join(old.select("entity_id", "level"), on=["entity_id", "level"])
    exact = {tuple(row) for row in members(old).rows()} & {tuple(row) for row in members(new).rows()}
    communities = after.hierarchy.communities.height
    nodes = renamed.join(old, on=["community_id", "entity_id"]).height
    return len(goes_on) / communities, len(exact) / communities, nodes / max(both.height, 1)


def members(frame: pl.DataFrame) -> pl.DataFrame:
    """Level and members of each community, as text."""
    return (
        frame.sort("entity_id")
        .group_by("community_id", "level", maintain_order=True)
        .agg(pl.col("entity_id").str.join(" "))
        .select("level", "entity_id")
    )


def compare(name: str, before: pl.DataFrame, after: pl.DataFrame) -> None:
    """Print a line per way of starting."""
    base, _ = cluster(before, None)
    for start in get_args(Start):
        began = time.perf_counter()
        made, begun = cluster(after, base, start=start, drift=1.0)
        seconds = time.perf_counter() - began
        ids, exact, nodes = stayed(base, made)
        quality, changed = made.state.item(0, "modularity"), made.state.item(0, "changed")
        print(
            f"{name:14} {begun.how:5} edges {len(after):>9,} changed {changed:6.1%}  communities "
            f"{made.hierarchy.communities.height:>7,}  id stays {ids:6.1%}  members stay {exact:6.1%}  "
            f"nodes stay {nodes:6.1%}  modularity {quality:.4f}  {seconds:6.1f} s",
            flush=True,
        )


def study(name: str, part: Callable[[float, float], pl.DataFrame]) -> None:
    """Compare after one percent more, ten percent more and one percent less."""
    print(name)
    compare("+1 %", part(0, 0.99), part(0, 1))
    compare("+10 %", part(0, 1 / 1.1), part(0, 1))
    compare("-1 %", part(0, 1), part(0, 0.99))


def main() -> None:
    edges = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    study(f"synthetic graph of {edges:,} edges", synthetic(edges))
    if TRIPLES.is_file():
        passages, part = triples(TRIPLES)
        study(f"triples of {passages:,} passages", part)


if __name__ == "__main__":
    main()
