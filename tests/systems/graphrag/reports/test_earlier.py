"""Reports of before: taken over where all that they were written from is the same, and never elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_build import PAIRS, TREE, QuotingWriter, corpus
from test_context_nodes import taken

from graphrag_dagster.engines.extractive.extractive_report_writer import ExtractiveReportWriter
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.kernel.tables import CONTEXT_NODES
from graphrag_dagster.kernel.tasks.task_ports import ReportRequest, ReportWriter, WrittenReport
from graphrag_dagster.systems.graphrag.reports.report_building import build_reports
from graphrag_dagster.systems.graphrag.reports.report_reuse import (
    EarlierReport,
    earlier_reports,
    report_as_json,
    report_from_json,
)
from graphrag_dagster.systems.graphrag.reports.report_tables import ReportFrames
from support.report_graphs import Counted, Graph, build_graph, tables_of, words_of

SOME = ["ab", "bc", "de", "xy"]
pairs = st.lists(st.sampled_from([*PAIRS, "ae", "cx"]), unique=True).map(
    lambda found: sorted({*SOME, *found})
)
told = st.dictionaries(st.sampled_from([*"abcdefxy", *PAIRS]), st.sampled_from(["w", "w w w", "w " * 30]))
claims = st.lists(st.sampled_from([("a", "d", "w"), ("x", None, "w w")]), unique=True)
outside = st.sampled_from(
    [CONTEXT_NODES.empty(), taken("p", "x", "q"), taken("p", "xy", "q"), taken("l", "d", "r", 1)]
)


class CountingWriter(ExtractiveReportWriter):
    def __init__(self) -> None:
        self.requests = 0

    def write(self, requests: Sequence[ReportRequest]) -> list[WrittenReport]:
        self.requests += len(requests)
        return super().write(requests)


def frames_of(graph: Graph, before: str, context_nodes: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Tables whose ids of units and documents are those of their texts."""
    found = corpus(graph, before)
    ids = {
        unit: stable_id(text)
        for unit, text in found["text_chunks"].select("text_unit_id", "text").iter_rows()
    }
    named = {
        name: frame.with_columns(pl.col("text_unit_id").replace(ids))
        for name, frame in found.items()
        if "text_unit_id" in frame.columns
    }
    named["text_chunks"] = named["text_chunks"].with_columns(document_id=pl.lit("d") + pl.col("text_unit_id"))
    return {**graph.frames(), **found, **named, "context_nodes": context_nodes}


def build(
    frames: Mapping[str, pl.DataFrame],
    writer: ReportWriter,
    earlier: Mapping[str, EarlierReport] | None = None,
    basis: str = "",
    limit: int = 60,
) -> ReportFrames:
    return build_reports(
        tables_of(frames),
        writer=writer,
        tokens=Counted(words_of),
        context_tokens=limit,
        context_share=0.4,
        basis=basis,
        earlier=earlier or {},
    )


def kept_of(made: ReportFrames) -> dict[str, EarlierReport]:
    tables.WRITTEN_REPORTS.validated(made.written)
    return earlier_reports(made.written, made.reports, made.contexts, made.context_rows)


def same(one: ReportFrames, other: ReportFrames) -> bool:
    return all(left.equals(right) for left, right in zip(astuple(one), astuple(other), strict=True))


states = st.tuples(pairs, told, claims, st.sampled_from(["", "Today "]), outside)


def frames_in(
    state: tuple[list[str], dict[str, str], list[tuple], str, pl.DataFrame],
) -> dict[str, pl.DataFrame]:
    edges, descriptions, claimed, before, context_nodes = state
    graph = build_graph([(one[0], one[1]) for one in edges], TREE, descriptions=descriptions, claims=claimed)
    return frames_of(graph, before, context_nodes)


@given(states, states, st.sampled_from([20, 60, 1000]))
def test_after_any_change_reports_are_those_of_a_first_run(one, other, limit: int) -> None:
    before = kept_of(build(frames_in(one), ExtractiveReportWriter(), limit=limit))
    fresh = build(frames_in(other), ExtractiveReportWriter(), limit=limit)
    assert same(build(frames_in(other), ExtractiveReportWriter(), before, limit=limit), fresh)


