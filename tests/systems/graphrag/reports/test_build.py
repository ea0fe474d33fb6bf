from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl
import pytest

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tables import CONTEXT_NODES
from graphrag_dagster.kernel.tasks.task_ports import Engine, Finding, Quote, ReportRequest, WrittenReport
from graphrag_dagster.kernel.text.citations import Citation
from graphrag_dagster.systems.graphrag.reports.report_building import ReportFrames, build_reports
from graphrag_dagster.systems.graphrag.reports.report_tables import check_context_rows
from support.report_graphs import Counted, Graph, build_graph, tables_of, words_of

PAIRS = ["ab", "ac", "bc", "cd", "de", "df", "ef", "xy"]
TREE = {"p": (None, "abcdef"), "l": ("p", "abc"), "r": ("p", "def"), "q": (None, "xy")}


@dataclass
class QuotingWriter:
    """Writes what it is given: titles, evidence word for word, and one citation that is not there."""

    rating: float = 5.0
    engine: Engine = "extractive"
    batches: list[list[ReportRequest]] = field(default_factory=list)

    def write(self, requests: Sequence[ReportRequest]) -> list[WrittenReport]:
        self.batches.append(list(requests))
        return [self._report(request) for request in requests]

    def _report(self, request: ReportRequest) -> WrittenReport:
        names = [item.title for item in (*request.reports, *request.entities)]
        quotes = tuple(Quote(item.unit_id, item.span) for item in request.evidence)
        findings = tuple(
            Finding(
                item.text, f"{item.text} [Data: Relationships (1, 99)]", (Citation("entity", 1),), (quote,)
            )
            for item, quote in zip(request.evidence, quotes, strict=True)
        )
        return WrittenReport(
            title=" and\n".join(names),
            summary=" ".join(item.text for item in request.evidence[:1]),
            rating=self.rating,
            rating_explanation="As set [Data: Entities (1)].",
            findings=findings,
            engine=self.engine,
            quotes=quotes[:1],
        )


def build(
    graph: Graph,
    writer: QuotingWriter,
    limit: int = 1000,
    *,
    backwards: bool = False,
    at_once: int | None = None,
) -> ReportFrames:
    frames = {**graph.frames(), **corpus(graph), "context_nodes": CONTEXT_NODES.empty()}
    if backwards:
        frames = {name: frame.reverse() for name, frame in frames.items()}
    return build_reports(
        tables_of(frames),
        writer=writer,
        tokens=Counted(words_of),
        context_tokens=limit,
        context_share=0.15,
        at_once=at_once,
    )


def corpus(graph: Graph, before: str = "") -> dict[str, pl.DataFrame]:
    """A document per relationship, that states it in one sentence, which may begin with something."""
    units, mentions, records = [], [], []
    pairs = sorted(graph.relationships.select("source", "target").rows())
    for number, (one, other) in enumerate(pairs):
        text = f"{before}{one} knows {other}."
        unit = {"text_unit_id": f"t{number}", "round": 0, "position": 0, "engine": "extractive"}
        units.append(
            {
                "text_unit_id": f"t{number}",
                "human_readable_id": number,
                "document_id": f"d{number}",
                "position": 0,
                "start_char": 0,
                "end_char": len(text),
                "text": text,
                "tokens": 3,
                "encoding": "cl100k_base",
                "strategy": "none",
            }
        )
        for place, name in ((len(before), one), (len(text) - 2, other)):
            spans = [{"start": place, "end": place + 1}]
            named = {"name": name, "surface": name, "type": "GEO", "description": "", "spans": spans}
            mentions.append({"instance_id": f"m{number}{name}", **unit, **named})
        stated = {"source": one, "target": other, "description": "", "strength": 1.0, "basis": "verb"}
        spans = [{"start": 0, "end": len(text)}]
        records.append({"instance_id": f"r{number}", **unit, **stated, "spans": spans})
    return {
        "text_chunks": tables.TEXT_CHUNKS.frame(units),
        "gleaned_entities": tables.GLEANED_ENTITIES.frame(mentions),
        "gleaned_relationships": tables.GLEANED_RELATIONSHIPS.frame(records),
        "aliases": tables.ALIASES.empty(),
    }


