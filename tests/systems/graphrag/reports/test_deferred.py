"""Evidence is looked for where a writer of reports reads it."""

from collections.abc import Sequence
from dataclasses import replace

from test_build import PAIRS, TREE, QuotingWriter, corpus

from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES
from graphrag_dagster.kernel.tasks.task_ports import Finding, ReportRequest, WrittenReport
from graphrag_dagster.systems.graphrag.reports.report_building import build_reports
from support.report_graphs import Counted, build_graph, tables_of, words_of


class ReadingTheText:
    """Writes from the text of a context alone."""

    engine = "llm"

    def write(self, requests: Sequence[ReportRequest]) -> list[WrittenReport]:
        told = [Finding("All", request.context) for request in requests]
        return [WrittenReport("T", "S", 1.0, "", (finding,), "llm") for finding in told]


class FallingBack(ReadingTheText):
    """Has some reports written by another, which reads the evidence."""

    def write(self, requests: Sequence[ReportRequest]) -> list[WrittenReport]:
        quoted = QuotingWriter().write(requests)
        return [replace(one, problem="lost") for one in quoted]


def test_evidence_is_looked_for_only_where_a_writer_reads_it(monkeypatch) -> None:
    graph, looked = build_graph([(pair[0], pair[1]) for pair in PAIRS], TREE), []
    index = build_reports.__globals__["EvidenceIndex"]

    def counted(*given):
        looked.append("looked")
        return index(*given)

    monkeypatch.setitem(build_reports.__globals__, "EvidenceIndex", counted)
    for writer, times in ((ReadingTheText(), 0), (FallingBack(), 1)):
        made = build_reports(
            tables_of({**graph.frames(), **corpus(graph), "context_nodes": CONTEXT_NODES.empty()}),
            writer=writer,
            tokens=Counted(words_of),
            context_tokens=60,
            context_share=0.15,
        )
        assert len(looked) == times
        assert (len(made.references) > 0) == bool(times)
