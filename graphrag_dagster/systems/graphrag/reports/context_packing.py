"""Packing of a community's context into a token budget (paper §3.1.5).

Rank decides which rows get in; a stable key (entity name, source and target, report title) decides their
order and their numbers, so that a prompt changes only when its rows do. One column follows the whole graph
all the same: the combined degree, which the paper's context shows.

**Exact, yet fast.** A row begins with a digit and ends with a line break, so the tokens of a context are the
sum of those of its rows and headers, up to numbers that grow by a digit. The sum tells where the budget ends;
there and one step further the tokens of the rendered text are looked at, and the place is moved until the one
fits and the other does not. Where the tokenizer is known to end a token at each of these line breaks, they
are that sum and those of the numbers; for any other the text is counted whole. That it ends before the
*first* step that does not fit holds for every tokenizer that gives a longer context no fewer tokens.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.common.lazy_values import AsRead
from graphrag_dagster.kernel.tasks.task_ports import (
    ContextEntity,
    ContextRelationship,
    ContextReport,
    RecordKind,
)
from graphrag_dagster.systems.graphrag.reports.context_draft import Draft, NumberTokens, Step
from graphrag_dagster.systems.graphrag.reports.context_node_section import ContextNodes
from graphrag_dagster.systems.graphrag.reports.report_context import (
    HEADERS,
    ChildReport,
    Community,
    ElementRows,
    Elements,
    PackedContext,
    rendered,
    shorten_texts,
)

_NO_REPORTS = ElementRows(pl.Series(dtype=pl.String), pl.DataFrame(), lambda _: [])


class Packer:
    """Packs the contexts of all communities of a graph.

    Args:
        limit: most tokens of a context.
        rows_add_up: whether ``count`` gives a context the sum of what it gives its rows and headers, as
            :attr:`graphrag_dagster.kernel.text.tokenization.Tokenizer.lines_add_up` says.
    """

    def __init__(
        self,
        elements: Elements,
        count: Callable[[str], int],
        limit: int,
        context_nodes: ContextNodes | None = None,
        *,
        rows_add_up: bool = False,
    ) -> None:
        self._elements = elements
        self._count = count
        self._count_rows = elements.entities.count
        self._rows: dict[RecordKind, ElementRows] = {
            "entity": elements.entities,
            "claim": elements.claims,
            "relationship": elements.relationships,
        }
        self._headers = {kind: count(header) for kind, header in HEADERS.items()}
        self._limit = limit
        self._context_nodes = context_nodes
        self._numbers = NumberTokens(count) if rows_add_up else None

    def pack(self, community_id: str, reports: Mapping[str, ChildReport]) -> PackedContext:
        """Return the context of a community; it never has more tokens than the limit.

        All elements where they fit. Otherwise, largest first, the reports of sub-communities stand for
        their elements until the rest fits, or as many reports as fit. Otherwise edges by combined degree,
        each with its ends and their claims, up to the first that does not fit; then members without an
        edge. Otherwise the first edge with its texts cut. Behind all that come context nodes, where they fit.

        Args:
            community_id: the community.
            reports: reports by id of their community; sub-communities without one keep their elements.
        """
        return self._with_context_nodes(self._pack_members(community_id, reports), community_id)

    def complete(self, community_id: str) -> PackedContext | None:
        """Return what :meth:`pack` does where all elements fit, else None."""
        packed = self._pack_all(self._elements.communities[community_id])
        return packed and self._with_context_nodes(packed, community_id)

    def _with_context_nodes(self, context: PackedContext, community_id: str) -> PackedContext:
        return self._context_nodes.append_to(context, community_id) if self._context_nodes else context

    def _pack_all(self, community: Community) -> PackedContext | None:
        """Return the context of all elements, where the sum of its rows says that they fit, and so it is."""
        tokens = self._tokens_of(community)
        if tokens > self._limit:
            return None
        places = {kind: np.sort(some).tolist() for kind, some in self._all_of(community)}
        text = rendered({kind: self._rows[kind].texts_at(some) for kind, some in places.items()})
        if self._numbers is None:
            tokens = self._count(text)
        else:
            tokens += sum(self._numbers.extra_tokens(len(some)) for some in places.values())
        return (
            self._packed_context(text, tokens, places, [], complete=True) if tokens <= self._limit else None
        )

    def _pack_members(self, community_id: str, reports: Mapping[str, ChildReport]) -> PackedContext:
        community = self._elements.communities[community_id]
        if whole := self._pack_all(community):
            return whole
        known = {child: reports[child] for child in community.children if child in reports}
        ordered = dict(sorted(known.items(), key=lambda item: (item[1].title, item[1].content, item[0])))
        draft = self._substitute_reports(community, ordered) if ordered and self._numbers else None
        if draft is None:
            draft, all_in = self._grow(community)
            if all_in:
                return self._finish_draft(draft, {}, complete=True)
            if ordered and not self._numbers:
                draft = self._substitute_reports(community, ordered) or draft
        if draft.places("entity") or draft.places("report"):
            return self._finish_draft(draft, ordered, complete=False)
        return self._shorten_first(community)

    def _grow(self, community: Community) -> tuple[Draft, bool]:
        """Return the elements up to the first that does not fit, and whether there is none."""
        draft = self._draft(_NO_REPORTS)
        edges_fit = draft.grow(self._edge_steps(community))
        members_fit = draft.grow(self._entity_step(entity) for entity in community.alone.tolist())
        return draft, edges_fit and members_fit

    def _draft(self, reports: ElementRows) -> Draft:
        rows = {**self._rows, "report": reports}
        return Draft(rows, self._headers, self._count, self._limit, self._numbers)

    def _all_of(self, community: Community) -> Iterator[tuple[RecordKind, NDArray[np.int64]]]:
        yield "entity", community.members
        yield "claim", self._elements.claims_about(community.members)
        yield "relationship", community.edges

    def _tokens_of(self, community: Community) -> int:
        """Return the tokens of a community's own elements, headers included: the sum over its rows."""
        return sum(
            self._headers[kind] + int(self._rows[kind].tokens(places).sum())
            for kind, places in self._all_of(community)
            if len(places)
        )

    def _entity_step(self, entity: int) -> list[tuple[RecordKind, int]]:
        claims = self._elements.claims_of.get(entity, ())
        return [("entity", entity), *(("claim", claim) for claim in claims)]

    def _edge_steps(self, community: Community) -> Iterator[Step]:
        for edge in community.edges.tolist():
            one, other = self._elements.ends[edge].tolist()
            yield [*self._entity_step(one), *self._entity_step(other), ("relationship", edge)]

    def _substitute_reports(self, community: Community, reports: Mapping[str, ChildReport]) -> Draft | None:
        place = {child: number for number, child in enumerate(reports)}
        rows = ElementRows(
            pl.Series([*reports], dtype=pl.String),
            pl.DataFrame({"report": [report.content for report in reports.values()]}),
            self._count_rows,
        )
        size = {child: self._tokens_of(self._elements.communities[child]) for child in reports}
        order = sorted(reports, key=lambda child: (-size[child], child))
        return _fewest_reports(
            self._elements,
            community,
            [self._elements.communities[child] for child in order],
            rows,
            np.array([place[child] for child in order]),
            lambda: self._draft(rows),
            self._limit,
        )

    def _finish_draft(
        self, draft: Draft, reports: Mapping[str, ChildReport], *, complete: bool
    ) -> PackedContext:
        of_reports = list(reports.items())
        shown = [of_reports[place] for place in draft.places("report")]
        places = {kind: draft.places(kind) for kind in self._rows}
        return self._packed_context(*draft.rendered(), places, shown, complete=complete)

    def _packed_context(
        self,
        text: str,
        tokens: int,
        places: Mapping[RecordKind, Sequence[int]],
        shown: Sequence[tuple[str, ChildReport]],
        *,
        complete: bool,
    ) -> PackedContext:
        entities, edges = places["entity"], places["relationship"]
        return PackedContext(
            text=text,
            tokens=tokens,
            complete=complete,
            entities=AsRead(self._entities(entities)),
            relationships=AsRead(self._relationships(entities, edges)),
            reports=tuple(
                ContextReport(number, report.title, report.summary, report.content)
                for number, (_, report) in enumerate(shown, start=1)
            ),
            ids={
                "report": tuple(child for child, _ in shown),
                **{kind: rows.ids_at(places[kind]) for kind, rows in self._rows.items()},
            },
        )

    def _entities(self, places: Sequence[int]) -> Iterator[ContextEntity]:
        values = self._elements.entity_values[places].iter_rows()
        for number, value in enumerate(values, start=1):
            yield ContextEntity(number, *value)

    def _relationships(self, entities: Sequence[int], edges: Sequence[int]) -> Iterator[ContextRelationship]:
        number_of = {place: number for number, place in enumerate(entities, start=1)}
        ends, values = self._elements.ends[edges], self._elements.relationship_values[edges].iter_rows()
        for number, ((one, other), value) in enumerate(zip(ends.tolist(), values, strict=True), start=1):
            yield ContextRelationship(number, number_of[one], number_of[other], *value)

    def _shorten_first(self, community: Community) -> PackedContext:
        """Return the first edge, or the first member, with its texts cut to the most characters that fit."""
        edges = community.edges[:1].tolist()
        places = sorted(self._elements.ends[edges].ravel().tolist()) or community.alone[:1].tolist()
        entities, relationships = tuple(self._entities(places)), tuple(self._relationships(places, edges))
        ids: dict[RecordKind, tuple[str, ...]] = {
            "report": (),
            "entity": self._elements.entities.ids_at(places),
            "claim": (),
            "relationship": self._elements.relationships.ids_at(edges),
        }
        return shorten_texts(entities, relationships, ids, self._count, self._limit)