@given(states)
def test_where_nothing_has_changed_nothing_is_written(state) -> None:
    frames, writer = frames_in(state), CountingWriter()
    made = build(frames, writer)
    assert writer.requests == len(TREE)
    assert same(build(frames, writer, kept_of(made)), made)
    assert writer.requests == len(TREE)


def test_a_change_is_written_with_what_is_above_it_and_small_numbers_move_without() -> None:
    edges = [(pair[0], pair[1]) for pair in PAIRS]
    frames = frames_of(build_graph(edges, TREE), "", CONTEXT_NODES.empty())
    made, writer = build(frames, ExtractiveReportWriter()), CountingWriter()
    told_anew = build_graph(edges, TREE, descriptions={"e": "w"})
    build(frames_of(told_anew, "", CONTEXT_NODES.empty()), writer, kept_of(made))
    assert writer.requests == len({"p", "r"})
    moved = {
        **frames,
        "entities": frames["entities"].with_columns(pl.col("human_readable_id") + 7),
        "relationships": frames["relationships"].with_columns(pl.col("human_readable_id") * 2),
    }
    again = build(moved, writer, kept_of(made))
    assert writer.requests == 2
    assert same(again, build(moved, ExtractiveReportWriter()))
    assert not again.reports.equals(made.reports)


def test_other_code_models_or_settings_write_all_anew() -> None:
    frames = frames_in((PAIRS, {}, [], "", CONTEXT_NODES.empty()))
    made, writer = build(frames, ExtractiveReportWriter(), basis="one"), CountingWriter()
    build(frames, writer, kept_of(made), basis="other")
    assert writer.requests == len(TREE)


class StandingIn(QuotingWriter):
    def _report(self, request: ReportRequest) -> WrittenReport:
        return replace(super()._report(request), problem="it was no JSON")


@pytest.mark.parametrize("writer", [StandingIn(), QuotingWriter(engine="llm")])
def test_what_stands_in_for_a_reply_is_asked_for_again(writer: QuotingWriter) -> None:
    frames = frames_in((PAIRS, {}, [], "", CONTEXT_NODES.empty()))
    made = build(frames, writer)
    asked = len(writer.batches)
    assert same(build(frames, writer, kept_of(made)), made)
    assert (len(writer.batches) > asked) == isinstance(writer, StandingIn)


class NamingWriter(QuotingWriter):
    """Names what is beside a community, too."""

    def _report(self, request: ReportRequest) -> WrittenReport:
        beside = "".join(node.entity.title for node in request.context_nodes)
        return replace(super()._report(request), title=f"Beside {beside}.")


def test_what_a_report_below_was_written_from_counts_where_it_stands_for_its_community() -> None:
    long = dict.fromkeys("abcdef", "w " * 40)
    none, beside = CONTEXT_NODES.empty(), taken("l", "x", "q", level=1)
    before, after = (frames_in((PAIRS, long, [], "", one)) for one in (none, beside))
    writer = NamingWriter(engine="llm")
    made, fresh = (build(frames, writer, limit=100) for frames in (before, after))
    assert set(made.reports["title"]) == {"Beside ."}
    assert set(fresh.reports["title"]) == {"Beside .", "Beside x."}
    assert fresh.contexts["context"].str.contains("Beside x.").sum() == 1
    assert same(build(after, writer, kept_of(made), limit=100), fresh)


def test_what_a_report_cost_is_no_part_of_how_it_is_kept() -> None:
    report = WrittenReport(
        "The strike", "It was long.", 5.0, "", (), "llm", usage=Usage(1, 600, 90, repaired=1)
    )
    asked_twice = replace(report, usage=Usage(3, 2100, 170, repaired=1))
    assert report_as_json(asked_twice) == report_as_json(report)
    assert report_from_json(report_as_json(report)).usage.repaired == 1
