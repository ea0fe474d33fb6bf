"""Communities of a level: those whose reports are near to a question, and who belongs to which."""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from graphrag_dagster.apps.cypher.graph_search.trace import FoundCommunity
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.retrieval.finding import with_history
from graphrag_dagster.kernel.retrieval.ranking import TextRanker, ranked, rows_of
from graphrag_dagster.systems.graphrag.search.global_search import levels_of


def level_of(search: Search) -> int:
    """Return the level that is read.

    Raises:
        QuestionError: the corpus has communities, but not of that level.
    """
    level, known = search.level or 0, levels_of(search.index)
    if known and level not in known:
        raise QuestionError(f"there is no level C{level}; there are {', '.join(f'C{k}' for k in known)}")
    return level


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
    found = ranked(ranker.ids, ranker.scores(sought, wanted, options.retrieval), options.graph.summaries)
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
