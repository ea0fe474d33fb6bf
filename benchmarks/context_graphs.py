"""Real graphs for ``context_quality.py``: edges, and what is said of each node."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from episodes import episodes
from measuring import DATA, Corpus

from graphrag_dagster.kernel.graph.hierarchical_leiden import hierarchical_communities, levels
from graphrag_dagster.kernel.graph.native_leiden import LeidenOptions
from graphrag_dagster.kernel.graph.undirected_graph import Network, network
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.tasks.embedded_rows import embed_rows

OPENIE = "openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json"


@dataclass(frozen=True)
class Graph:
    """Edges as in ``graph.relationships``; of each node what is embedded."""

    name: str
    relationships: pl.DataFrame
    texts: Mapping[str, str]

    @property
    def network(self) -> Network:
        return network(edges(self.relationships))

    def text_rows(self) -> pl.DataFrame:
        """Rows of ``embeddings.entities`` by the static embedder that the package carries."""
        ids = sorted(set(self.network.names))
        texts = pl.Series([self.texts.get(one, one) for one in ids])
        return embed_rows(pl.Series("entity_id", ids), texts, StaticEmbedder())

    def thinned(self, share: float) -> "Graph":
        """Return the graph with a share of its edges, drawn at random."""
        kept = np.random.default_rng(7).random(len(self.relationships)) < share
        return Graph(self.name, self.relationships.filter(pl.Series(kept)), self.texts)

    def levels(self) -> pl.DataFrame:
        """Communities as an index has them by default."""
        found = hierarchical_communities(edges(self.relationships))
        return levels(found.communities, found.members)

    def flat(self, fewest: int, most: int) -> tuple[float, pl.DataFrame] | None:
        """Return a resolution and the communities of the largest component, as many as asked for.

        None where they would have less than five members on average.
        """
        if len(self.network.names) < 5 * most:
            return None
        low, high = 1e-3, 1e3
        for _ in range(25):
            resolution = float(np.sqrt(low * high))
            options = LeidenOptions(max_cluster_size=10**9, resolution=resolution)
            found = hierarchical_communities(edges(self.relationships), options, profile="paper")
            rows = found.members.filter(level=0)
            count = rows["community_id"].n_unique()
            if fewest <= count <= most:
                return resolution, rows.select("level", "entity_id", "community_id")
            low, high = (resolution, high) if count < fewest else (low, resolution)
        return None


def edges(relationships: pl.DataFrame) -> pl.DataFrame:
    return relationships.select("weight", source="source_id", target="target_id")


def load(name: str, home: Path) -> Graph:
    return _LOADED[name](home)


def _of_triples(name: str, triples: Iterable[tuple[str, str]]) -> Graph:
    """Names without case are nodes, how often two stand together is the weight; there is no more to embed."""
    pairs = [(one.strip().lower(), other.strip().lower()) for one, other in triples]
    rows = pl.DataFrame([pair for pair in pairs if all(pair)], ["source_id", "target_id"], orient="row")
    return Graph(name, rows.with_columns(weight=pl.lit(1.0)), {})


def _podcast(home: Path) -> Graph:
    index = Corpus(home, "podcast", episodes()).index.searcher.index
    said = index.entities.select("entity_id", said=pl.format("{}: {}", "title", "description")).rows()
    return Graph("podcast", index.relationships.select("source_id", "target_id", "weight"), dict(said))


def _microsoft(name: str) -> Callable[[Path], Graph]:
    def read(_: Path) -> Graph:
        folder = DATA / "msft_graphrag" / name
        nodes = pl.read_parquet(folder / "entities.parquet")
        rows = pl.read_parquet(folder / "relationships.parquet")
        said = nodes.select("title", said=pl.format("{}: {}", "title", "description")).rows()
        return Graph(name, rows.select(source_id="source", target_id="target", weight="weight"), dict(said))

    return read


def _musique(_: Path) -> Graph:
    read = json.loads((DATA / "hipporag" / OPENIE).read_text(encoding="utf-8"))
    triples = [triple for passage in read["docs"] for triple in passage["extracted_triples"]]
    return _of_triples("musique", [(one[0], one[2]) for one in triples if len(one) == 3])


def _movies(_: Path) -> Graph:
    lines = (DATA / "metaqa" / "kb.txt").read_text(encoding="utf-8").splitlines()
    return _of_triples("movies", [(one, other) for one, _, other in (line.split("|") for line in lines)])


_LOADED: Mapping[str, Callable[[Path], Graph]] = {
    "operation_dulce": _microsoft("operation_dulce"),
    "verbs_data": _microsoft("verbs_data"),
    "podcast": _podcast,
    "musique": _musique,
    "movies": _movies,
}
GRAPHS = tuple(_LOADED)