@dataclass(frozen=True, slots=True)
class _Leaving:
    """Rows of one kind; ``rank`` r leaves with the report r (0…), rank m, the number of reports, never."""

    kind: RecordKind
    rows: ElementRows
    places: NDArray[np.int64]
    rank: NDArray[np.int64]

    def kept_tokens(self, reports: int) -> NDArray[np.float64]:
        """Return the tokens of the rows that are left after 0, 1, … ``reports`` reports."""
        kept = np.zeros(reports + 1)
        np.add.at(kept, self.rank, self.rows.tokens(self.places))
        return kept[::-1].cumsum()[::-1]


def _fewest_reports(
    elements: Elements,
    community: Community,
    children: Sequence[Community],
    reports: ElementRows,
    order: NDArray[np.int64],
    draft: Callable[[], Draft],
    limit: int,
) -> Draft | None:
    """Return the draft with the fewest reports that fits, else as many reports as fit, else None.

    Elements kept are the entities of the other children, their claims, and the edges with both ends there.
    The sum of the rows alone, without headers, rules out what is too large without rendering it. ``children``
    have a report and stand in the order in which these replace them; ``order`` are the places of the reports.
    """
    leaving = _substitutions(elements, community, children)
    kept = np.sum([rows.kept_tokens(len(order)) for rows in leaving], axis=0)
    reported = np.cumsum(reports.tokens(order))
    for number in range(1, len(order) + 1):
        if kept[number] + reported[number - 1] <= limit:
            made = draft()
            made.take("report", order[:number])
            for rows in leaving:
                made.take(rows.kind, rows.places[rows.rank >= number])
            if made.fits():
                return made
    made = draft()
    made.grow([("report", place)] for place in order.tolist())
    return made if made.places("report") else None


def _substitutions(elements: Elements, community: Community, children: Sequence[Community]) -> list[_Leaving]:
    members, edges = community.members, community.edges
    rank = np.full(len(members), len(children), dtype=np.int64)
    for number, child in enumerate(children):
        rank[np.searchsorted(members, child.members)] = number
    ends = rank[np.searchsorted(members, elements.ends[edges])]
    claims: dict[int, int] = {}
    for entity, number in zip(members.tolist(), rank.tolist(), strict=True):
        for claim in elements.claims_of.get(entity, ()):
            claims[claim] = max(number, claims.get(claim, 0))
    return [
        _Leaving("entity", elements.entities, members, rank),
        _Leaving("relationship", elements.relationships, edges, ends.min(axis=1)),
        _Leaving("claim", elements.claims, _array(claims.keys()), _array(claims.values())),
    ]


def _array(values: Iterable[int]) -> NDArray[np.int64]:
    return np.fromiter(values, dtype=np.int64)
