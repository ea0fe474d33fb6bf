"""Context nodes in the contexts of reports: last, within their share, and never as members."""

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_build import QuotingWriter, corpus

from graphrag_dagster.engines.extractive.extractive_report_writer import OUTSIDE, ExtractiveReportWriter
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES as TABLE
from graphrag_dagster.kernel.tasks.task_ports import ReportWriter
from graphrag_dagster.systems.graphrag.reports.context_node_section import ContextNodes, attached_nodes
from graphrag_dagster.systems.graphrag.reports.context_packing import Packer
from graphrag_dagster.systems.graphrag.reports.report_building import ReportFrames, build_reports
from graphrag_dagster.systems.graphrag.reports.report_context import (
    CONTEXT_NODES,
    CONTEXT_RELATIONSHIPS,
    index_elements,
)
from support.report_graphs import Counted, Graph, build_graph, tables_of, words_of

PAIRS = ["ab", "ac", "bc", "cx", "xy", "yz", "az"]
TREE: dict[str, tuple[str | None, str]] = {"p": (None, "abc"), "q": (None, "xyz")}
#: Without it the sentences do not read well enough to be quoted.
BEFORE = "The people of the old town of "
TOLD = {name: f"{name} is a place of some words" for name in "abcxyz"}


def graph() -> Graph:
    return build_graph([(one, other) for one, other in PAIRS], TREE, descriptions=TOLD)


def taken(community: str, names: str, home: str, level: int = 0) -> pl.DataFrame:
    return TABLE.frame(
        [
            {
                "level": level,
                "community_id": community,
                "entity_id": stable_id("entity", name),
                "home_id": home,
                "rank": rank,
                "similarity": 0.9 - rank / 10,
                "distance": 1,
                "betweenness": 0.0,
                "score": 0.4,
            }
            for rank, name in enumerate(names, start=1)
        ]
    )


def packed(context_nodes: pl.DataFrame, limit: int = 1000, share: float = 0.5) -> tuple[str, list[str]]:
    made = graph()
    elements = index_elements(made.tables(), Counted(words_of).counts_of_lines)
    attached = attached_nodes(context_nodes, made.communities, elements)
    packer = Packer(elements, words_of, limit, ContextNodes(attached, elements, words_of, limit, share))
    context = packer.pack("p", {})
    assert context.tokens == words_of(context.text) <= limit
    own, others = context.numbers("entity"), context.context_numbers("entity")
    assert sorted([*own.values(), *others.values()]) == list(range(1, len(context.ids["entity"]) + 1))
    return context.text, [node.entity.title for node in context.context_nodes]


def written(context_nodes: pl.DataFrame, writer: ReportWriter) -> ReportFrames:
    made = graph()
    return build_reports(
        tables_of({**made.frames(), **corpus(made, BEFORE), "context_nodes": context_nodes}),
        writer=writer,
        tokens=Counted(words_of),
        context_tokens=1000,
        context_share=0.5,
    )


def test_they_come_last_with_their_home_and_their_edges_and_numbers_that_go_on() -> None:
    text, shown = packed(taken("p", "xz", "q"))
    assert shown == ["x", "z"]
    before, _, behind = text.partition(CONTEXT_NODES)
    assert before == packed(TABLE.empty())[0]
    nodes, _, edges = behind.partition(CONTEXT_RELATIONSHIPS)
    assert nodes.splitlines() == [
        "4,x,x is a place of some words,1,0.80",
        "5,z,z is a place of some words,1,0.70",
    ]
    assert edges.splitlines() == ["4,a,z,,5", "5,c,x,,5"]


def test_only_those_of_the_own_level_are_shown() -> None:
    assert packed(taken("p", "xz", "q", level=1))[1] == []


def test_they_take_no_more_than_their_share_and_give_way_to_members() -> None:
    whole = words_of(packed(TABLE.empty())[0])
    assert packed(taken("p", "xz", "q"), limit=whole)[1] == []
    section = words_of(packed(taken("p", "xz", "q"))[0]) - whole
    assert packed(taken("p", "xz", "q"), share=(section - 1) / 1000)[1] == ["x", "z"]
    assert packed(taken("p", "xz", "q"), share=12 / 1000)[1] == ["x"]
    assert packed(taken("p", "xz", "q"), share=3 / 1000)[1] == []


@given(names=st.permutations("xyz"), limit=st.integers(1, 80), share=st.floats(0, 1))
def test_the_budget_holds_and_the_best_stay(names: Sequence[str], limit: int, share: float) -> None:
    members = packed(TABLE.empty(), limit)[0]
    text, shown = packed(taken("p", "".join(names), "q"), limit, share)
    assert text.startswith(members)
    assert words_of(text[len(members) :]) <= share * limit
    assert set(shown) == set(names[: len(shown)])


def test_an_extractive_report_tells_of_them_apart_with_words_and_citations() -> None:
    without, made = (
        written(rows, ExtractiveReportWriter()) for rows in (taken("p", "", "q"), taken("p", "y", "q"))
    )
    about = pl.col("report_id") == "p"
    before, after = without.findings.filter(about), made.findings.filter(about)
    assert after.head(len(before))["summary"].to_list() == before["summary"].to_list()
    (last,) = after.tail(1).iter_rows(named=True)
    assert last["summary"] == f"{OUTSIDE}y"
    assert f"{BEFORE}x knows y." in last["explanation"]
    cited = made.references.filter(about, finding=last["position"])
    assert cited["valid"].all()
    assert set(cited["kind"]) == {"entity", "text_unit"}
    assert stable_id("entity", "y") in cited["record_id"].to_list()
    assert made.reports.filter(about).item(0, "title") == without.reports.filter(about).item(0, "title")
    others = pl.col("report_id") == "q"
    assert made.reports.filter(others).equals(without.reports.filter(others))


def test_without_words_their_descriptions_are_told() -> None:
    made = graph()
    nothing = {"text_chunks": tables.TEXT_CHUNKS.empty(), "context_nodes": taken("p", "y", "q")}
    found = build_reports(
        tables_of({**made.frames(), **corpus(made), **nothing}),
        writer=ExtractiveReportWriter(),
        tokens=Counted(words_of),
        context_tokens=1000,
        context_share=0.5,
    )
    (last,) = found.findings.filter(report_id="p").tail(1).iter_rows(named=True)
    assert last["summary"] == f"{OUTSIDE}y"
    assert last["explanation"].startswith("y is a place of some words")


def test_a_writer_is_given_them_beside_the_members() -> None:
    writer = QuotingWriter()
    made = written(taken("p", "xz", "q"), writer)
    of_p = next(one for batch in writer.batches for one in batch if one.context_nodes)
    assert {entity.title for entity in of_p.entities} == {"a", "b", "c"}
    assert {node.entity.title for node in of_p.context_nodes} == {"x", "z"}
    assert all(set(one.entities) <= {1, 2, 3} for one in of_p.evidence)
    assert {number for one in of_p.context_evidence for number in one.entities} == {4, 5}
    counted = made.contexts.filter(report_id="p").row(0, named=True)
    assert (counted["entities"], counted["relationships"]) == (5, 5)


@pytest.mark.parametrize("level", [0, 3])
def test_what_is_attached_is_read_at_the_level_of_the_community(level: int) -> None:
    made = graph()
    elements = index_elements(made.tables(), Counted(words_of).counts_of_lines)
    found = attached_nodes(taken("p", "x", "q", level), made.communities, elements)
    assert list(found) == (["p"] if level == 0 else [])
