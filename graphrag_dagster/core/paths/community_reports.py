"""The reports of the communities that seeds are in (paper B.10, spec_lego §5)."""

from collections.abc import Sequence

import polars as pl

from graphrag_dagster.core.paths.store import PathStore
from graphrag_dagster.core.text.tokens import Tokenizer

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
        deepest = (
            members.filter(pl.col("community_id").is_in(list(self._contents)))
            .sort("entity_id", "level", "community_id", descending=[False, True, False])
            .unique("entity_id", keep="first", maintain_order=True)
        )
        self._report_of: dict[str, str] = dict(deepest.select("entity_id", "community_id").iter_rows())

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
