"""Reports of levels below ``reports.levels``: written when a question reads them.

They are written as an indexing run would write them, by the same prompt, so that a model's reply to either is
in the LLM cache for the other; their calls are the question's. The published snapshot stays as it is: an
opened index has them until it is opened again, the replies last. A community whose elements do not fit a
context shows the best-connected ones, since there are no reports of its sub-communities.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

import polars as pl

from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.storage.index_cache import Shelf
from graphrag_dagster.kernel.tables import (
    COMMUNITIES,
    COMMUNITY_MEMBERS,
    CONTEXT_NODES,
    ENTITIES,
    GLEANED_ENTITIES,
    GLEANED_RELATIONSHIPS,
    MERGED_CLAIMS,
    RELATIONSHIPS,
    TEXT_CHUNKS,
    Table,
)
from graphrag_dagster.kernel.tasks.task_ports import Engine, ReportRequest, ReportWriter, WrittenReport
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.reports.report_reuse import WRITTEN_FROM
from graphrag_dagster.systems.graphrag.settings import ReportSettings
from graphrag_dagster.systems.graphrag.tasks import REPORT_WRITER

_NONE = Usage()


@dataclass
class _Counting:
    """A report writer that adds up what its reports cost."""

    writer: ReportWriter
    usage: Usage = _NONE
    _lock: Lock = field(default_factory=Lock)

    @property
    def engine(self) -> Engine:
        return self.writer.engine

    def write(self, requests: Sequence[ReportRequest]) -> Iterable[WrittenReport]:
        for report in self.writer.write(requests):
            with self._lock:
                self.usage += report.usage
            yield report


class DeferredReports:
    """The reports of an opened index, and those that questions had written.

    Args:
        index: the index as it was opened.
        shelf: of its snapshot.
    """

    def __init__(self, index: IndexSnapshot, shelf: Shelf) -> None:
        self._shelf = shelf
        self._lock = Lock()
        #: With all reports that there are. What is stored beside a snapshot is of the reports that it has.
        self.index = replace(index, shelf=None)

    def write(self, communities: Collection[str], search: Search) -> Usage:
        """Write the reports of some communities that have none yet, and return what that cost.

        Raises:
            WarehouseError: the snapshot was replaced by a newer one.
            EngineError: the engine writes no reports, or not one for each request.
            EndpointError: the model endpoint cannot be used.
        """
        # Not needed by other questions.
        from graphrag_dagster.systems.graphrag.reports.report_building import build_reports

        # Who needs only reports that are there waits for no one who has others written.
        if not self._missing(communities):
            return _NONE
        with self._lock:
            missing = self._missing(communities)
            if not missing:
                return _NONE
            writer, own = (
                _Counting(search.engines.task(REPORT_WRITER)),
                search.settings.section(ReportSettings),
            )
            made = build_reports(
                self._tables(missing),
                writer=writer,
                tokens=get_tokenizer(search.settings.text_units.encoding),
                context_tokens=own.context_tokens,
                context_share=own.context_share,
                only=missing,
            )
            self.index = replace(
                self.index,
                reports=pl.concat([self.index.reports, made.reports]),
                findings=pl.concat([self.index.findings, made.findings]),
                references=pl.concat([self.index.references, made.references]),
            )
            return writer.usage

    def _missing(self, communities: Collection[str]) -> list[str]:
        there = set(self.index.reports["report_id"])
        return [community for community in communities if community not in there]

    def _tables(self, communities: Sequence[str]) -> dict[Table, pl.DataFrame]:
        """Return all that reports of some communities are written from."""
        tables = self._shelf.read(WRITTEN_FROM)
        wanted = pl.Series("community_id", communities, dtype=pl.String).to_frame()
        members = tables[COMMUNITY_MEMBERS].join(wanted, on="community_id", how="semi")
        context = tables[CONTEXT_NODES].join(wanted, on="community_id", how="semi")
        inside = pl.concat([members["entity_id"], context["entity_id"]]).implode()
        every = tables[ENTITIES]
        names = every.filter(pl.col("entity_id").is_in(inside))["name"].implode()
        claims = tables[MERGED_CLAIMS].filter(pl.col("subject").is_in(names) | pl.col("object").is_in(names))
        # Claims show the titles of both ends.
        named = pl.concat([claims["subject"], claims["object"]]).implode()
        entities = every.filter(pl.col("entity_id").is_in(inside) | pl.col("name").is_in(named))
        ids = entities["entity_id"].implode()
        relationships = tables[RELATIONSHIPS].filter(
            pl.col("source_id").is_in(ids) & pl.col("target_id").is_in(ids)
        )
        units = pl.concat([entities["text_unit_ids"].explode(), relationships["text_unit_ids"].explode()])
        in_units = pl.col("text_unit_id").is_in(units.implode())
        kept = pl.col("community_id").is_in(pl.concat([wanted["community_id"], context["home_id"]]).implode())
        # The largest one is what all are measured by.
        largest = pl.col("summed_degree") == pl.col("summed_degree").max()
        return {
            **tables,
            ENTITIES: entities,
            RELATIONSHIPS: relationships,
            MERGED_CLAIMS: claims,
            COMMUNITIES: tables[COMMUNITIES].filter(kept | largest),
            COMMUNITY_MEMBERS: members,
            CONTEXT_NODES: context,
            **{
                table: tables[table].filter(in_units)
                for table in (TEXT_CHUNKS, GLEANED_ENTITIES, GLEANED_RELATIONSHIPS)
            },
        }


def deferred_reports(search: Search, level: int) -> DeferredReports | None:
    """Return the reports that a question down to a level may have written; None where none are deferred."""
    deepest = search.settings.section(ReportSettings).levels
    shelf = search.index.shelf
    if deepest is None or level <= deepest or shelf is None:
        return None
    return search.index.once(DeferredReports, shelf)
