"""The reports of communities: those of seeds (paper B.10, spec_lego §5), and which is nearest (B.7, §8)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from graphrag_dagster.kernel.graph.arrays import PathStore
from graphrag_dagster.kernel.text.tokens import Tokenizer
from graphrag_dagster.systems.lego.subgraphs.partition import CommunityTexts, Partition

#: Tokens of a report, and of all together.
LONGEST, TOGETHER = 2000, 6000


class SeedReports:
    """Finds the report of the deepest community of each seed that has one.

    Args:
        store: the graph.
        members: ``entity_id``, ``community_id`` and ``level``, as ``graph.community_members``.
        reports: ``report_id``, which is a community's, and ``content``, as ``reports.community_reports``.
        tokenizer: counts.
    """

    def __init__(
        self, store: PathStore, members: pl.DataFrame, reports: pl.DataFrame, tokenizer: Tokenizer
    ) -> None:
        self._store, self._tokenizer = store, tokenizer
        self._contents: dict[str, str] = dict(reports.select("report_id", "content").iter_rows())
        self._report_of = _deepest(members, self._contents)

    def of(self, seeds: Sequence[int]) -> tuple[str, ...]:
        """Return the different reports of seeds in their order, cut to :data:`LONGEST` tokens each.

        The one with which there are more than :data:`TOGETHER` is cut to what is left, and ends them.
        """
        ids = (self._report_of.get(self._store.entity_ids[seed]) for seed in seeds)
        left, found = TOGETHER, []
        for report in dict.fromkeys(one for one in ids if one is not None):
            text = self._tokenizer.truncate(self._contents[report], min(LONGEST, left))
            if not text.strip():
                break
            found.append(text)
            left -= self._tokenizer.count(text)
            if left <= 0:
                break
        return tuple(found)


@dataclass(frozen=True)
class ReportedCommunities:
    """The deepest communities with a report as a partition of the graph.

    Attributes:
        partition: the communities; a node that no report is about is one of its own.
        texts: vectors of their reports.
    """

    partition: Partition
    texts: CommunityTexts

    @classmethod
    def of(cls, store: PathStore, members: pl.DataFrame, vectors: pl.DataFrame) -> "ReportedCommunities":
        """Return them.

        Args:
            store: the graph.
            members: as of :class:`SeedReports`.
            vectors: ``report_id`` and ``vector``, as ``embeddings.community_reports``.
        """
        known = dict(vectors.select("report_id", "vector").iter_rows())
        report_of = _deepest(members, known)
        partition = Partition.of([report_of.get(one) or f"alone {one}" for one in store.entity_ids])
        numbers = {
            report: int(community)
            for one, community in zip(store.entity_ids, partition.community_of, strict=True)
            if (report := report_of.get(one)) is not None
        }
        communities = np.array(list(numbers.values()), dtype=np.int64)
        rows = np.array([known[report] for report in numbers], dtype=np.float32)
        return cls(partition, CommunityTexts(communities, rows))


def _deepest(members: pl.DataFrame, reported: Collection[str]) -> dict[str, str]:
    """Return the deepest community of each entity that has a report."""
    deepest = (
        members.filter(pl.col("community_id").is_in(list(reported)))
        .sort("entity_id", "level", "community_id", descending=[False, True, False])
        .unique("entity_id", keep="first", maintain_order=True)
    )
    return dict(deepest.select("entity_id", "community_id").iter_rows())
