"""How an answer of the way ``graph`` came about, as a tree."""

import json

from rich.markup import escape
from rich.tree import Tree

from graphrag_dagster.core.search.context.graph_trace import BroughtIn, GraphTrace, NodeQuery
from graphrag_dagster.core.wording import counted

#: Communities, context nodes and relationships that are shown, and characters of a query's parameters.
_SHOWN, _LONGEST = 8, 200


def add_graph(tree: Tree, trace: GraphTrace) -> None:
    """Add the steps: route, communities, queries, what context nodes brought in."""
    tree.add(escape(f"route: {trace.route}, chosen by {trace.by}: {trace.reason}"))
    if trace.communities:
        branch = tree.add(counted(len(trace.communities), "community", "communities"))
        for one in trace.communities[:_SHOWN]:
            near = "of an entity in the question" if one.score is None else f"score {one.score:.3f}"
            branch.add(f"“{escape(one.title)}” [dim]{near}[/]")
        _add_more(branch, len(trace.communities))
    for query in trace.queries:
        _add_query(tree, query)
    if trace.untold and trace.queries:
        tree.add(escape(f"not over the property graph: {trace.untold}"))
    if trace.queries:
        tree.add(f"{counted(trace.facts, 'relationship')} found; {trace.shown:,} in the context")
    if trace.boundary:
        tree.add(escape(trace.boundary))
    if trace.context_nodes:
        nodes = tree.add(counted(len(trace.context_nodes), "context node"))
        for node in trace.context_nodes[:_SHOWN]:
            nodes.add(f"{escape(node.title)} [dim]of {node.community_id}, at home in {node.home_id}[/]")
        _add_more(nodes, len(trace.context_nodes))
        brought = tree.add(f"{counted(len(trace.brought_in), 'relationship')} that they brought in")
        for fact in trace.brought_in[:_SHOWN]:
            brought.add(_brought(fact))
        _add_more(brought, len(trace.brought_in))


def _add_query(tree: Tree, query: NodeQuery) -> None:
    made = f"the template {query.template}" if query.template else "the model"
    more = " or more" if query.more else ""
    branch = tree.add(f"query by {made}, over the {query.over}: {counted(query.rows, 'row')}{more}")
    branch.add(escape(query.reading))
    branch.add(escape(query.text))
    if query.parameters:
        told = json.dumps(dict(query.parameters), ensure_ascii=False)
        branch.add(escape(told if len(told) <= _LONGEST else f"{told[:_LONGEST]} …"))


def _brought(fact: BroughtIn) -> str:
    near = "" if fact.similarity is None else f" [dim]similarity {fact.similarity:.3f}[/]"
    return f"{escape(f'{fact.head} – {fact.relation} – {fact.tail}')}{near}"


def _add_more(branch: Tree, of: int) -> None:
    if of > _SHOWN:
        branch.add(f"… {of - _SHOWN} more: see ask --json")
