"""The search method ``paths``: entities, a subgraph, reasoning paths in it, and texts that state them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, Prefilter, store_of
from graphrag_dagster.kernel.questions.context.answer import (
    Answer,
    RowLink,
    TraceSection,
    facts,
    section,
)
from graphrag_dagster.kernel.questions.context.context_rows import LocalContext, report_rows
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.finding import (
    is_favoured,
    linked_names_section,
    rerank_units,
    text_query,
    with_history,
    with_retrieval_trace,
)
from graphrag_dagster.kernel.questions.question import REFUSAL, Search
from graphrag_dagster.kernel.retrieval.ranking import Ranking, first_places
from graphrag_dagster.kernel.retrieval.retriever import LocalRanking
from graphrag_dagster.kernel.text.citations import ContextKind
from graphrag_dagster.systems.graphrag.api import (
    ANSWERER,
    ENTITIES,
    HEADERS,
    ContextBuilder,
    Fact,
    Key,
    answered_at_once,
    edges_of,
    entities_of,
    fact_row,
    facts_of,
)
from graphrag_dagster.systems.lego.retrieval.path_retrievers import retriever_of as path_retriever_of
from graphrag_dagster.systems.lego.retrieval.path_scorers import PathScorer
from graphrag_dagster.systems.lego.retrieval.scorer_registry import recipe_scorer
from graphrag_dagster.systems.lego.search.instance_definitions import INSTANCES, Recipe
from graphrag_dagster.systems.lego.search.reasoning_paths import NONE, ModuleUse, PathQuery, Paths, Subgraph
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
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


def walk(search: Search, entities: Sequence[str]) -> Walked:
    """Return paths from entities of the index, as the options of paths say.

    Args:
        search: the question.
        entities: ids, the surest first; what has no place in the graph begins nothing.

    Raises:
        EngineError: a scorer or selector cannot be used.
        EndpointError: the model endpoint cannot be used.
    """
    recipe, index = search.settings.section(PathSettings).chosen_recipe, search.index
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
    embedder = search.engines.embedder() if recipe.options.scorer == "embedder" else None
    return recipe_scorer(recipe, embedder)


def paths(search: Search) -> Answer:
    """Answer a question from the words that state the paths from what it names, and from where a walk leads.

    Raises:
        EngineError: a scorer or selector cannot be used.
        EndpointError: the model endpoint cannot be used.
    """
    sought = with_history(search)
    orders = order_units(search, sought, ENTITIES)
    linked = orders.followed.linked
    entities = entities_of(linked)
    found = walk(search, list(entities))
    keys = found.keys
    stated = units_stating(search.index, keys)
    units, moves = rerank_units(search, sought, merge_orders(orders, stated), followed=True)
    selected = search.favour.selected is not None
    # Edges and reports were made from all documents.
    stating = [] if selected else facts_on(search, keys)
    reads_reports = search.settings.section(PathSettings).chosen_recipe.reports and not selected
    reported = orders.followed.entities.ids if reads_reports else ()
    context = pack_context(search, units, stating, reported)
    context = context.marked(is_favoured(search), selected=selected)
    shown = sum(row.kind == "relationship" for row in context.rows)
    answer = Answer(
        *(search.question.text, search.method.name, None, REFUSAL),
        search.engines.task(ANSWERER).engine,
        refused=True,
        trace=(*linked_names_section(linked), *_trace(search, found, entities, len(stated), shown)),
        problems=found.use.problems,
        usage=found.use.usage,
    )
    about = "paths and what states them"
    answer = answered_at_once(search, answer, context, about, stating, entities)
    return with_retrieval_trace(search, answer, orders.note, moves)


def _trace(
    search: Search, found: Walked, seeds: Mapping[str, str], stated: int, shown: int
) -> tuple[TraceSection, ...]:
    """How it came about: seeds, the part of the graph, paths with their scores, and what states them."""
    if not seeds:
        return (facts("Paths", read="passages alone, since the question names no entity of the graph"),)
    recipe = search.settings.section(PathSettings).chosen_recipe
    titles = {one.name: one.title for one in INSTANCES}
    told = facts(
        "Paths",
        start=RowLink(", ".join(seeds.values()), "entity", tuple(seeds)),
        modules=titles.get(recipe.name, recipe.name),
        entities=len(found.subgraph.nodes),
        edges=len(found.subgraph.edges),
        paths=len(found.paths),
        text_units_that_state_them=stated,
        relationships_read=shown,
        problems="; ".join(found.use.problems),
    )
    texts, scores = found.paths.verbalised.texts, found.paths.scores
    best = (
        (RowLink(text, "entity", ids), float(score))
        for text, score, ids in zip(texts, scores, found.entity_ids, strict=True)
    )
    return (told, *([section("Paths found", ("path", "score"), best)] if len(found.paths) else []))


_HEADERS: Mapping[ContextKind, str] = {
    "source": HEADERS["source"],
    "relationship": "Relationships\nid|source|relation|target|words",
    "report": HEADERS["report"],
}


def facts_on(search: Search, paths: Sequence[Sequence[Key]]) -> list[Fact]:
    """Return the edges of paths with the words that state them, those of the best paths first."""
    return facts_of(search.index, (edge for edges in paths for edge in edges))


def pack_context(
    search: Search, unit_ids: Sequence[str], facts: Iterable[Fact], reported: Sequence[str]
) -> LocalContext:
    """Return text units and relationships as a context, each in order of rank until the next does not fit.

    Args:
        search: the question, with the shares of the context.
        unit_ids: best first.
        facts: those of the best paths first.
        reported: entities whose communities' reports are read, too.
    """
    options = search.options
    limit, shares = options.context_tokens, options.shares
    builder = ContextBuilder(search.index, search.count, limit, _HEADERS, leading=("relationship",))
    builder.take_sources(unit_ids, limit - int(limit * shares.of_graph))
    builder.fill("relationship", (fact_row(search.index, one) for one in facts), shares.relationships)
    builder.fill("report", report_rows(search.index, reported), shares.reports)
    builder.take_sources(unit_ids, limit)
    return builder.context()


#: Of reciprocal rank fusion: the smaller, the more the first ones count.
_SMOOTHING = 5
#: How much each order counts: following the question, the walk, the paths. Chosen on halves for tuning
#: (``benchmarks/path_passages.py``).
FOLLOWED, WALKED, ON_PATHS = 1.0, 0.5, 0.1


@dataclass(frozen=True, slots=True)
class Orders:
    """What a question is about: by following it, and by a walk.

    Attributes:
        followed: text units and entities by following the question.
        walked: text units by personalised PageRank.
        note: that words alone were used; None where they were not.
    """

    followed: LocalRanking
    walked: Ranking
    note: str | None


def order_units(search: Search, sought: str, entities: int) -> Orders:
    """Return text units in both orders, and at most so many entities, that a text is about."""
    question = text_query(search, sought)
    return Orders(question.local(entities), question.spread(), question.note)


def units_stating(index: IndexSnapshot, paths: Sequence[Sequence[Key]]) -> list[str]:
    """Return the text units in which edges of paths are stated: those of the best paths first.

    Among units of the same path that comes first in which more of its edges are stated, then as they stand in
    the corpus.

    Args:
        index: the tables of the corpus.
        paths: the edges of each, best first.
    """
    known = index.once(_units_of_edges)
    units: dict[str, None] = {}
    for edges in paths:
        stated: dict[str, int] = {}
        for edge in edges:
            for unit in known.get(edge, ()):
                stated[unit] = stated.get(unit, 0) + 1
        units |= dict.fromkeys(sorted(stated, key=lambda one: -stated[one]))
    return list(units)


def merge_orders(orders: Orders, on_paths: Sequence[str]) -> list[str]:
    """Return text units in one order made of three, by reciprocal ranks.

    Args:
        orders: by following the question, and by a walk.
        on_paths: those that state the paths, best first; what the others leave out stays out.
    """
    ids = orders.followed.units.ids
    places = {unit: place for place, unit in enumerate(ids)}
    scores = FOLLOWED / (_SMOOTHING + np.arange(len(ids)))
    for units, share in ((orders.walked.ids, WALKED), (on_paths, ON_PATHS)):
        for rank, unit in enumerate(units):
            if unit in places:
                scores[places[unit]] += share / (_SMOOTHING + rank)
    return [ids[place] for place in first_places(scores).tolist()]


def _units_of_edges(index: IndexSnapshot) -> Mapping[Key, Sequence[str]]:
    """The text units that state an edge; where its own are not known, those of the relationship."""
    edges = edges_of(index).select("head_id", "relation", "tail_id", "text_unit_ids")
    ends = (pl.min_horizontal("head_id", "tail_id"), pl.max_horizontal("head_id", "tail_id"))
    pairs = index.relationships.select(
        pl.min_horizontal("source_id", "target_id").alias("one"),
        pl.max_horizontal("source_id", "target_id").alias("other"),
        pl.col("text_unit_ids").alias("of_pair"),
    ).unique(["one", "other"], keep="first", maintain_order=True)
    joint = edges.with_columns(one=ends[0], other=ends[1]).join(
        pairs, on=["one", "other"], how="left", maintain_order="left"
    )
    units = pl.when(pl.col("text_unit_ids").list.len() > 0).then("text_unit_ids").otherwise("of_pair")
    rows = joint.select("head_id", "relation", "tail_id", units.alias("units")).iter_rows()
    return {(head, relation, tail): stated or () for head, relation, tail, stated in rows}
