"""A packed context, and the shortest that can be made of a community when not even one edge fits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphrag_dagster.core.language.tasks import (
    ContextEntity,
    ContextNode,
    ContextRelationship,
    ContextReport,
    RecordKind,
)
from graphrag_dagster.core.reports.rows import Sections, row


@dataclass(frozen=True, slots=True)
class PackedContext:
    """A context and what its numbers mean: number i of a kind is the record ``ids[kind][i - 1]``.

    The kinds of ``ids`` stand in the order of the text. ``tokens`` are those of the whole text. ``complete``
    is false where elements of the community were left out, cut, or replaced by the report of a sub-community.
    ``context_nodes`` are no elements of it: their ids and those of their relationships stand last in ``ids``.
    """

    text: str
    tokens: int
    complete: bool
    entities: Sequence[ContextEntity]
    relationships: Sequence[ContextRelationship]
    reports: Sequence[ContextReport]
    ids: Mapping[RecordKind, tuple[str, ...]]
    context_nodes: tuple[ContextNode, ...] = ()

    def numbers(self, kind: RecordKind) -> dict[str, int]:
        """Return the numbers of the community's own records of a kind."""
        own = self.ids[kind][: self._own(kind)]
        return {record: number for number, record in enumerate(own, start=1)}

    def context_numbers(self, kind: RecordKind) -> dict[str, int]:
        """Return the numbers of the records of a kind that context nodes are shown with."""
        own = self._own(kind)
        return {record: number for number, record in enumerate(self.ids[kind][own:], start=own + 1)}

    def _own(self, kind: RecordKind) -> int:
        others = {
            "entity": len(self.context_nodes),
            "relationship": sum(len(node.relationships) for node in self.context_nodes),
        }
        return len(self.ids[kind]) - others.get(kind, 0)


@dataclass(frozen=True, slots=True)
class ChildReport:
    """The report of a sub-community as it may stand in the context of the community above."""

    title: str
    summary: str
    content: str


def shortened(
    entities: Sequence[ContextEntity],
    relationships: Sequence[ContextRelationship],
    ids: Mapping[RecordKind, tuple[str, ...]],
    count: Callable[[str], int],
    limit: int,
) -> PackedContext:
    """Return rows with their descriptions cut to as many characters as fit, at need the titles too.

    A limit below the headers themselves leaves an empty context.

    Args:
        entities: entity rows, numbered from 1.
        relationships: relationship rows between them.
        ids: the records that the rows show.
        count: tokens of a text.
        limit: most tokens of the context.
    """

    def version(titles: int | None, descriptions: int) -> PackedContext:
        nodes = tuple(
            replace(node, title=_cut(node.title, titles), description=_cut(node.description, descriptions))
            for node in entities
        )
        edges = tuple(
            replace(edge, description=_cut(edge.description, descriptions)) for edge in relationships
        )
        text = _render(nodes, edges)
        return PackedContext(text, count(text), False, nodes, edges, (), ids)

    descriptions = [node.description for node in entities] + [edge.description for edge in relationships]
    longest = max(map(len, descriptions), default=0)
    found = _longest(lambda length: version(None, length), longest, limit)
    if found is None:
        longest = max((len(node.title) for node in entities), default=0)
        found = _longest(lambda length: version(length, 0), longest, limit)
    if found is None:
        nothing: dict[RecordKind, tuple[str, ...]] = dict.fromkeys(ids, ())
        return PackedContext("", count(""), False, (), (), (), nothing)
    return found


def _longest(version: Callable[[int], PackedContext], longest: int, limit: int) -> PackedContext | None:
    low, high, best = 0, longest, None
    while low <= high:
        middle = (low + high) // 2
        made = version(middle)
        if made.tokens <= limit:
            low, best = middle + 1, made
        else:
            high = middle - 1
    return best


def _cut(text: str, length: int | None) -> str:
    if length is None or len(text) <= length:
        return text
    return text[:length].rstrip() + "…" if length else ""


def _render(nodes: Sequence[ContextEntity], edges: Sequence[ContextRelationship]) -> str:
    titles = {node.id: node.title for node in nodes}
    return Sections(
        entities=[row(node.title, node.description) for node in nodes],
        relationships=[
            row(titles[edge.source], titles[edge.target], edge.description, edge.combined_degree)
            for edge in edges
        ],
    ).render()
