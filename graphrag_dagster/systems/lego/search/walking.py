"""Paths of an index's graph from what a question names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from graphrag_dagster.kernel.graph.arrays import PathStore, store_of
from graphrag_dagster.kernel.graph.prefilter import Prefilter
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.retrieval.finding import with_history
from graphrag_dagster.systems.graphrag.api import Key, edges_of
from graphrag_dagster.systems.lego.instances.declared import Recipe
from graphrag_dagster.systems.lego.instances.found import NONE, ModuleUse, PathQuery, Paths
from graphrag_dagster.systems.lego.instances.subgraph import Subgraph
from graphrag_dagster.systems.lego.retrieval.making import retriever_of as path_retriever_of
from graphrag_dagster.systems.lego.scoring.making import recipe_scorer
from graphrag_dagster.systems.lego.scoring.port import PathScorer
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.subgraphs.making import extractor_of
from graphrag_dagster.systems.lego.tasks import PATH_SELECTOR


@dataclass(frozen=True)
class Walked:
    """What was found from the entities of a question.

    Attributes:
        subgraph: the part of the graph.
        paths: best first.
        use: what was asked of models.
    """

    subgraph: Subgraph
    paths: Paths
    use: ModuleUse = field(default_factory=ModuleUse)

    @property
    def keys(self) -> list[list[Key]]:
        """The edges of each path, as ids of head and tail with the relation between."""
        store = self.paths.store
        return [
            [
                (
                    store.entity_ids[int(store.heads[edge])],
                    store.relations[int(store.edge_relations[edge])],
                    store.entity_ids[int(store.tails[edge])],
                )
                for edge in edges
                if edge != NONE
            ]
            for edges in self.paths.edges.tolist()
        ]

    @property
    def entity_ids(self) -> list[tuple[str, ...]]:
        """The nodes of each path."""
        store = self.paths.store
        return [
            tuple(store.entity_ids[node] for node in nodes if node != NONE)
            for nodes in self.paths.nodes.tolist()
        ]


def walked(search: Search, entities: Sequence[str]) -> Walked:
    """Return paths from entities of the index, as the options of paths say.

    Args:
        search: the question.
        entities: ids, the surest first; what has no place in the graph begins nothing.

    Raises:
        EngineError: a scorer or selector cannot be used.
        EndpointError: the model endpoint cannot be used.
    """
    recipe, index = search.settings.section(PathSettings).asked, search.index
    options = recipe.options
    store, places = index.once(_store, options.prefilter), index.once(_places, options.prefilter)
    query = PathQuery(with_history(search), tuple(places[one] for one in entities if one in places))
    scorer = _scorer(search, recipe) if recipe.scores else None
    selector = search.engines.task(PATH_SELECTOR)
    extracted = extractor_of(options, store, scorer=scorer, selector=selector).extract(query)
    found = path_retriever_of(options, store, scorer=scorer, selector=selector).retrieve(
        query, extracted.subgraph
    )
    best = found.paths.at(np.arange(min(len(found.paths), options.shown)))
    return Walked(extracted.subgraph, best, extracted.use + found.use)


def _store(index: IndexSnapshot, prefilter: Prefilter) -> PathStore:
    return store_of(index.entities, edges_of(index), prefilter)


def _places(index: IndexSnapshot, prefilter: Prefilter) -> Mapping[str, int]:
    return {one: place for place, one in enumerate(index.once(_store, prefilter).entity_ids)}


def _scorer(search: Search, recipe: Recipe) -> PathScorer:
    if recipe.options.scorer == "embedder":
        return recipe_scorer(recipe, search.engines.embedder())
    return search.index.once(_shared_scorer, recipe)


def _shared_scorer(_index: IndexSnapshot, recipe: Recipe) -> PathScorer:
    """One for all questions: it remembers what it has read of the graph."""
    return recipe_scorer(recipe)
