"""The section of a report context that shows a community's context nodes (Context-Aware Leiden).

They are not members: the section comes last, takes what the others leave of the budget and never more than
its share, and is dropped first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from graphrag_dagster.kernel.tasks.task_ports import ContextEntity, ContextNode
from graphrag_dagster.systems.graphrag.reports.report_context import (
    CONTEXT_NODES,
    CONTEXT_RELATIONSHIPS,
    Elements,
    PackedContext,
    row,
    section,
)


@dataclass(frozen=True, slots=True)
class Attached:
    """A context node, by places in the elements; ``edges`` lead into the community, best first."""

    entity: int
    home: int
    similarity: float
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ContextNodes:
    """The context nodes of each community, best first, and what of a context they may take.

    Attributes:
        of: by the id of the community.
        elements: the indexed graph.
        count: tokens of a text.
        limit: most tokens of a context.
        share: of that, most that the section takes.
    """

    of: Mapping[str, Sequence[Attached]]
    elements: Elements
    count: Callable[[str], int]
    limit: int
    share: float

    def append_to(self, context: PackedContext, community_id: str) -> PackedContext:
        """Return a context with the section behind it: all nodes, or the best that fit; then their edges."""
        attached = self.of.get(community_id, ())
        if not attached or not (context.ids["entity"] or context.ids["report"]):
            return context
        chosen = [attached[: number + 1] for number in range(len(attached))]
        best = next(filter(None, (self._with(context, nodes, []) for nodes in reversed(chosen))), None)
        if best is None:
            return context
        nodes = attached[: len(best.context_nodes)]
        edges: list[int] = []
        for edge in dict.fromkeys(edge for node in nodes for edge in node.edges):
            more = self._with(context, nodes, [*edges, edge])
            if more is None:
                break
            edges, best = [*edges, edge], more
        return best

    def _with(
        self, context: PackedContext, nodes: Sequence[Attached], edges: Sequence[int]
    ) -> PackedContext | None:
        elements = self.elements
        ordered, of_nodes = sorted(nodes, key=lambda node: node.entity), sorted(edges)
        first, first_edge = len(context.ids["entity"]) + 1, len(context.ids["relationship"]) + 1
        rows = [self._row(node) for node in ordered]
        edge_rows = elements.relationships.texts_at(of_nodes)
        parts = section(CONTEXT_NODES, rows, first) + section(CONTEXT_RELATIONSHIPS, edge_rows, first_edge)
        text = "".join(parts)
        # The section is short, and mostly tells; the whole is counted once it fits into its share.
        if self.count(text) > self.share * self.limit:
            return None
        whole = context.text + text
        tokens = self.count(whole)
        if tokens > self.limit:
            return None
        numbers = {edge: number for number, edge in enumerate(of_nodes, first_edge)}
        return replace(
            context,
            text=whole,
            tokens=tokens,
            ids={
                **context.ids,
                "entity": (*context.ids["entity"], *(elements.entities.ids[one.entity] for one in ordered)),
                "relationship": (
                    *context.ids["relationship"],
                    *(elements.relationships.ids[edge] for edge in of_nodes),
                ),
            },
            context_nodes=tuple(
                ContextNode(
                    ContextEntity(number, *elements.entity_values.row(one.entity)),
                    one.home,
                    tuple(
                        (numbers[edge], elements.relationship_values["description"][edge])
                        for edge in one.edges
                        if edge in numbers
                    ),
                )
                for number, one in enumerate(ordered, first)
            ),
        )

    def _row(self, node: Attached) -> str:
        title, _, description, _ = self.elements.entity_values.row(node.entity)
        # Two digits: a third would change with every new member, and the report be asked for again.
        return row(title, description, node.home, f"{node.similarity:.2f}")


def attached_nodes(
    context_nodes: pl.DataFrame, communities: pl.DataFrame, elements: Elements
) -> dict[str, list[Attached]]:
    """Return the context nodes of each community at its own level, best first.

    Args:
        context_nodes: rows of ``graph.context_nodes``.
        communities: rows of ``graph.communities``.
        elements: the indexed graph.
    """
    numbers: dict[str, int] = dict(communities.select("community_id", "human_readable_id").iter_rows())
    place = {entity_id: number for number, entity_id in enumerate(elements.entities.ids)}
    own_level = context_nodes.join(
        communities.select("community_id", "level"), on=["community_id", "level"], how="semi"
    ).sort("community_id", "rank")
    edges = _edges_of({place[entity_id] for entity_id in own_level["entity_id"]}, elements)
    degrees = elements.relationship_values["combined_degree"]
    found: dict[str, list[Attached]] = {}
    for community_id, entity_id, home, similarity in own_level.select(
        "community_id", "entity_id", "home_id", "similarity"
    ).iter_rows():
        members = set(elements.communities[community_id].members.tolist())
        entity = place[entity_id]
        into = (edge for edge, other in edges.get(entity, ()) if other in members)
        ordered = sorted(into, key=lambda edge: (-degrees[edge], edge))
        found.setdefault(community_id, []).append(Attached(entity, numbers[home], similarity, tuple(ordered)))
    return found


def _edges_of(nodes: set[int], elements: Elements) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for edge, one, other in _edges_touching(nodes, elements):
        found.setdefault(one, []).append((edge, other))
    return found


def _edges_touching(nodes: set[int], elements: Elements) -> Iterator[tuple[int, int, int]]:
    for edge, (one, other) in enumerate(elements.ends.tolist()):
        if one in nodes:
            yield edge, one, other
        if other in nodes:
            yield edge, other, one
