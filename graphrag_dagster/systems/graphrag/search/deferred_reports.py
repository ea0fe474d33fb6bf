"""Reports of levels below ``reports.deepest_level``: written when a question reads them.

They are written as an indexing run would write them, by the same prompt, so that a model's reply to either is
in the LLM cache for the other; their calls are the question's. The published snapshot stays as it is: an
opened index has them until it is opened again, the replies last. A community whose elements do not fit a
context shows the best-connected ones, since there are no reports of its sub-communities.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

import polars as pl

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.storage.published import reading
from graphrag_dagster.kernel.storage.published.derived_files import SnapshotShelf
from graphrag_dagster.kernel.tables import (
    ALIASES,
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
from graphrag_dagster.kernel.tasks.task_ports import Engine, ReportRequest, ReportWriter, Usage, WrittenReport
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
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

    def __init__(self, index: IndexSnapshot, shelf: SnapshotShelf) -> None:
        self._shelf = shelf
        self._lock = Lock()
        #: With all reports that there are. What is stored beside a snapshot is of the reports that it has.
        self.index = replace(index, shelf=None)

    def write(self, communities: Collection[str], search: Search) -> Usage:
        """Write the reports of some communities that have none yet, and return what that cost.

        Raises:
            QuestionError: the snapshot was replaced by a newer one.
            EngineError: the engine writes no reports, or not one for each request.
            EndpointError: the model endpoint cannot be used.
        """
        # Not needed by other questions.
        from graphrag_dagster.systems.graphrag.reports.report_building import build_reports

        with self._lock:
            there = set(self.index.reports["report_id"])
            missing = [community for community in communities if community not in there]
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

    def _tables(self, communities: Sequence[str]) -> dict[Table, pl.DataFrame]:
        """Return all that reports of some communities are written from."""
        with reading(self._shelf.warehouse, self._shelf.corpus) as (reader, snapshot):
            if snapshot is None or snapshot.index != self._shelf.snapshot.index:
                raise QuestionError("the index was replaced by a newer one while it was read; ask again")

            def read(table: Table) -> pl.DataFrame:
                found = reader.read_if_present(table)
                return table.empty() if found is None else found

            wanted = pl.Series("community_id", communities, dtype=pl.String).to_frame()
            members = read(COMMUNITY_MEMBERS).join(wanted, on="community_id", how="semi")
            context = read(CONTEXT_NODES).join(wanted, on="community_id", how="semi")
            entities, claims = read(ENTITIES), read(MERGED_CLAIMS)
            inside = pl.concat([members.select("entity_id"), context.select("entity_id")])
            names = entities.join(inside, on="entity_id", how="semi")["name"].implode()
            claims = claims.filter(pl.col("subject").is_in(names) | pl.col("object").is_in(names))
            # Claims show the titles of both ends.
            named = pl.concat([claims["subject"], claims["object"]]).implode()
            entities = entities.filter(
                pl.col("entity_id").is_in(inside["entity_id"].implode()) | pl.col("name").is_in(named)
            )
            ids = entities["entity_id"].implode()
            relationships = read(RELATIONSHIPS).filter(
                pl.col("source_id").is_in(ids) & pl.col("target_id").is_in(ids)
            )
            units = pl.concat([entities["text_unit_ids"].explode(), relationships["text_unit_ids"].explode()])
            in_units = pl.col("text_unit_id").is_in(units.implode())
            every = read(COMMUNITIES)
            kept = pl.concat([wanted["community_id"], context["home_id"]]).implode()
            # The largest one is what all are measured by.
            largest = pl.col("summed_degree") == pl.col("summed_degree").max()
            return {
                ENTITIES: entities,
                RELATIONSHIPS: relationships,
                MERGED_CLAIMS: claims,
                COMMUNITIES: every.filter(pl.col("community_id").is_in(kept) | largest),
                COMMUNITY_MEMBERS: members,
                TEXT_CHUNKS: read(TEXT_CHUNKS).filter(in_units),
                GLEANED_ENTITIES: read(GLEANED_ENTITIES).filter(in_units),
                GLEANED_RELATIONSHIPS: read(GLEANED_RELATIONSHIPS).filter(in_units),
                ALIASES: read(ALIASES),
                CONTEXT_NODES: context,
            }


def deferred_reports(search: Search, level: int) -> DeferredReports | None:
    """Return the reports that a question down to a level may have written; None where none are deferred."""
    deepest = search.settings.section(ReportSettings).deepest_level
    shelf = search.index.shelf
    if deepest is None or level <= deepest or not isinstance(shelf, SnapshotShelf):
        return None
    return search.index.once(DeferredReports, shelf)
