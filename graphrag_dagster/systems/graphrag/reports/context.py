"""A packed context, and the shortest that can be made of a community when not even one edge fits.

How a report context looks: sections of CSV rows (paper §3.1.5, spec_graphrag §6).

Every row starts with its number and every section with a fixed line of dashes, and each ends with one line
break. No text can forge either: cells with line breaks are quoted, and dashes that begin a line inside a cell
are indented.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphrag_dagster.kernel.tasks.ports import (
    ContextEntity,
    ContextNode,
    ContextRelationship,
    ContextReport,
    RecordKind,
)


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


_LINE_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_FORGED = re.compile(r"^(?=-----)", re.MULTILINE)

REPORTS = "-----Reports-----\nid,report\n"
ENTITIES = "-----Entities-----\nid,name,description\n"
CLAIMS = "-----Claims-----\nid,subject,object,type,status,start_date,end_date,description\n"
RELATIONSHIPS = "-----Relationships-----\nid,source,target,description,combined_degree\n"
#: Behind all others, where the community has any; their numbers go on where those of the members end.
CONTEXT_NODES = "-----Context nodes-----\nid,name,description,community,similarity\n"
CONTEXT_RELATIONSHIPS = (
    "-----Relationships of context nodes-----\nid,source,target,description,combined_degree\n"
)


@dataclass(frozen=True, slots=True)
class Sections:
    """The rows of a context without their numbers, as :func:`row` makes them, in the order of the numbers."""

    reports: Sequence[str] = ()
    entities: Sequence[str] = ()
    claims: Sequence[str] = ()
    relationships: Sequence[str] = ()

    def render(self) -> str:
        """Return the context; numbers are 1…n in each section, and empty sections are left out."""
        parts: list[str] = []
        for header, rows in (
            (REPORTS, self.reports),
            (ENTITIES, self.entities),
            (CLAIMS, self.claims),
            (RELATIONSHIPS, self.relationships),
        ):
            parts += section(header, rows)
        return "".join(parts)


def section(header: str, rows: Sequence[str], first: int = 1) -> list[str]:
    """Return a header and its rows, numbered from ``first`` on; nothing where there are no rows."""
    return [header, *(f"{number}{text}" for number, text in enumerate(rows, first))] if rows else []


def row(*values: object) -> str:
    """Return a CSV row behind its number: ``,value,value…`` and a line break."""
    return "".join([f",{cell(str(value))}" for value in values]) + "\n"


def cell(text: str) -> str:
    """Return a CSV cell; quoted where needed, with ``\\n`` as its only line break."""
    # No line break is printable, and to see that takes a tenth of the time of looking for one.
    unified = text if text.isprintable() else _LINE_BREAKS.sub("\n", text)
    if "-----" in unified:
        unified = _FORGED.sub(" ", unified)
    if "," in unified or '"' in unified or "\n" in unified:
        return '"' + unified.replace('"', '""') + '"'
    return unified
