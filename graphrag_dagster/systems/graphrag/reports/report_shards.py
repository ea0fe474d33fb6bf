"""Reports of a model that is asked by several interpreters, a part of each wave by each."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import polars as pl
from pydantic import TypeAdapter

from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.models.chat.structured_output import UnusableReply
from graphrag_dagster.kernel.pipeline.shard_workers import Work
from graphrag_dagster.kernel.pipeline.shards import Shards
from graphrag_dagster.kernel.tasks.task_ports import ReportRequest, ReportWriter, WrittenReport
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.graphrag.llm.summarization import LlmReportWriter
from graphrag_dagster.systems.graphrag.reports.report_reuse import report_as_json, report_from_json
from graphrag_dagster.systems.graphrag.tasks import REPORT_WRITER

#: Reports that a shard hands over together: the first of a wave are needed before the last are there.
_TOGETHER = 256
_SAID = {"community": pl.Int64, "report": pl.String, "problem": pl.String, "usage": pl.String}


def writer_in_shards(writer: ReportWriter, shards: Shards) -> ReportWriter:
    """Return a writer that asks a model by shards, where they are several; an engine of others stays."""
    return _ShardedReportWriter(writer, shards) if isinstance(writer, LlmReportWriter) else writer


class _ShardedReportWriter:
    def __init__(self, writer: LlmReportWriter, shards: Shards) -> None:
        self.engine = writer.engine
        self._writer = writer
        self._shards = shards

    def write(self, requests: Sequence[ReportRequest]) -> Iterator[WrittenReport]:
        if self._shards.number == 1:
            yield from self._writer.write(requests)
            return
        parts = [requests[start : start + _TOGETHER] for start in range(0, len(requests), _TOGETHER)]
        with ThreadPoolExecutor(len(parts), "report-shards") as threads:
            for part, said in zip(parts, threads.map(self._ask, parts), strict=True):
                yield from self._writer.completed(part, said)

    def _ask(self, requests: Sequence[ReportRequest]) -> list[WrittenReport | UnusableReply]:
        rows = pl.DataFrame(
            {
                "community": range(len(requests)),
                "context": [request.context for request in requests],
                "has_context_nodes": [bool(request.context_nodes) for request in requests],
            }
        )
        made = self._shards.run(report_asking, rows, by="context", of="community", quiet=True)
        said = pl.concat([tables["said"] for tables in made]).sort("community")
        return [_read(*row) for row in said.drop("community").iter_rows()]


def report_asking(session: TaskProvider) -> Work:
    """Return what asks for the reports of contexts, in whatever interpreter it is made."""
    writer = session.task(REPORT_WRITER)
    if not isinstance(writer, LlmReportWriter):
        raise TypeError(f"{type(writer).__name__} asks no model for reports")

    def ask(rows: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
        said = writer.ask(list(rows.select("context", "has_context_nodes").iter_rows()))
        told = [(place, *_row(one)) for place, one in zip(rows["community"], said, strict=True)]
        return {"said": pl.DataFrame(told, schema=_SAID, orient="row")}

    return ask


def _row(said: WrittenReport | UnusableReply) -> tuple[str | None, str | None, str | None]:
    if isinstance(said, WrittenReport):
        return report_as_json(said), None, None
    return None, said.reason, _usage().dump_json(said.usage).decode()


def _read(report: str | None, problem: str, usage: str) -> WrittenReport | UnusableReply:
    if report is not None:
        return report_from_json(report)
    return UnusableReply(problem, "", "", _usage().validate_json(usage))


@cache
def _usage() -> TypeAdapter[Usage]:
    return TypeAdapter(Usage)
