from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.automation_tick_evaluation_context import (
    build_run_requests_with_backfill_policies,
)
from dagster._core.definitions.events import AssetKeyPartitionKey

from graphrag_dagster.assets.step_hooks import ESTIMATE_TAG
from graphrag_dagster.component import compose
from graphrag_dagster.definitions import defs
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_instance import instance as make_instance
from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint
from support.tables_of import contents

CORPORA = ("coast", "shore")


@pytest.mark.long
def test_a_backfill_is_one_run_for_each_corpus_with_all_assets_and_checks(home: Path) -> None:
    for name in CORPORA:
        write_corpus(home / "corpora", name)
    graph = defs.resolve_asset_graph()
    job = defs.resolve_job_def("index")
    keys = job.asset_layer.executable_asset_keys
    with make_instance() as instance:
        instance.add_dynamic_partitions("corpus", list(CORPORA))
        requests = build_run_requests_with_backfill_policies(
            [AssetKeyPartitionKey(key, name) for key in keys for name in CORPORA], graph, instance
        )
        assert sorted(str(request.partition_key) for request in requests) == sorted(CORPORA)
        for request in requests:
            assert set(request.asset_selection or ()) == set(keys)
            part = defs.resolve_implicit_global_asset_job_def().get_subset(
                asset_selection=set(request.asset_selection or ()),
                asset_check_selection=graph.get_check_keys_for_assets(set(keys)),
            )
            made = part.execute_in_process(
                partition_key=request.partition_key, instance=instance, tags={"dagster/backfill": "all"}
            )
            assert made.success
            assert len(made.get_asset_check_evaluations()) >= len(keys) - 1
        runs = instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": "all"}))
    assert len(runs) == len(CORPORA)
    tables = [contents(Warehouse(), name) for name in CORPORA]
    rows = [{table: [row[1:] for row in found[table]] for table in found} for found in tables]
    assert rows[0] == rows[1]


SETTINGS = """
questions: {{engine: llm, methods: [SS, local], write: never, ask: ["Who met Selma Dray?"]}}
search: {{engine: llm}}
evaluation: {{engine: llm, replicates: 1, criteria: [directness]{limit}}}
model: {{base_url: "{url}", name: scripted, retries: 0}}
"""
ANSWERS = dg.AssetKey(["evaluation", "answers"])


def materialised(
    *keys: dg.AssetKey,
    definitions: dg.Definitions = defs,
    config: dict[str, object] | None = None,
    expected: bool = True,
) -> dg.ExecuteInProcessResult:
    """Materialise what these assets are made with, as the UI does, and everything where none is named."""
    job, graph = definitions.resolve_implicit_global_asset_job_def(), definitions.resolve_asset_graph()
    with make_instance() as instance:
        instance.add_dynamic_partitions("corpus", ["coast"])
        chosen = {other for key in keys for other in graph.get(key).execution_set_asset_keys}
        ran = job.execute_in_process(
            asset_selection=list(chosen) or None,
            partition_key="coast",
            instance=instance,
            run_config={"resources": {"graphrag_language": {"config": config}}} if config else None,
            raise_on_error=False,
        )
    assert ran.success == expected
    return ran


def made_by(ran: dg.ExecuteInProcessResult) -> set[str]:
    return {
        "/".join(event.asset_key.path) for event in ran.get_asset_materialization_events() if event.asset_key
    }


@pytest.mark.long
def test_materialising_everything_makes_the_index_alone(home: Path) -> None:
    with ScriptedEndpoint() as endpoint:
        write_corpus(home / "corpora", "coast", SETTINGS.format(url=endpoint.url, limit=""))
        made = made_by(materialised())
        assert "serving/published_snapshot" in made
        assert {name.partition("/")[0] for name in made}.isdisjoint({"evaluation", "studies", "imports"})
        assert not endpoint.requests

        questions, research = dg.AssetKey(["evaluation", "questions"]), compose(research=True)
        made = made_by(materialised(questions, ANSWERS, definitions=research))
        assert "evaluation/answers" in made
        assert endpoint.requests
        with make_instance() as instance:
            tags = instance.get_runs(limit=1)[0].tags
        low, expected, high = (int(value.replace(",", "")) for value in tags[ESTIMATE_TAG].split(" – "))
        assert 0 < low <= expected <= high


@pytest.mark.long
def test_what_is_beyond_the_index_has_a_limit_of_its_own(home: Path) -> None:
    with ScriptedEndpoint() as endpoint:
        write_corpus(home / "corpora", "coast", SETTINGS.format(url=endpoint.url, limit=", max_tokens: 200"))
        materialised()
        asked = (dg.AssetKey(["evaluation", "questions"]), ANSWERS)
        research = compose(research=True)
        failed = materialised(*asked, definitions=research, expected=False)
        assert "of 200 tokens" in str(failed.failure_data_for_node("answers"))
        assert not endpoint.requests
        materialised(*asked, definitions=research, config={"max_tokens": 100_000})


def test_a_run_for_two_corpora_is_refused(home: Path) -> None:
    for name in ("coast", "shore"):
        write_corpus(home / "corpora", name)
    tags = {"dagster/asset_partition_range_start": "coast", "dagster/asset_partition_range_end": "shore"}
    with make_instance() as instance:
        instance.add_dynamic_partitions("corpus", ["coast", "shore"])
        job = defs.resolve_job_def("index")
        result = job.execute_in_process(tags=tags, instance=instance, raise_on_error=False)
        assert not result.success
        failures = [event for event in result.all_events if event.is_step_failure]
        causes = [str(event.step_failure_data.error_display_string) for event in failures]
    assert any(
        "a run makes one corpus, and this one was launched for coast, shore" in cause for cause in causes
    )
