"""Reports of sub-communities in place of their elements (paper §3.1.5, spec_graphrag §6)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag_dagster.core.language.tasks import RecordKind
from graphrag_dagster.core.reports.draft import Draft
from graphrag_dagster.core.reports.elements import Community, Elements, Rows


@dataclass(frozen=True, slots=True)
class _Leaving:
    """Rows of one kind; ``rank`` r leaves with the report r (0…), rank m, the number of reports, never."""

    kind: RecordKind
    rows: Rows
    places: NDArray[np.int64]
    rank: NDArray[np.int64]

    def kept_tokens(self, reports: int) -> NDArray[np.float64]:
        """Return the tokens of the rows that are left after 0, 1, … ``reports`` reports."""
        kept = np.zeros(reports + 1)
        np.add.at(kept, self.rank, self.rows.tokens(self.places))
        return kept[::-1].cumsum()[::-1]


def substitute(
    elements: Elements,
    community: Community,
    children: Sequence[Community],
    reports: Rows,
    order: NDArray[np.int64],
    draft: Callable[[], Draft],
    limit: int,
) -> Draft | None:
    """Return the draft with the fewest reports that fits, else as many reports as fit, else None.

    Elements kept are the entities of the other children, their claims, and the edges with both ends there.
    The sum of the rows alone, without headers, rules out what is too large without rendering it.

    Args:
        elements: the indexed graph.
        community: the community whose context is too large.
        children: its sub-communities that have a report, in the order in which reports replace them.
        reports: the rows of the reports.
        order: for each of ``children``, the place of its report in ``reports``.
        draft: makes an empty draft over ``reports`` and the elements.
        limit: most tokens of the context.
    """
    leaving = _leaving(elements, community, children)
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


def _leaving(elements: Elements, community: Community, children: Sequence[Community]) -> list[_Leaving]:
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
