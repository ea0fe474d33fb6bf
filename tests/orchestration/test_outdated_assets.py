from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.component import compose
from graphrag_dagster.definitions import defs
from graphrag_dagster.kernel.pipeline.steps import STEPS
from graphrag_dagster.resources.dagster_keys import asset_key
from support.corpora import write_corpus

CORPUS = [dg.AssetKey(["corpus", name]) for name in ("files", "documents", "text_chunks")]


class Ticks:
    """The automation, tick by tick: what is requested of which corpus."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self._cursor = None

    def next(self, definitions: dg.Definitions = defs) -> dict[str, set[str]]:
        known = self.instance.get_dynamic_partitions("corpus")
        with pytest.MonkeyPatch.context() as patch:
            # The daemon asks once a tick for the partitions, this function thousands of times.
            patch.setattr(self.instance, "get_dynamic_partitions", lambda partitions_def_name: known)
            found = dg.evaluate_automation_conditions(definitions, self.instance, cursor=self._cursor)
        self._cursor = found.cursor
        requested: dict[str, set[str]] = {}
        for result in found.results:
            for partition in found.get_requested_partitions(result.key):
                requested.setdefault(partition, set()).add(result.key.to_user_string())
        return requested


@pytest.fixture
def instance(coast: Path, home: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(str(home / ".dagster_home")) as made:
        yield made


def index_keys() -> set[dg.AssetKey]:
    graph = defs.resolve_asset_graph()
    return {key for key in graph.get_all_asset_keys() if graph.get(key).automation_condition is not None}


def below(*keys: dg.AssetKey) -> set[str]:
    graph, wanted = defs.resolve_asset_graph(), index_keys()
    found, pending = set(keys), list(keys)
    while pending:
        key = pending.pop()
        # One step makes several tables, or none of them.
        for child in (graph.get(key).child_keys | graph.get(key).execution_set_asset_keys) & wanted - found:
            found.add(child)
            pending.append(child)
    return {key.to_user_string() for key in found}


def materialise(instance: dg.DagsterInstance, corpus: str, *keys: dg.AssetKey) -> None:
    job = defs.resolve_implicit_global_asset_job_def()
    # As in the UI, the run knows what it was asked for.
    made = job.execute_in_process(partition_key=corpus, instance=instance, asset_selection=list(keys))
    assert made.success


@pytest.mark.long
def test_unchanged_data_is_left_alone_and_what_changed_is_made_with_all_that_reads_it(
    instance: dg.DagsterInstance, home: Path
) -> None:
    write_corpus(home / "corpora", "shore")
    run_job("shore")
    ticks = Ticks(instance)
    assert ticks.next() == {}
    assert ticks.next() == {}

    run_job("coast")
    materialise(instance, "shore", *CORPUS)
    assert ticks.next() == {}

    document = home / "corpora" / "coast" / "news" / "strike.md"
    document.write_text(document.read_text(encoding="utf-8") + "\nPort Ellery closed its gates.", "utf-8")
    materialise(instance, "coast", *CORPUS)
    requested = ticks.next()
    assert requested == {"coast": below(*CORPUS) - {key.to_user_string() for key in CORPUS}}
    assert {"extraction/gleaned_entities", "serving/published_snapshot"} <= requested["coast"]

    materialise(instance, "coast", *(dg.AssetKey.from_user_string(key) for key in requested["coast"]))
    assert ticks.next() == {}
    assert ticks.next() == {}

    document.write_text(document.read_text(encoding="utf-8") + " Selma Dray left.", "utf-8")
    run_job("coast")
    assert ticks.next() == {}


def test_changed_code_is_run_with_all_that_reads_what_it_makes(instance: dg.DagsterInstance) -> None:
    ticks = Ticks(instance)
    ticks.next()
    changed = {dg.AssetKey(["communities", "communities"]), dg.AssetKey(["communities", "community_members"])}
    newer = dg.Definitions(
        assets=dg.map_asset_specs(
            lambda spec: spec.replace_attributes(code_version="newer") if spec.key in changed else spec,
            list(defs.assets or ()),
        ),
        resources=defs.resources,
    )
    assert ticks.next(newer) == {"coast": below(*changed)}
    assert ticks.next(newer) == {}


def test_a_new_corpus_is_made_once_and_a_failed_run_is_not_repeated(
    instance: dg.DagsterInstance, home: Path
) -> None:
    ticks = Ticks(instance)
    ticks.next()
    instance.add_dynamic_partitions("corpus", ["void"])
    assert ticks.next() == {"void": {key.to_user_string() for key in index_keys()}}
    job = defs.resolve_job_def("index")
    failed = job.execute_in_process(partition_key="void", instance=instance, raise_on_error=False)
    assert not failed.success
    assert ticks.next() == {}
    assert ticks.next() == {}


def test_what_is_made_on_request_is_never_made_by_itself(home: Path) -> None:
    research = compose(research=True)
    graph = research.resolve_asset_graph()
    for stage in (one for one in STEPS if one.requested):
        for table in stage.assets:
            assert graph.get(asset_key(table)).automation_condition is None, table.full_name
    index = research.resolve_job_def("index").asset_layer.executable_asset_keys
    assert index_keys() == set(index)
    assert all(sensor.default_status == dg.DefaultSensorStatus.STOPPED for sensor in defs.sensors or ())
