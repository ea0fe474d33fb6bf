"""Communities near a question, and the facts that their context nodes add (fourth paper §IV.B).

A context node of a found community leads to the community that it is a member of; an entity that was found
and is a context node itself leads to both of its communities.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import polars as pl

from graphrag_dagster.apps.cypher.search.graph_trace import FoundCommunity, TracedContextNode
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.graph.graph_labels import CO_OCCURS, RELATED_TO
from graphrag_dagster.kernel.questions.context.context_rows import titles_of
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.finding import with_history
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.retrieval.ranking import TextRanker, first_places, rank_by_score, rows_of
from graphrag_dagster.systems.graphrag.search.global_search import levels_of
from graphrag_dagster.systems.graphrag.search.graph_facts import Fact, Key, facts_of, keys_of, likeness
from graphrag_dagster.systems.graphrag.search.graph_query_templates import edges_of


def level_of(search: Search) -> int:
    """Return the level that is read: that of the question, or the deepest one above it that has reports.

    A report there is of communities that hold those of the question's level (``reports.levels``).

    Raises:
        QuestionError: the corpus has communities, but not of that level.
    """
    level, known = search.level or 0, levels_of(search.index)
    if known and level not in known:
        raise QuestionError(f"there is no level C{level}; there are {', '.join(f'C{k}' for k in known)}")
    return search.index.once(_reported_level, level)


def _reported_level(index: IndexSnapshot, level: int) -> int:
    # At a level below its own a community stands undivided.
    divided, reported = (
        frame.filter(pl.col("level") <= level)["level"].max() for frame in (index.communities, index.reports)
    )
    return reported if isinstance(reported, int) and reported != divided else level


def has_summaries(search: Search) -> bool:
    """Return whether there is a report of the level."""
    return bool(search.index.once(_reports, level_of(search)).ids)


def nearest_summaries(search: Search) -> list[FoundCommunity]:
    """Return the communities of the level whose reports are nearest to the question, as the options say.

    By words and vectors as text units are found; without vectors of the question's embedder by words alone.
    """
    index, options = search.index, search.options
    ranker, vectors = index.once(_reports, level_of(search)), index.report_vectors
    embedder = search.engines.embedder()
    comparable = vectors is not None and vectors["embedder"].unique().to_list() == [embedder.name]
    sought = with_history(search)
    wanted = embedder.embed_queries([sought])[0] if comparable and options.retrieval != "lexical" else None
    found = rank_by_score(
        ranker.ids, ranker.scores(sought, wanted, options.retrieval), options.graph.summaries
    )
    titles = index.once(_titles)
    return [
        FoundCommunity(one, titles[one], round(score, 6))
        for one, score in zip(found.ids, found.scores, strict=True)
    ]


def communities_of(search: Search, entity_ids: Sequence[str]) -> list[FoundCommunity]:
    """Return the communities of the level that entities are members of, each once."""
    home, titles = search.index.once(_homes, level_of(search)), search.index.once(_titles)
    found = dict.fromkeys(home[one] for one in entity_ids if one in home)
    return [FoundCommunity(one, titles.get(one, one)) for one in found]


def members_of(index: IndexSnapshot, level: int, communities: Collection[str]) -> list[str]:
    """Return the members of communities of a level, those with the most neighbours first."""
    chosen = index.community_levels.filter(
        (pl.col("level") == level) & pl.col("community_id").is_in(list(communities))
    )
    found = index.entities.join(chosen, on="entity_id", how="semi")
    return found.sort(-pl.col("degree"), "entity_id")["entity_id"].to_list()


def _homes(index: IndexSnapshot, level: int) -> Mapping[str, str]:
    """The community of each clustered entity at a level."""
    chosen = index.community_levels.filter(pl.col("level") == level)
    return dict(chosen.select("entity_id", "community_id").iter_rows())


def _titles(index: IndexSnapshot) -> Mapping[str, str]:
    """The titles of reports by the ids of their communities."""
    return dict(index.reports.select("report_id", "title").iter_rows())


def _reports(index: IndexSnapshot, level: int) -> TextRanker:
    """The reports of a level; of equally near ones the better rated comes first."""
    chosen = index.community_levels.filter(pl.col("level") == level)
    of_level = index.reports.join(chosen, left_on="report_id", right_on="community_id", how="semi")
    ordered = of_level.sort(-pl.col("rating"), "report_id")
    ids = ordered["report_id"].to_list()
    return TextRanker(ids, ordered["content"].to_list(), rows_of(ids, index.report_vectors, "report_id"))


#: Edges that are compared with the question, the strongest ones: a root community may hold most of a graph.
_MOST_COMPARED = 20_000
_OFF = "search.graph.propagation is off"
_NONE = "this index has no context nodes"
_NONE_HERE = "no context node leads on from there"


@dataclass(frozen=True, slots=True)
class Boundary:
    """Context nodes that lead on, the facts they bring in with their likeness, and what is to be said."""

    nodes: tuple[TracedContextNode, ...] = ()
    facts: tuple[tuple[Fact, float | None], ...] = ()
    told: str = ""


def context_boundary(
    search: Search, communities: Collection[str], entities: Collection[str], known: Collection[Key]
) -> Boundary:
    """Return the facts beside those known that context nodes lead to, the nearest to the question first.

    Args:
        search: the question.
        communities: that were found.
        entities: that were found.
        known: edges that were found; what joins the same two is not brought in again.
    """
    options = search.options.graph
    if not options.propagation:
        return Boundary(told=_OFF)
    if search.index.context_nodes is None or search.index.context_nodes.is_empty():
        return Boundary(told=_NONE)
    nodes = nodes_of(search.index, level_of(search), communities, entities)
    if not nodes:
        return Boundary(told=_NONE_HERE)
    keys = _between_others(_edges(search, nodes, entities), known)
    near = likeness(search, [(head, tail) for head, _, tail in keys])
    if near is None:
        chosen: list[tuple[Key, float | None]] = [(key, None) for key in keys[: options.brought_in]]
    else:
        best = (place for place in first_places(near).tolist() if near[place] > 0)
        chosen = [(keys[place], round(float(near[place]), 6)) for place in islice(best, options.brought_in)]
    like = dict(chosen)
    facts = facts_of(search.index, like)
    return Boundary(nodes, tuple((fact, like[fact.key]) for fact in facts))


def _between_others(keys: Iterable[Key], known: Iterable[Key]) -> list[Key]:
    """The first edge between each two that no known edge joins, whatever its label."""
    found = {frozenset((key[0], key[2])): key for key in known}
    joined = set(found)
    for key in keys:
        found.setdefault(frozenset((key[0], key[2])), key)
    return [key for pair, key in found.items() if pair not in joined]


def nodes_of(
    index: IndexSnapshot, level: int, communities: Collection[str], entities: Collection[str] = ()
) -> tuple[TracedContextNode, ...]:
    """Return the context nodes of communities, and those among entities, by community and rank."""
    if index.context_nodes is None:
        return ()
    chosen = index.context_nodes.filter(
        (pl.col("level") == level)
        & (pl.col("community_id").is_in(list(communities)) | pl.col("entity_id").is_in(list(entities)))
    )
    titles = titles_of(index)
    rows = chosen.sort("community_id", "rank").select("entity_id", "community_id", "home_id").iter_rows()
    return tuple(TracedContextNode(one, titles[one], of, home) for one, of, home in rows if one in titles)


def _edges(search: Search, nodes: Collection[TracedContextNode], entities: Collection[str]) -> list[Key]:
    """Edges inside of the communities that context nodes lead to, the strongest first."""
    homes = {one.home_id for one in nodes}
    attached = {one.community_id for one in nodes if one.entity_id in set(entities)}
    members = members_of(search.index, level_of(search), sorted(homes | attached))
    inside = pl.col("head_id").is_in(members) & pl.col("tail_id").is_in(members)
    bridges = [one.entity_id for one in nodes]
    crossing = (pl.col("head_id").is_in(bridges) & pl.col("tail_id").is_in(members)) | (
        pl.col("tail_id").is_in(bridges) & pl.col("head_id").is_in(members)
    )
    found = edges_of(search.index).filter(inside | crossing)
    specific = ~pl.col("relation").is_in([CO_OCCURS, RELATED_TO])
    ordered = found.sort(~specific, -pl.col("strength"), "head_id", "relation", "tail_id").head(
        _MOST_COMPARED
    )
    return keys_of(ordered.iter_rows(named=True))
