"""The last run of a corpus, as Dagster has it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, DagsterRun, DagsterRunStatus

from graphrag_dagster.kernel.storage.home import dagster_home
from graphrag_dagster.resources.dagster_instance import instance
from graphrag_dagster.resources.unfinished_index import unfinished_index

UNNEEDED = (
    "dagster",
    "spacy",
    "scipy",
    "openai",
    "httpx",
    "pandas",
    "graphrag_dagster.assets.step_assets",
)


def add(
    opened: DagsterInstance, job: str, status: DagsterRunStatus, corpus: str = "coast", *chosen: str
) -> str:
    run = DagsterRun(
        job_name=job,
        status=status,
        tags={"dagster/partition": corpus},
        asset_selection=frozenset(AssetKey(one.split("/")) for one in chosen) or None,
    )
    return opened.add_run(run).run_id


def test_the_newest_run_of_a_corpus_that_was_to_index_it_tells(home: Path) -> None:
    assert unfinished_index("coast") is None
    with instance() as opened:
        add(opened, "index", DagsterRunStatus.FAILURE)
        add(opened, "index", DagsterRunStatus.SUCCESS)
        add(opened, "answer", DagsterRunStatus.STARTED)
        begun = add(opened, "index", DagsterRunStatus.STARTED, "lake")
    assert unfinished_index("coast") is None
    found = unfinished_index("lake")
    assert found is not None
    assert (found.run_id, found.state, found.step) == (begun, "running or killed", None)


def test_a_failed_run_is_half_way(home: Path) -> None:
    with instance() as opened:
        add(opened, "embed", DagsterRunStatus.SUCCESS)
        failed = add(opened, "index", DagsterRunStatus.FAILURE)
    found = unfinished_index("coast")
    assert found is not None
    assert (found.run_id, found.state) == (failed, "failed")


@pytest.mark.parametrize(
    "chosen",
    [
        ("evaluation/answers",),
        ("reports/community_reports", "reports/report_sources"),
        ("graph/entities",),
        ("studies/path_study",),
    ],
)
def test_assets_made_in_the_ui_do_not_hide_a_failed_index(home: Path, chosen: tuple[str, ...]) -> None:
    with instance() as opened:
        failed = add(opened, "index", DagsterRunStatus.FAILURE)
        add(opened, "__ASSET_JOB", DagsterRunStatus.SUCCESS, "coast", *chosen)
    found = unfinished_index("coast")
    assert found is not None
    assert found.run_id == failed
    with instance() as opened:
        add(opened, "__ASSET_JOB", DagsterRunStatus.SUCCESS, "coast", *chosen, "serving/published_snapshot")
    assert unfinished_index("coast") is None


def test_of_assets_made_in_the_ui_those_of_the_index_tell_that_they_failed(home: Path) -> None:
    with instance() as opened:
        add(opened, "index", DagsterRunStatus.SUCCESS)
        chosen = ("evaluation/answers", "serving/published_results")
        add(opened, "__ASSET_JOB", DagsterRunStatus.FAILURE, "coast", *chosen)
    assert unfinished_index("coast") is None
    with instance() as opened:
        failed = add(opened, "__ASSET_JOB", DagsterRunStatus.FAILURE, "coast", "graph/entities")
    found = unfinished_index("coast")
    assert found is not None
    assert found.run_id == failed


def test_records_that_lie_elsewhere_are_asked_for_there(home: Path) -> None:
    with instance() as opened:
        add(opened, "index", DagsterRunStatus.SUCCESS)
    settings = dagster_home() / "dagster.yaml"
    settings.write_text(json.dumps({"storage": {"sqlite": {"base_dir": str(home / "elsewhere")}}}))
    with instance() as opened:
        begun = add(opened, "index", DagsterRunStatus.STARTED)
    found = unfinished_index("coast")
    assert found is not None
    assert found.run_id == begun


@pytest.mark.usefixtures("coast")
def test_what_is_unchanged_loads_nothing_that_makes_an_index() -> None:
    assert unfinished_index("coast") is None
    code = (
        "import sys, json\n"
        "from graphrag_dagster.cli.app import app\n"
        "assert not app(['index', 'coast'], standalone_mode=False)\n"
        f"print(json.dumps([name for name in {UNNEEDED!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "up to date since" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1]) == []
