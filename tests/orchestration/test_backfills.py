from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.automation_tick_evaluation_context import (
    build_run_requests_with_backfill_policies,
)
from dagster._core.definitions.events import AssetKeyPartitionKey

from graphrag_dagster.definitions import defs
from graphrag_dagster.kernel.pipeline.orchestration.dagster_instance import instance as make_instance
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.corpora import write_corpus
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
