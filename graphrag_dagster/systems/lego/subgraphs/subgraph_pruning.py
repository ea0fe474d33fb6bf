"""Pruning of a subgraph by relevance to the question: SAE-EEMs and SAE-LLMs (paper, Table 1)."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import numpy as np

from graphrag_dagster.kernel.graph.adjacency_arrays import Longs, PathStore
from graphrag_dagster.kernel.graph.graph_labels import Places, VerbalizedRows, first_by_score
from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions
from graphrag_dagster.systems.lego.search.reasoning_paths import ModuleUse, PathQuery, Subgraph
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import ExtractedSubgraph, SubgraphExtractor
from graphrag_dagster.systems.lego.tasks import PathSelector

#: What is ranked, and kept or not.
PrunedLevel: TypeAlias = Literal["node", "relation", "triple"]


class PrunedSubgraphs(SubgraphExtractor):
    """Subgraphs of another extraction, with only what fits the question.

    Units are the labels of nodes, the relation types or the texts of triples; a label that several nodes
    have, or a text that several triples have, is one unit. The best by a scorer are kept (SAE-EEMs), or
    those of them that a selector takes in one go (SAE-LLMs); seeds are always kept. Where a selector takes
    none, they alone are left, which is counted as :attr:`~.use.ModuleUse.empty`.

    Args:
        base: gives the subgraph.
        scorer: ranks the units. Without a selector it is not asked where all units are kept anyhow.
        level: what the units are.
        window: units that are kept, or shown to the selector.
        selector: selects among those; None: all are kept.
    """

    def __init__(
        self,
        base: SubgraphExtractor,
        scorer: PathScorer,
        level: PrunedLevel,
        window: int,
        selector: PathSelector | None = None,
    ) -> None:
        self._base, self._scorer, self._selector = base, scorer, selector
        self._level, self._window = level, window

    def extract(self, query: PathQuery) -> ExtractedSubgraph:
        """Return the pruned subgraph of a question."""
        found = self._base.extract(query)
        units = _units(self._level, found.subgraph)
        if not len(units) or (self._selector is None and len(units) <= self._window):
            return found
        scores = self._scorer.scores(query.question, units)
        use = ModuleUse(scored=len(units), scored_tokens=self._scorer.tokens(units))
        kept = first_by_score(scores, units, self._window)
        if self._selector is not None:
            kept, asked = self._select(self._selector, query.question, units.at(kept), kept)
            use += asked
        return ExtractedSubgraph(
            _subgraph_of_units(self._level, found.subgraph, units.at(kept)), found.use + use
        )

    def prepare(self, queries: Iterable[PathQuery]) -> None:
        """Find out beforehand what subgraphs before pruning share."""
        self._base.prepare(queries)

    def _select(
        self, selector: PathSelector, question: str, shown: VerbalizedRows, kept: Places
    ) -> tuple[Places, ModuleUse]:
        selection = selector.select(self._level, question, shown, len(shown))
        problems = (selection.problem,) if selection.problem else ()
        use = ModuleUse(usage=selection.usage, empty=int(not len(selection.places)), problems=problems)
        return kept[np.asarray(selection.places, dtype=np.int64)], use


def pruned_level(options: PathOptions, store: PathStore) -> PrunedLevel:
    """Return what is pruned: ``auto`` is triples where the graph has fewer relations than ``max_edge``."""
    if options.pruning_level != "auto":
        return options.pruning_level
    return "triple" if len(store.relations) < options.max_edge else "relation"


def window(options: PathOptions, level: PrunedLevel) -> int:
    """Return how many units of a level are kept, or shown to a selector."""
    windows: Mapping[PrunedLevel, int] = {
        "node": options.max_nodes,
        "relation": options.max_edge,
        "triple": options.max_triples,
    }
    return windows[level]


def _units(level: PrunedLevel, subgraph: Subgraph) -> VerbalizedRows:
    if level == "node":
        return subgraph.node_labels()
    if level == "relation":
        return subgraph.relation_types()
    triples = subgraph.triples()
    return triples.at(triples.distinct())


def _subgraph_of_units(level: PrunedLevel, subgraph: Subgraph, kept: VerbalizedRows) -> Subgraph:
    """Return the subgraph with those of its units alone that are kept."""
    store, edges, seeds = subgraph.store, subgraph.edges, subgraph.seeds
    if level == "triple":
        return Subgraph.of_edges(store, edges[_is_row_kept(subgraph.triples(), kept)], seeds)
    pieces = kept.rows[:, 0]
    if level == "relation":
        inside = np.isin(store.edge_relations[edges] + len(store.labels), pieces)
        return Subgraph.of_edges(store, edges[inside], seeds)
    nodes: Longs = subgraph.nodes[np.isin(store.label_of[subgraph.nodes], pieces)]
    left = np.union1d(nodes, np.asarray(seeds, dtype=np.int64)).astype(np.int64)
    ends = (np.isin(store.heads[edges], left), np.isin(store.tails[edges], left))
    return Subgraph(store, left, edges[ends[0] & ends[1]], seeds)


def _is_row_kept(rows: VerbalizedRows, kept: VerbalizedRows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return of each row whether it is among those that are kept [n]."""
    both = np.concatenate([kept.rows, rows.rows])
    _, number = np.unique(both, axis=0, return_inverse=True)
    number = number.reshape(-1)
    return np.isin(number[len(kept) :], number[: len(kept)])
