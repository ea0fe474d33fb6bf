"""Report contexts: sections of CSV rows, and the elements of each community (paper §3.1.5).

Every row starts with its number and every section with a fixed line of dashes, and each ends with one line
break. No text can forge either: cells with line breaks are quoted, and dashes that begin a line inside a cell
are indented.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.tables import (
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    ENTITIES,
    MERGED_CLAIMS,
    RELATIONSHIPS,
    Tables,
)
from graphrag_dagster.kernel.tasks.task_ports import (
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
        own = self.ids[kind][: self._count_own(kind)]
        return {record: number for number, record in enumerate(own, start=1)}

    def context_numbers(self, kind: RecordKind) -> dict[str, int]:
        """Return the numbers of the records of a kind that context nodes are shown with."""
        own = self._count_own(kind)
        return {record: number for number, record in enumerate(self.ids[kind][own:], start=own + 1)}

    def _count_own(self, kind: RecordKind) -> int:
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


def shorten_texts(
    entities: Sequence[ContextEntity],
    relationships: Sequence[ContextRelationship],
    ids: Mapping[RecordKind, tuple[str, ...]],
    count: Callable[[str], int],
    limit: int,
) -> PackedContext:
    """Return rows with their descriptions cut to as many characters as fit, at need the titles too.

    A limit below the headers themselves leaves an empty context.
    """

    def version(titles: int | None, descriptions: int) -> PackedContext:
        nodes = tuple(
            replace(
                node,
                title=_truncate(node.title, titles),
                description=_truncate(node.description, descriptions),
            )
            for node in entities
        )
        edges = tuple(
            replace(edge, description=_truncate(edge.description, descriptions)) for edge in relationships
        )
        text = _render(nodes, edges)
        return PackedContext(text, count(text), False, nodes, edges, (), ids)

    descriptions = [node.description for node in entities] + [edge.description for edge in relationships]
    longest = max(map(len, descriptions), default=0)
    found = _longest_that_fits(lambda length: version(None, length), longest, limit)
    if found is None:
        longest = max((len(node.title) for node in entities), default=0)
        found = _longest_that_fits(lambda length: version(length, 0), longest, limit)
    if found is None:
        nothing: dict[RecordKind, tuple[str, ...]] = dict.fromkeys(ids, ())
        return PackedContext("", count(""), False, (), (), (), nothing)
    return found


def _longest_that_fits(
    version: Callable[[int], PackedContext], longest: int, limit: int
) -> PackedContext | None:
    low, high, best = 0, longest, None
    while low <= high:
        middle = (low + high) // 2
        made = version(middle)
        if made.tokens <= limit:
            low, best = middle + 1, made
        else:
            high = middle - 1
    return best


def _truncate(text: str, length: int | None) -> str:
    if length is None or len(text) <= length:
        return text
    return text[:length].rstrip() + "…" if length else ""


def _render(nodes: Sequence[ContextEntity], edges: Sequence[ContextRelationship]) -> str:
    titles = {node.id: node.title for node in nodes}
    edge_rows = [
        row(titles[edge.source], titles[edge.target], edge.description, edge.combined_degree)
        for edge in edges
    ]
    node_rows = [row(node.title, node.description) for node in nodes]
    return rendered({"entity": node_rows, "relationship": edge_rows})


_LINE_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_FORGED = re.compile(r"^(?=-----)", re.MULTILINE)

#: Of the kinds in the order of the text.
HEADERS: Mapping[RecordKind, str] = {
    "report": "-----Reports-----\nid,report\n",
    "entity": "-----Entities-----\nid,name,description\n",
    "claim": "-----Claims-----\nid,subject,object,type,status,start_date,end_date,description\n",
    "relationship": "-----Relationships-----\nid,source,target,description,combined_degree\n",
}
#: Behind all others, where the community has any; their numbers go on where those of the members end.
CONTEXT_NODES = "-----Context nodes-----\nid,name,description,community,similarity\n"
CONTEXT_RELATIONSHIPS = (
    "-----Relationships of context nodes-----\nid,source,target,description,combined_degree\n"
)


def rendered(rows: Mapping[RecordKind, Sequence[str]]) -> str:
    """Return the context of rows, as :func:`row` makes them; empty sections are left out."""
    return "".join(part for kind, header in HEADERS.items() for part in section(header, rows.get(kind, ())))


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


_NOT_COUNTED = -1
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Community:
    """Elements inside a community, as positions in :class:`Elements`.

    ``edges`` have both ends inside and stand in the order in which they are packed: combined degree
    descending, then source and target. ``alone`` are the members without such an edge, by degree descending,
    then name.
    """

    members: NDArray[np.int64]
    edges: NDArray[np.int64]
    alone: NDArray[np.int64]
    children: tuple[str, ...]


@dataclass(slots=True)
class ElementRows:
    """One kind of rows, in the order in which a context shows them, with their tokens.

    ``ids`` are the records they show; ``cells`` their values behind the number, of which texts are made when
    they are needed, since all of them take as much memory again; ``count`` gives the tokens of each of many
    rows.
    """

    ids: pl.Series
    cells: pl.DataFrame
    count: Callable[[Sequence[str]], Sequence[int]]
    _tokens: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        self._tokens = np.full(len(self.ids), _NOT_COUNTED, dtype=np.int32)

    # One by one: most communities are small, and to gather a handful of rows takes fifty times as long.
    def texts_at(self, places: Sequence[int]) -> list[str]:
        """Return rows without their number."""
        return [row(*self.cells.row(place)) for place in places]

    def texts(self) -> Iterator[str]:
        """Yield all rows without their number."""
        return (row(*cells) for cells in self.cells.iter_rows())

    def characters(self) -> NDArray[np.uint32]:
        """Return about how many characters each row has."""
        found: NDArray[np.uint32] = (
            self.cells.select(pl.sum_horizontal(pl.col(pl.String).str.len_chars())).to_series().to_numpy()
        )
        return found

    def ids_at(self, places: Sequence[int]) -> tuple[str, ...]:
        """Return the records that rows show."""
        return tuple(self.ids[place] for place in places)

    def tokens(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the tokens of rows under the number 1; each is counted once, those that are new together."""
        missing = places[self._tokens[places] == _NOT_COUNTED]
        if len(missing):
            once = np.unique(missing)
            self._tokens[once] = self.count([f"1{text}" for text in self.texts_at(once.tolist())])
        found: NDArray[np.int32] = self._tokens[places]
        return found

    def tokens_of(self, place: int) -> int:
        """Return the tokens of one row under the number 1."""
        known = int(self._tokens[place])
        return known if known != _NOT_COUNTED else int(self.tokens(np.array([place]))[0])