@pytest.fixture
def graph() -> Graph:
    return build_graph([(pair[0], pair[1]) for pair in PAIRS], TREE)


def test_communities_that_fit_are_written_in_one_batch(graph: Graph) -> None:
    writer = QuotingWriter()
    made = build(graph, writer)
    assert [len(batch) for batch in writer.batches] == [4]
    assert sorted(made.reports["report_id"]) == sorted(TREE)
    tables.COMMUNITY_REPORTS.validated(made.reports)
    tables.REPORT_FINDINGS.validated(made.findings)
    tables.REPORT_REFERENCES.validated(made.references)
    tables.REPORT_CONTEXTS.validated(made.contexts)
    tables.REPORT_CONTEXT_ROWS.validated(made.context_rows)
    assert made.contexts["complete"].all()
    assert dict(made.contexts.select("report_id", "entities").rows()) == {"p": 6, "q": 2, "l": 3, "r": 3}


def test_a_report_is_stored_with_the_small_numbers_of_what_it_cites(graph: Graph) -> None:
    made = build(graph, QuotingWriter())
    (report,) = made.reports.filter(pl.col("report_id") == "q").to_dicts()
    assert report["title"] == "x and y"
    assert report["content"] == (
        "# x and y\n\nx knows y.\n\n## x knows y.\n\nx knows y. [Data: Relationships (7)] [Data: Entities (6)]"
    )
    assert report["tokens"] == words_of(report["content"])
    assert report["rating_explanation"] == "As set."
    cited = made.references.filter(pl.col("report_id") == "q").drop("report_id").rows()
    relation, entity = stable_id("relationship", "x", "y"), stable_id("entity", "x")
    assert cited == [
        (-1, 0, "text_unit", "t7", "t7", True, 0, 10),
        (0, 0, "relationship", relation, "1", True, None, None),
        (0, 1, "relationship", None, "99", False, None, None),
        (0, 2, "entity", entity, "1", True, None, None),
        (0, 3, "text_unit", "t7", "t7", True, 0, 10),
    ]


def test_reports_of_children_stand_for_them_without_their_citations() -> None:
    long = {name: " ".join(["w"] * 30) for name in "abc"}
    writer = QuotingWriter()
    made = build(
        build_graph([(pair[0], pair[1]) for pair in PAIRS], TREE, descriptions=long), writer, limit=100
    )
    assert [len(batch) for batch in writer.batches] == [3, 1]
    (parent,) = writer.batches[1]
    assert [report.title for report in parent.reports] == ["a and b and c"]
    assert [entity.title for entity in parent.entities] == ["d", "e", "f"]
    assert not any(request.reports for request in writer.batches[0])
    assert "# a and b and c\n\na knows b." in parent.context
    assert "Data:" not in parent.context
    stored = made.contexts.filter(pl.col("report_id") == "p").select("tokens", "reports", "complete").row(0)
    assert stored == (words_of(parent.context), 1, False)
    rows = made.context_rows.filter(pl.col("report_id") == "p").drop("report_id").rows()
    assert rows == [
        (0, "report", 1, "l"),
        *((n, "entity", n, stable_id("entity", name)) for n, name in enumerate("def", 1)),
        *(
            (3 + n, "relationship", n, stable_id("relationship", *pair))
            for n, pair in enumerate(("de", "df", "ef"), 1)
        ),
    ]
    assert [(item.text, item.entities) for item in parent.evidence] == [
        ("c knows d.", (1,)),
        ("d knows e.", (1, 2)),
        ("d knows f.", (1, 3)),
        ("e knows f.", (2, 3)),
        ("a knows b.", ()),
        ("a knows c.", ()),
        ("b knows c.", ()),
    ]


