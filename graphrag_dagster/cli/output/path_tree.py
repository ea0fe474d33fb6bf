"""How an answer of the way ``paths`` came about, as a tree."""

from rich.markup import escape
from rich.tree import Tree

from graphrag_dagster.core.search.context.path_trace import PathTrace
from graphrag_dagster.core.wording import counted

#: Paths that are shown.
_SHOWN = 12


def add_paths(tree: Tree, trace: PathTrace) -> None:
    """Add the steps: seeds, the part of the graph, paths, what states them."""
    if not trace.seeds:
        tree.add("no entity of the graph is named: passages alone")
        return
    tree.add(escape(f"from {', '.join(trace.seeds)}, by {trace.modules}"))
    tree.add(
        f"part of the graph: {counted(trace.nodes, 'entity', 'entities')}, {counted(trace.edges, 'edge')}"
    )
    branch = tree.add(counted(len(trace.paths), "path"))
    for one in trace.paths[:_SHOWN]:
        branch.add(f"{escape(one.text)} [dim]{one.score:.3f}[/]")
    if len(trace.paths) > _SHOWN:
        branch.add(f"… {len(trace.paths) - _SHOWN} more: see ask --json")
    units, edges = counted(trace.stated, "text unit"), counted(trace.shown, "relationship")
    tree.add(f"stated in {units}; {edges} of the paths in the context")