@dataclass(frozen=True, slots=True)
class Elements:
    """Entities by name, relationships by source and target, claims by subject; and the communities.

    ``names`` are those of the entities, ``entity_values`` their title, type, description and degree;
    ``relationship_values`` description, weight and combined degree. ``ends[r]`` are the places of the two
    entities of relationship r, ``claims_of[e]`` those of the claims that entity e is subject or object of.
    """

    entities: ElementRows
    relationships: ElementRows
    claims: ElementRows
    names: pl.Series
    entity_values: pl.DataFrame
    relationship_values: pl.DataFrame
    ends: NDArray[np.int64]
    claims_of: dict[int, list[int]]
    communities: dict[str, Community]

    def claims_about(self, entities: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the places of the claims that any of some entities is subject or object of, ascending."""
        if not self.claims_of:
            return _NONE
        about = {claim for entity in entities.tolist() for claim in self.claims_of.get(entity, ())}
        return np.array(sorted(about), dtype=np.int64)

    def count_rows_of(self, communities: Iterable[str]) -> None:
        """Count the rows of some communities together, which is cheaper than those of each."""
        some = [self.communities[name] for name in communities]
        members, edges = (
            np.unique(np.concatenate(places)) if places else _NONE
            for places in ([one.members for one in some], [one.edges for one in some])
        )
        self.entities.tokens(members)
        self.claims.tokens(self.claims_about(members))
        self.relationships.tokens(edges)


def index_elements(tables: Tables, count: Callable[[Sequence[str]], Sequence[int]]) -> Elements:
    """Index the graph once for all communities; ``count`` gives the tokens of each of many rows."""
    entities = tables[ENTITIES].sort("name")
    relationships = tables[RELATIONSHIPS].sort("source", "target")
    claims = tables[MERGED_CLAIMS].sort("subject", "object", "type", "description", "claim_id")
    place = {name: number for number, name in enumerate(entities["name"])}
    pairs = relationships.select("source", "target").iter_rows()
    ends = np.fromiter((place[end] for pair in pairs for end in pair), np.int64, 2 * len(relationships))
    ends = ends.reshape(-1, 2)
    titles = entities["title"]
    return Elements(
        entities=ElementRows(entities["entity_id"], entities.select("title", "description"), count),
        relationships=ElementRows(
            relationships["relationship_id"],
            relationships.select(
                titles.gather(ends[:, 0]).alias("source"),
                titles.gather(ends[:, 1]).alias("target"),
                "description",
                "combined_degree",
            ),
            count,
        ),
        claims=ElementRows(claims["claim_id"], _claim_cells(claims, entities), count),
        names=entities["name"],
        entity_values=entities.select("title", "type", "description", "degree"),
        relationship_values=relationships.select("description", "weight", "combined_degree"),
        ends=ends,
        claims_of=_claims_of(claims, place),
        communities=_communities(tables, entities, relationships, ends),
    )


def _claim_cells(claims: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    titles: dict[str, str] = dict(entities.select("name", "title").iter_rows()) if len(claims) else {}
    named = (
        pl.Series(end, [titles.get(name, name) for name in claims[end].fill_null("")], dtype=pl.String)
        for end in ("subject", "object")
    )
    columns = ("type", "status", "start_date", "end_date", "description")
    return claims.select(*named, pl.col(columns).fill_null(""))


def _claims_of(claims: pl.DataFrame, place: dict[str, int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for number, names in enumerate(claims.select("subject", "object").iter_rows()):
        for name in dict.fromkeys(names):
            if name in place:
                found.setdefault(place[name], []).append(number)
    return found


def _communities(
    tables: Tables, entities: pl.DataFrame, relationships: pl.DataFrame, ends: NDArray[np.int64]
) -> dict[str, Community]:
    # By places alone, which take a quarter of the memory of ids.
    communities = tables[COMMUNITIES].select("community_id", "parent_id").sort("community_id")
    inside = (
        tables[COMMUNITY_MEMBERS]
        .join(communities.select("community_id").with_row_index("community"), on="community_id")
        .join(entities.select("entity_id", "degree").with_row_index("entity"), on="entity_id")
        .select("community", "entity", "degree")
    )
    places = inside.select("community", "entity")
    internal = (
        pl.DataFrame({"one": ends[:, 0], "other": ends[:, 1], "rank": -relationships["combined_degree"]})
        .cast({"one": pl.UInt32, "other": pl.UInt32})
        .with_row_index("edge")
        .join(places.rename({"entity": "one"}), on="one")
        .join(places.rename({"entity": "other"}), on=["community", "other"])
    )
    touched = pl.concat([internal.select("community", entity=end) for end in ("one", "other")]).unique()
    alone = inside.join(touched, on=["community", "entity"], how="anti")
    of_members = _group_by_community(places.sort("community", "entity"), "entity")
    of_edges = _group_by_community(internal.drop("one", "other").sort("community", "rank", "edge"), "edge")
    of_alone = _group_by_community(alone.sort("community", -pl.col("degree"), "entity"), "entity")
    children: dict[str, list[str]] = {}
    for child, parent in communities.iter_rows():
        children.setdefault(parent, []).append(child)
    return {
        name: Community(
            of_members.get(place, _NONE),
            of_edges.get(place, _NONE),
            of_alone.get(place, _NONE),
            tuple(children.get(name, ())),
        )
        for place, name in enumerate(communities["community_id"])
    }


def _group_by_community(rows: pl.DataFrame, column: str) -> dict[int, NDArray[np.int64]]:
    """Return the values of a column by ``community``; rows of one community stand together."""
    runs = rows.select(pl.col("community").rle()).unnest("community")
    values = rows[column].cast(pl.Int64).to_numpy()
    cuts = np.cumsum(runs["len"].to_numpy())[:-1]
    return dict(zip(runs["value"], np.split(values, cuts), strict=True)) if len(runs) else {}