def test_rows_that_are_missing_or_show_what_there_is_not_are_found(graph: Graph) -> None:
    made = build(graph, QuotingWriter())
    records = {
        "report": made.reports["report_id"],
        "entity": graph.entities["entity_id"],
        "claim": graph.claims["claim_id"],
        "relationship": graph.relationships["relationship_id"],
    }
    assert check_context_rows(made.contexts, made.context_rows, records) == []
    of_q = made.context_rows.filter(pl.col("report_id") == "q")
    others = made.context_rows.filter(pl.col("report_id") != "q")
    assert check_context_rows(made.contexts, pl.concat([others, of_q.tail(1)]), records) == [
        "q: 0 entity rows, its context has 2"
    ]
    lost = of_q.with_columns(record_id=pl.col("record_id").replace(stable_id("entity", "y"), "z"))
    assert check_context_rows(made.contexts, pl.concat([others, lost]), records) == [
        "q: its row 1 shows the entity z, which does not exist"
    ]


def test_prominence_is_the_share_of_the_largest_summed_degree(graph: Graph) -> None:
    writer = QuotingWriter()
    build(graph, writer)
    assert sorted(request.prominence for request in writer.batches[0]) == [2 / 14, 7 / 14, 7 / 14, 1.0]


@pytest.mark.parametrize(("given", "kept"), [(-3.0, 0.0), (11.0, 10.0), (float("nan"), 0.0), (7.5, 7.5)])
def test_ratings_lie_between_0_and_10(graph: Graph, given: float, kept: float) -> None:
    assert set(build(graph, QuotingWriter(rating=given)).reports["rating"]) == {kept}


def test_the_order_of_the_frames_does_not_matter(graph: Graph) -> None:
    for limit in (1000, 70, 20):
        one = build(graph, QuotingWriter(), limit)
        other = build(graph, QuotingWriter(), limit, backwards=True)
        for name in ("reports", "findings", "references", "contexts", "context_rows"):
            assert getattr(one, name).equals(getattr(other, name))


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_reports_are_the_same_where_few_are_under_way_at_once(at_once: int) -> None:
    long = {name: " ".join(["w"] * 30) for name in "abc"}
    graph = build_graph([(pair[0], pair[1]) for pair in PAIRS], TREE, descriptions=long)
    for limit in (1000, 100, 70, 20):
        writer = QuotingWriter()
        whole, some = build(graph, QuotingWriter(), limit), build(graph, writer, limit, at_once=at_once)
        assert max(map(len, writer.batches)) <= at_once
        for name in ("reports", "findings", "references", "contexts", "context_rows", "written"):
            assert getattr(whole, name).equals(getattr(some, name))


def test_an_unrelated_document_changes_no_other_context(graph: Graph) -> None:
    bigger = build_graph([(pair[0], pair[1]) for pair in [*PAIRS, "AB"]], {**TREE, "new": (None, "AB")})
    before, after = QuotingWriter(), QuotingWriter()
    build(graph, before)
    build(bigger, after)
    contexts = [{request.context for batch in made.batches for request in batch} for made in (before, after)]
    assert contexts[0] < contexts[1]
    assert len(contexts[1] - contexts[0]) == 1


def test_no_communities_no_reports(graph: Graph) -> None:
    empty = Graph(
        graph.entities, graph.relationships, graph.claims, graph.communities.clear(), graph.members.clear()
    )
    made = build(empty, QuotingWriter())
    assert made.reports.is_empty()
    tables.REPORT_REFERENCES.validated(made.references)
    tables.REPORT_CONTEXT_ROWS.validated(made.context_rows)


def test_a_writer_that_loses_reports_is_refused(graph: Graph) -> None:
    class Forgetful(QuotingWriter):
        def write(self, requests: Sequence[ReportRequest]) -> list[WrittenReport]:
            return super().write(requests)[1:]

    with pytest.raises(EngineError, match="returned 3 reports for 4 requests"):
        build(graph, Forgetful())


def test_progress_counts_communities(graph: Graph) -> None:
    heard: list[tuple[object, ...]] = []

    class Listener:
        def start(self, stage: str, total: int | None) -> None:
            heard.append((stage, total))

        def advance(self, stage: str, steps: int) -> None:
            heard.append((stage, steps))

        def finish(self, stage: str) -> None:
            heard.append((stage,))

    with listening(Listener()):
        build(graph, QuotingWriter())
    stage = "Writing community reports"
    assert heard == [(stage, 4), *[(stage, 1)] * 4, (stage,)]
