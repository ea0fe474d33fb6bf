from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

from test_build import PAIRS, TREE, QuotingWriter, corpus

from graphrag_dagster.kernel.common.lazy_values import Deferred, once
from graphrag_dagster.kernel.tables import CONTEXT_NODES
from graphrag_dagster.kernel.tasks.task_ports import Finding, ReportRequest, WrittenReport
from graphrag_dagster.systems.graphrag.reports.report_building import build_reports
from support.report_graphs import Counted, build_graph, words_of


def test_a_sequence_is_made_when_it_is_looked_into_and_once() -> None:
    made: list[str] = []

    def make() -> Sequence[int]:
        made.append("made")
        return [3, 1, 2]

    some = Deferred(make)
    assert made == []
    assert (len(some), some[0], some[1:], list(some), 2 in some) == (3, 3, (1, 2), [3, 1, 2], True)
    assert some == [3, 1, 2]
    assert some == Deferred(lambda: (3, 1, 2))
    assert some != Deferred(lambda: (3, 1))
    assert some != 3
    assert hash(some) == hash(Deferred(lambda: [3, 1, 2]))
    assert repr(some) == "(3, 1, 2)"
    assert made == ["made"]


def test_what_many_threads_ask_for_is_made_once() -> None:
    made: list[object] = []
    all_here = Barrier(8)

    def make() -> object:
        made.append(object())
        return made[-1]

    get = once(make)

    def ask(_: int) -> object:
        all_here.wait()
        return get()

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(ask, range(8))) == {made[0]}
    assert len(made) == 1


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

    def counted(**frames):
        looked.append("looked")
        return index(**frames)

    monkeypatch.setitem(build_reports.__globals__, "EvidenceIndex", counted)
    for writer, times in ((ReadingTheText(), 0), (FallingBack(), 1)):
        made = build_reports(
            **graph.frames(),
            **corpus(graph),
            context_nodes=CONTEXT_NODES.empty(),
            writer=writer,
            tokens=Counted(words_of),
            context_tokens=60,
            context_share=0.15,
        )
        assert len(looked) == times
        assert (len(made.references) > 0) == bool(times)
