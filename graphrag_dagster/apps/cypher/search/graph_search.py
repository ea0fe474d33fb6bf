"""The search method ``graph``: a router, then nodes and edges, community summaries, or both.

See §III.B of the Context-Aware Leiden paper.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.apps.cypher.search.graph_context import pack_context
from graphrag_dagster.apps.cypher.search.graph_retrieval import GraphRetrieval, hybrid, local, summaries
from graphrag_dagster.apps.cypher.search.graph_trace import (
    ContextNodeFacts,
    GraphTrace,
    Route,
    explain,
    sections_of,
)
from graphrag_dagster.apps.cypher.search.nearest_communities import has_summaries, level_of
from graphrag_dagster.apps.cypher.tasks import CYPHER_WRITER, GRAPH_ROUTER
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.models.call_estimates import MethodSize, Range, exactly
from graphrag_dagster.kernel.questions.context.answer import Answer, Call
from graphrag_dagster.kernel.questions.context.context_rows import LocalContext
from graphrag_dagster.kernel.questions.finding import (
    linked_names_section,
    names_in_question,
    with_route,
    without_favour,
)
from graphrag_dagster.kernel.questions.question import REFUSAL, Basis, Search
from graphrag_dagster.kernel.tasks.answering_ports import Routed
from graphrag_dagster.systems.graphrag.search.graph_facts import answered_at_once, entities_of
from graphrag_dagster.systems.graphrag.tasks import ANSWERER

_MOST_NAMES = 3
#: What each route is for, as a model is told that chooses.
_FOR: Mapping[Route, str] = MappingProxyType(
    {
        "local": "for a fact about certain nodes, such as what one is, what it is related to, or how two are "
        "connected; reads nodes and edges",
        "global": "for what many nodes have in common, such as themes, trends or what there is of a kind; "
        "reads summaries of communities of nodes",
        "hybrid": "for a broad question about certain nodes, such as themes, comparisons or developments "
        "around them; reads nodes and edges in the communities that summaries point to",
    }
)
#: By which a question asks for more than facts about one thing.
_CUES = re.compile(
    r"\b(?:themes?|topics?|overview|overall|summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)|gist|outline|"
    r"trends?|patterns?|tendenc(?:y|ies)|compar(?:e[sd]?|ing|isons?)|contrast(?:s|ed|ing)?|"
    r"how many (?:different )?(?:kinds|types|sorts)|(?:what|which) (?:kinds|types|sorts)|"
    r"(?:main|major|key|central|biggest|most important|most common|recurring|common|broad(?:er)?|general) "
    r"\w+|in general|generally|typically|as a whole|across|throughout|big picture|describe|"
    r"over (?:time|the years))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A route, why, who chose it, and what a model said if it was asked."""

    route: Route
    reason: str
    by: Literal["rules", "model"] = "rules"
    routed: Routed | None = None


def choose_route(search: Search, names: Sequence[str], possible: Sequence[Route]) -> Chosen:
    """Choose by a model where the options say so and the engine is one, else by rule.

    Without a usable reply of the model it is both: summaries and nodes.
    """
    router = search.engines.task(GRAPH_ROUTER) if search.options.routing == "model" else None
    if router is None or len(possible) < 2:
        return by_rule(search.question.text, names)
    routed = router.route(search.question.text, {one: _FOR[one] for one in possible}, names)
    for route in possible:
        if route == routed.method:
            return Chosen(route, routed.reason, "model", routed)
    return Chosen("hybrid", "no usable reply of the model, so both summaries and nodes", routed=routed)


def by_rule(question: str, names: Sequence[str]) -> Chosen:
    """Choose by the entities that a question names, and by words that ask for more than facts about them."""
    cue = _CUES.search(question)
    said = f"it asks for “{cue[0].lower()}”" if cue else ""
    if not names:
        return Chosen("global", said or "it names no entity of the graph")
    named = f"it names {_list_names(names)}"
    return Chosen("hybrid", f"{named}, and {said}") if cue else Chosen("local", named)


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")


_MISSING = "there is no report of C{level} to be read"


