"""A corpus of many communities that have nothing to do with each other: levels above C0, and questions there."""

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from graphrag_dagster import Index
from graphrag_dagster.cli.app import app
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.graph.hierarchical_leiden import check_partition
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.systems.graphrag.tables import REPORT_CONTEXT_ROWS, REPORT_CONTEXTS, WRITTEN_REPORTS
from support.endpoint import ScriptedEndpoint
from support.homes import copy_home, shared_home

DOCUMENTS = 90
_SETTINGS = """
engine: llm
communities: {{roots: 2}}
reports: {{context_tokens: 600}}
search: {{context_tokens: 2000}}
model: {{base_url: "{}", name: scripted}}
"""
_NAMES = ["".join(parts).capitalize() for parts in product(("ba", "do", "ke", "mi", "nu"), repeat=4)]


def texts() -> dict[str, str]:
    """Each document names a person and a place that no other names."""
    pairs = zip(_NAMES[:DOCUMENTS], _NAMES[DOCUMENTS : 2 * DOCUMENTS], strict=True)
    return {f"{one.lower()}.txt": f"{one} built the harbour of {place}." for one, place in pairs}


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as server:
        yield server


@pytest.fixture
def folder(home: Path, endpoint: ScriptedEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def fill(made: Path) -> None:
        corpus = made / "corpora" / "coast"
        corpus.mkdir(parents=True)
        for name, text in texts().items():
            (corpus / name).write_text(text, encoding="utf-8")
        (corpus / "corpus.yaml").write_text(_SETTINGS.format(endpoint.url), encoding="utf-8")
        run_job("coast")

    copy_home(shared_home(tmp_path_factory, "many communities", fill), home)
    corpus = home / "corpora" / "coast"
    (corpus / "corpus.yaml").write_text(_SETTINGS.format(endpoint.url), encoding="utf-8")
    return corpus


def read(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "coast")


@pytest.mark.long
def test_a_question_costs_what_the_top_does_and_nothing_is_left_of_a_document(
    folder: Path, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    communities = read(tables.COMMUNITIES)
    counted = dict(communities.group_by("level").len().iter_rows())
    # 90 // 20 = 4 → 2 bits; 4 // 20 → 1 group.
    assert {level: counted[level] for level in (-2, -1, 0)} == {-2: 1, -1: 4, 0: DOCUMENTS}
    assert check_partition(read(tables.COMMUNITY_LEVELS), read(tables.COMMUNITY_MEMBERS)) == []

    # Reports above C0 are written from those of their children.
    shown = read(REPORT_CONTEXT_ROWS).filter(pl.col("kind") == "report")
    parents = dict(communities.select("community_id", "parent_id").iter_rows())
    above = set(communities.filter(pl.col("level") < 0)["community_id"])
    assert set(shown["report_id"]) == above
    assert all(
        parents[child] == report for report, child in shown.select("report_id", "record_id").iter_rows()
    )

    index = Index.open("coast")
    endpoint.reset()
    answer = index.ask("What was built?", method="global")
    assert (answer.method, answer.level, len(answer.context)) == ("C-2", -2, 1)
    assert len(endpoint.requests) <= 2
    assert index.ask("What was built?", level="C0").level == 0
    assert index.ask("What was built?", method="C-1").level == -1
    endpoint.reset()
    # The script rates every report 3: below the root, four; below the best of these, all or a part.
    dynamic = index.ask("What was built?", method="dynamic")
    rated = [call for call in dynamic.steps if call.task == "rate"]
    most = 1 + 4 + int(communities.filter(level=-1)["size"].max()) // 2
    assert 5 < len(rated) <= most < DOCUMENTS
    assert dynamic.level == 1
    assert "of C-2" in str(dynamic.why)

    seen = Index.explorer("coast")
    assert [cell.level for cell in seen.communities().cells] == [-2]
    assert [one.level for one in seen.overview().levels] == [-2, -1, 0, 1, 2, 3]
    assert seen.overview().default_level == -2
    assert seen.drawn().level == -2

    for form in ("microsoft", "graphml", "neo4j"):
        asked = ["export", "coast", "--to", form, "--out", str(tmp_path / form)]
        made = CliRunner().invoke(app, asked)
        assert made.exit_code == 0, made.output
    exported = pl.read_parquet(next((tmp_path / "microsoft").rglob("communities.parquet")))
    assert exported["level"].min() == 0
    assert exported.filter(level=0)["parent"].to_list() == [-1]
    network = next((tmp_path / "graphml").rglob("*.graphml")).read_text(encoding="utf-8")
    assert {'"community_above_2"', '"community_0"'} <= set(re.findall(r'"community_\w+"', network))

    gone = next(iter(texts()))
    (folder / gone).unlink()
    run_job("coast")
    name = gone.removesuffix(".txt")
    left = {
        table.full_name
        for table in (tables.COMMUNITY_REPORTS, REPORT_CONTEXTS, WRITTEN_REPORTS)
        if name in json.dumps(read(table).to_dicts()).lower()
    }
    assert left == set()
    assert {"communities": read(tables.COMMUNITIES).filter(level=0).height} == {"communities": DOCUMENTS - 1}
    kept = read(REPORT_CONTEXTS).join(shown.select("report_id").unique(), on="report_id")
    assert kept.height == len(above)
