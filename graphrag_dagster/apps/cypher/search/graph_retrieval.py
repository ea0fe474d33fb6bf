"""The two retrievers: nodes and edges by a query, and community summaries (fourth paper §III.C)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import polars as pl

from graphrag_dagster.apps.cypher.search.graph_context import RetrievedContext
from graphrag_dagster.apps.cypher.search.graph_trace import FoundCommunity, NodeQuery, Over
from graphrag_dagster.apps.cypher.search.nearest_communities import (
    Boundary,
    communities_of,
    context_boundary,
    level_of,
    members_of,
    nearest_summaries,
    nodes_of,
)
from graphrag_dagster.apps.cypher.text_to_cypher import CypherAnswer, write_query
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.graph.graph_labels import CO_OCCURS, RELATED_TO
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.index_snapshot import MOST_ROWS, IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.tasks.answering_ports import QueryWriter
from graphrag_dagster.kernel.text.text_similarity import stems
from graphrag_dagster.systems.graphrag.search.graph_facts import Key, facts_of, keys_of, rank_facts
from graphrag_dagster.systems.graphrag.search.graph_query_templates import (
    NodeQuestion,
    Rows,
    attributes,
    edges_of,
    members,
    members_question,
    neighbours_question,
    path,
    rows_of,
    stored_summaries,
)

_NO_GRAPH = "there is no property graph of what is asked"


@dataclass(slots=True)
class NodeQueries:
    """Runs queries, and keeps what they were.

    Attributes:
        index: of the corpus.
        ran: the queries that were run.
        untold: why they ran over the tables; blank where they ran over the property graph.
        problems: queries of a model that could not be run, and why.
        usage: tokens that it took.
    """

    index: IndexSnapshot
    ran: list[NodeQuery] = field(default_factory=list)
    untold: str = ""
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        graph = self.index.graph
        self.untold = _NO_GRAPH if graph is None else graph.missing or ""

    def ask(self, question: NodeQuestion) -> Rows:
        """Return the rows of a template; what the property graph cannot answer, the tables do."""
        graph = self.index.graph
        if graph is not None and not self.untold:
            try:
                found = graph.run(question.text, question.parameters).found
            except GraphragError as error:
                self.untold = " ".join(str(error).split())
            else:
                rows = [dict(row) for row in found.objects()]
                self._keep(question, len(rows), more=found.more)
                return rows
        rows = rows_of(question, self.index)
        self._keep(question, len(rows), more=False)
        return rows

    def write(self, search: Search, writer: QueryWriter, within: str) -> CypherAnswer | None:
        """Return what a query gives that a model writes; None where none could be run.

        Raises:
            EndpointError: the model endpoint cannot be used.
        """
        graph = self.index.graph
        if graph is None or self.untold:
            return None
        made = write_query(search.question.text, self.index, graph, writer, within)
        if not isinstance(made, CypherAnswer):
            self.problems, self.usage = made
            return None
        self.problems, self.usage = made.problems, made.usage
        ran = made.ran
        rows = len(ran.found.rows)
        self.ran.append(NodeQuery(None, made.reading, ran.text, {}, rows, ran.found.more, "property graph"))
        return made

    def _keep(self, question: NodeQuestion, rows: int, *, more: bool) -> None:
        over: Over = "tables" if self.untold else "property graph"
        kept = NodeQuery(
            question.template,
            question.reading,
            question.text,
            question.parameters,
            rows,
            more or rows >= MOST_ROWS,
            over,
        )
        self.ran.append(kept)


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a value of a row, also those of lists, nodes and paths."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)


#: Labels that say nothing of how two are related.
_OF_ANY = (CO_OCCURS, RELATED_TO)
#: Entities of a subgraph that a query is restricted to, at most; those with the most neighbours stay.
_LARGEST_PART = 2_000
#: Entities that rows name, at most.
_MOST_NAMED = 50
_TOGETHER = re.compile(
    r"\b(?:connect\w*|relat(?:ed|ions?|ionships?)|link(?:s|ed)?|paths?|ties|tied|associat\w+|between)\b",
    re.IGNORECASE,
)
_COMMUNITY = re.compile(r"\b(?:communit(?:y|ies)|clusters?)\b", re.IGNORECASE)
#: Stems of what a question asks of an entity itself.
_OF_ITSELF = frozenset(
    stem
    for word in ("type kind sort describe description define definition entity called known",)
    for stem in stems(word)
)


@dataclass(frozen=True, slots=True)
class GraphRetrieval:
    """What was found, the queries that found it, the communities that were looked into, and the boundary."""

    found: RetrievedContext
    queries: NodeQueries
    communities: tuple[FoundCommunity, ...] = ()
    boundary: Boundary = field(default_factory=Boundary)
    facts: int = 0


def local(search: Search, entities: Mapping[str, str], writer: QueryWriter | None) -> GraphRetrieval:
    """Find what the graph has around the entities of a question, and across their borders."""
    communities = tuple(communities_of(search, list(entities)))
    return _nodes(search, entities, communities, None, writer)


def hybrid(search: Search, entities: Mapping[str, str], writer: QueryWriter | None) -> GraphRetrieval:
    """Find what :func:`local` does in the part of the graph that summaries locate.

    That part are the members of the communities with the nearest summaries, of those of the entities, and the
    context nodes of both. Where the question names no entity, it is every edge in that part.
    """
    near = nearest_summaries(search)
    own = [one for one in communities_of(search, list(entities)) if one.community_id not in _ids(near)]
    communities = (*near, *own)
    level = level_of(search)
    nodes = [one.entity_id for one in nodes_of(search.index, level, _ids(communities))]
    part = dict.fromkeys([*entities, *nodes, *members_of(search.index, level, _ids(communities))])
    return _nodes(search, entities, communities, list(part)[:_LARGEST_PART], writer)


def summaries(search: Search) -> GraphRetrieval:
    """Find the communities with the nearest reports, and what their context nodes bring in.

    The stored summaries of these communities are looked up by a query over the graph.
    """
    queries = NodeQueries(search.index)
    found = nearest_summaries(search)
    rows = queries.ask(stored_summaries({one.community_id: one.title for one in found})) if found else []
    stored = {row["report_id"]: row["summary"] for row in rows}
    near = tuple(replace(one, synopsis=stored.get(one.community_id, "")) for one in found)
    boundary = context_boundary(search, _ids(near), (), ())
    read = RetrievedContext(summaries=near, brought_in=[fact for fact, _ in boundary.facts])
    return GraphRetrieval(read, queries, near, boundary)


def _nodes(
    search: Search,
    entities: Mapping[str, str],
    communities: tuple[FoundCommunity, ...],
    part: Sequence[str] | None,
    writer: QueryWriter | None,
) -> GraphRetrieval:
    queries = NodeQueries(search.index)
    made = _by_model(search, queries, communities, part, writer) if writer else None
    found = made or _by_templates(search, queries, entities, communities, part)
    most = search.options.graph.facts
    ends = [end for fact in found.facts[:most] for end in fact.ends]
    boundary = context_boundary(
        search, _ids(communities), {*entities, *ends}, {fact.key for fact in found.facts}
    )
    shown = replace(found, facts=found.facts[:most], brought_in=[fact for fact, _ in boundary.facts])
    return GraphRetrieval(shown, queries, communities, boundary, len(found.facts))


def _by_templates(
    search: Search,
    queries: NodeQueries,
    entities: Mapping[str, str],
    communities: Sequence[FoundCommunity],
    part: Sequence[str] | None,
) -> RetrievedContext:
    if not entities:
        keys = keys_of(queries.ask(members_question(part))) if part else []
        return RetrievedContext(facts=rank_facts(search, facts_of(search.index, keys)))
    index, question = search.index, search.question.text
    rest = set(stems(question)) - {stem for title in entities.values() for stem in stems(title)}
    named = list(entities)
    first: list[Key] = []
    if communities and _COMMUNITY.search(question):
        titled = {one.community_id: one.title for one in communities}
        named += [row["entity_id"] for row in queries.ask(members(titled))]
    elif rest <= _OF_ITSELF:
        named = [row["entity_id"] for row in queries.ask(attributes(entities))]
    if labels := _labels_named(index, named[: len(entities)], rest):
        first += keys_of(queries.ask(neighbours_question(entities, labels, part)))
    every = keys_of(queries.ask(neighbours_question(entities, within=part)))
    if len(entities) > 1:
        one, other = list(entities.items())[:2]
        together = [key for key in every if {key[0], key[2]} <= set(entities)]
        if _TOGETHER.search(question) or not together:
            on_the_way = _on_paths(index, queries.ask(path(one, other)), part)
            first += on_the_way
            named += [end for head, _, tail in on_the_way for end in (head, tail)]
        first += together
    leading = dict.fromkeys(first)
    ordered = rank_facts(search, facts_of(index, [*leading, *every]))
    return RetrievedContext(
        entities=list(dict.fromkeys(named)), facts=sorted(ordered, key=lambda one: one.key not in leading)
    )


def _labels_named(index: IndexSnapshot, entities: Sequence[str], rest: set[str]) -> list[str]:
    """Labels of edges at entities whose words all stand in the rest of the question."""
    edges = edges_of(index)
    at = edges.filter(pl.col("head_id").is_in(entities) | pl.col("tail_id").is_in(entities))
    labels = ((label, set(stems(label.replace("_", " ")))) for label in at["relation"].unique().sort())
    return [label for label, words in labels if words and words <= rest and label not in _OF_ANY]


def _on_paths(
    index: IndexSnapshot, rows: Sequence[Mapping[str, Any]], part: Sequence[str] | None
) -> list[Key]:
    """Every edge between two entities that follow one another on a path inside of the part."""
    steps: dict[tuple[str, str], None] = {}
    for row in rows:
        if part is None or set(row["entities"]) <= set(part):
            steps |= dict.fromkeys(pairwise(row["entities"]))
    every = edges_of(index).sort(-pl.col("strength"), "head_id", "relation", "tail_id")
    found: list[Key] = []
    for one, other in steps:
        ends = [one, other]
        found += keys_of(
            every.filter(pl.col("head_id").is_in(ends) & pl.col("tail_id").is_in(ends)).iter_rows(named=True)
        )
    return found


def _by_model(
    search: Search,
    queries: NodeQueries,
    communities: Sequence[FoundCommunity],
    part: Sequence[str] | None,
    writer: QueryWriter,
) -> RetrievedContext | None:
    """What the rows of a query name that a model wrote; None where none could be run, or it gave no rows."""
    made = queries.write(search, writer, _describe_within(communities) if part is not None else "")
    if made is None or not made.ran.found.rows:
        return None
    named = _named_in(search.index, made, None if part is None else set(part))
    ends, within = set(named), pl.col("head_id").is_in(named) & pl.col("tail_id").is_in(named)
    edges = edges_of(search.index).filter(within).sort(-pl.col("strength"), "head_id", "relation", "tail_id")
    keys = keys_of(edges.iter_rows(named=True)) if len(ends) > 1 else []
    return RetrievedContext(
        entities=named, facts=rank_facts(search, facts_of(search.index, keys)), ran=made.ran
    )


def _named_in(index: IndexSnapshot, made: CypherAnswer, part: set[str] | None) -> list[str]:
    """Ids of the entities that the rows name by id, name or title, in their order."""
    known = index.once(_ids_of_names)
    found = (known.get(text) for row in made.ran.found.rows for text in texts_in(list(row)))
    inside_ = (one for one in dict.fromkeys(found) if one is not None and (part is None or one in part))
    return list(inside_)[:_MOST_NAMED]


def _ids_of_names(index: IndexSnapshot) -> dict[str, str]:
    rows = list(index.entities.select("entity_id", "name", "title").iter_rows())
    by_title = {title: key for key, _, title in reversed(rows)}
    return {**by_title, **{name: key for key, name, _ in rows}, **{key: key for key, _, _ in rows}}


def _describe_within(communities: Sequence[FoundCommunity]) -> str:
    # Titles are made of the documents' words, and have no place among instructions.
    return (
        "\nThe query has to stay among members (IN_COMMUNITY) of the communities with these values of "
        f"community_id: {', '.join(_ids(communities))}"
    )


def _ids(communities: Sequence[FoundCommunity]) -> list[str]:
    return [one.community_id for one in communities]