def graph(search: Search) -> Answer:
    """Answer a question by a query for nodes and edges, by summaries of communities, or by both.

    Raises:
        QuestionError: there is no such level.
        EndpointError: the model endpoint cannot be used.
    """
    names, level = names_in_question(search), level_of(search)
    entities, summarised = entities_of(names), has_summaries(search)
    possible = _possible_routes(entities, summarised=summarised)
    chosen = choose_route(search, list(entities.values()), possible)
    if search.level is not None and level < search.level:
        instead = f"C{level} is read, since there is no report of C{search.level}"
        chosen = replace(chosen, reason=f"{chosen.reason}; {instead}")
    answer = Answer(
        *(search.question.text, search.method.name, level, REFUSAL),
        search.engines.task(ANSWERER).engine,
        refused=True,
        trace=linked_names_section(names),
    )
    if not possible:
        why = f"{chosen.reason}; {_MISSING.format(level=level)}"
        trace = GraphTrace(chosen.route, why, chosen.by)
        return _with_explanation(
            search, replace(answer, why=why, trace=(*answer.trace, *sections_of(trace))), chosen
        )
    if chosen.route not in possible:
        without = f"{_MISSING.format(level=level)}, so nodes alone"
        chosen = replace(chosen, route=possible[0], reason=f"{chosen.reason}; {without}")
    found = _retrieve(search, chosen.route, entities)
    context = pack_context(search, found.found)
    trace = _trace(chosen, found, context)
    answer = replace(
        answer,
        why=explain(trace),
        trace=(*answer.trace, *sections_of(trace)),
        context=context.uses(used=False),
        steps=tuple(
            Call("query", f"{one.template or 'written by the model'}, {plural(one.rows, 'row')}")
            for one in trace.queries
        ),
        problems=found.queries.problems,
        usage=found.queries.usage,
    )
    answer = answered_at_once(search, answer, context, "what was found", found.found.facts, entities)
    return _with_explanation(search, answer, chosen)


def _with_explanation(search: Search, answer: Answer, chosen: Chosen) -> Answer:
    told = without_favour(search, answer, "the graph alone says what is read")
    return with_route(told, chosen.routed, "no route")


def _retrieve(search: Search, route: Route, entities: Mapping[str, str]) -> GraphRetrieval:
    if route == "global":
        return summaries(search)
    writer = search.engines.task(CYPHER_WRITER) if search.options.graph.queries == "model" else None
    return (local if route == "local" else hybrid)(search, entities, writer)


def _possible_routes(entities: Mapping[str, str], *, summarised: bool) -> tuple[Route, ...]:
    """The routes that there is something for: nodes of the question, summaries of the level."""
    if not summarised:
        return ("local",) if entities else ()
    return ("local", "global", "hybrid") if entities else ("global", "hybrid")


def _trace(chosen: Chosen, retrieved: GraphRetrieval, context: LocalContext) -> GraphTrace:
    boundary = retrieved.boundary
    return GraphTrace(
        chosen.route,
        chosen.reason,
        chosen.by,
        queries=tuple(retrieved.queries.ran),
        untold=retrieved.queries.untold,
        communities=retrieved.communities,
        facts=retrieved.facts,
        shown=sum(row.kind == "relationship" for row in context.rows),
        context_nodes=boundary.nodes,
        brought_in=tuple(
            ContextNodeFacts(fact.relationship_id, fact.head, fact.relation, fact.tail, like)
            for fact, like in boundary.facts
        ),
        boundary=boundary.told,
    )


#: Tokens of a prompt without its material.
_PROMPT = 700
#: Tokens of a prompt that tells the columns of the tables.
_TABLES = 2500


def estimate_graph(basis: Basis) -> MethodSize:
    """A context of its own; before it the route, and queries over the graph, where a model gives these."""
    options = basis.options
    # What a query finds is small beside what a window can hold.
    window = options.context_tokens
    size = MethodSize(exactly(1), Range(window / 10, window / 2, float(window)))
    if options.routing == "model":
        size = MethodSize(size.calls + Range(0.0, 1.0, 1.0), size.input_tokens + Range(0.0, _PROMPT, _PROMPT))
    if options.graph.queries == "model":
        written = Range(0.0, float(_TABLES), 3.0 * _TABLES)
        size = MethodSize(size.calls + Range(0.0, 1.0, 3.0), size.input_tokens + written)
    return size
