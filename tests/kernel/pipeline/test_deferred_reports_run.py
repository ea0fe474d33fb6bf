"""Reports of deeper levels are written when a question reads them, and cost what indexing would have paid."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster import Filters, Index
from graphrag_dagster.apps.planning.indexing_plan import plan_corpus
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.models.call_estimates import Range, exactly
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from support.conversations import section
from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint

_SETTINGS = """
engine: llm
communities: {{max_cluster_size: 4}}
reports: {{levels: {}}}
claims: {{enabled: true}}
model: {{base_url: "{}", name: scripted}}
"""


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as server:
        yield server


def read(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "coast")


def reports_asked(endpoint: ScriptedEndpoint) -> int:
    return sum(
        section(str(one.body["messages"][-1]["content"]), "community") is not None for one in endpoint.chats
    )


def reports_planned() -> Range:
    return next(one.calls for one in plan_corpus("coast").estimates if one.stage == "reports")


def reports_read(answer: Answer) -> set[str]:
    return {use.record_id for use in answer.context if use.kind == "report"}


@pytest.mark.long
def test_deeper_reports_are_written_for_the_question_that_reads_them(
    home: Path, endpoint: ScriptedEndpoint
) -> None:
    folder = write_corpus(home / "corpora", settings=_SETTINGS.format("null", endpoint.url))
    whole = reports_planned()
    (folder / "corpus.yaml").write_text(_SETTINGS.format(0, endpoint.url), encoding="utf-8")
    foretold = reports_planned()
    assert foretold.expected < whole.expected
    run_job("coast")
    communities = read(tables.COMMUNITIES)
    deeper = communities.filter(pl.col("level") > 0)
    deepest = int(str(communities["level"].max()))
    assert deeper.height > 1
    assert set(read(tables.COMMUNITY_REPORTS)["report_id"]) == set(
        communities.filter(level=0)["community_id"]
    )
    written = reports_asked(endpoint)
    assert written == communities.height - deeper.height
    assert foretold.low <= written <= foretold.high
    assert reports_planned() == exactly(written)

    index, question = Index.open("coast"), "What are the themes?"
    endpoint.reset()
    assert index.ask(question, method="global").level == 0
    # What reads reports of certain communities reads those above, which hold them.
    [vask] = read(tables.ENTITIES).filter(title="Orrin Vask")["entity_id"]
    [above] = read(tables.COMMUNITY_LEVELS).filter(level=0, entity_id=vask)["community_id"]
    assert above in deeper["parent_id"]
    assert above in reports_read(index.ask("Who is Orrin Vask?", method="local"))
    assert above in reports_read(index.ask(question, method="drift"))
    found = index.ask(question, method="graph")
    assert above in reports_read(found)
    assert "C0 is read, since there is no report of C1" in (found.why or "")
    inside = Filters(folders=("institute", "news"))
    for method in ("global", "dynamic", "graph"):
        found = index.ask(question, method=method, filters=inside)
        assert (found.level, above in reports_read(found)) == (0, True)
    seen = Index.explorer("coast")
    below = next(row for row in deeper["community_id"])
    assert seen.community(below).level == 1
    assert reports_asked(endpoint) == 0

    of_level = read(tables.COMMUNITY_LEVELS).filter(level=deepest)["community_id"].unique()
    missing = deeper.filter(pl.col("community_id").is_in(of_level.implode())).height
    foretold = index.searcher.with_options(level=deepest).size("global").calls
    assert foretold.low <= missing + 2 <= foretold.high
    assert index.searcher.size("global").calls.high < foretold.low
    answer = index.ask(question, level=f"C{deepest}")
    assert len(answer.context) == of_level.len()
    assert reports_asked(endpoint) == missing
    assert answer.usage.calls == missing + 2
    assert all(statement.sources for statement in index.ask(question, level=f"C{deepest}").statements)
    assert reports_asked(endpoint) == missing
    # The published snapshot is as it was; what it cost is remembered.
    assert read(tables.COMMUNITY_REPORTS).height == communities.height - deeper.height
    again = Index.open("coast").ask(question, level=f"C{deepest}")
    assert again.text == answer.text
    assert reports_asked(endpoint) == missing

    # Every report is rated relevant, so dynamic search reaches the same level.
    dynamic = Index.open("coast").ask(question, method="dynamic", level=f"C{deepest}")
    assert len(dynamic.context) == of_level.len()
    assert reports_asked(endpoint) == deeper.height

    (folder / "corpus.yaml").write_text(_SETTINGS.format("null", endpoint.url), encoding="utf-8")
    run_job("coast")
    assert set(read(tables.COMMUNITY_REPORTS)["report_id"]) == set(communities["community_id"])
    assert reports_asked(endpoint) == deeper.height
