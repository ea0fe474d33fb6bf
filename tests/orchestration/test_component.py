import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.storage.defs_state.base import set_defs_state_storage
from dagster.components.testing import DefsFolderSandbox, create_defs_folder_sandbox

import graphrag_dagster
from graphrag_dagster.component import GraphRagComponent
from graphrag_dagster.definitions import defs as own_defs
from support.corpora import write_corpus

REPOSITORY = Path(__file__).parents[2]
OF_A_PROJECT = """
import dagster as dg


class OwnWarehouse(dg.ConfigurableResource):
    address: str = "db"


@dg.asset(group_name="embeddings")
def orders(warehouse: OwnWarehouse) -> int:
    return len(warehouse.address)


@dg.definitions
def own():
    return dg.Definitions(
        assets=[orders],
        resources={"io_manager": dg.mem_io_manager, "warehouse": OwnWarehouse()},
        executor=dg.multiprocess_executor,
    )
"""


@pytest.fixture
def project() -> Iterator[DefsFolderSandbox]:
    # An instance that another test left open would be asked for components, and is gone by now.
    with set_defs_state_storage(None), create_defs_folder_sandbox() as sandbox:
        yield sandbox


def add(project: DefsFolderSandbox, name: str = "graphrag", **attributes: Any) -> Path:
    contents = (
        {"type": "graphrag_dagster.GraphRagComponent", "attributes": attributes} if attributes else None
    )
    return project.scaffold_component(GraphRagComponent, name, defs_yaml_contents=contents)


def tick(defs: dg.Definitions, name: str, instance: dg.DagsterInstance) -> dg.SensorResult:
    (sensor,) = (one for one in defs.sensors or () if one.name == name)
    needed = {key: (defs.resources or {})[key] for key in sensor.required_resource_keys}
    with dg.build_sensor_context(instance=instance, resources=needed) as context:
        found = sensor(context)
    assert isinstance(found, dg.SensorResult)
    return found


def test_dagster_finds_the_component_and_the_package_stays_light() -> None:
    code = (
        "import sys, graphrag_dagster as package; light = 'dagster' not in sys.modules; "
        "found = [n for n in dir(package) if hasattr(getattr(package, n), '__dg_package_entry__')]; "
        "print(light, found, [name for name in ('duckdb', 'polars', 'spacy') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split("\n")[0] == "True ['GraphRagComponent'] []"
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    groups = declared["project"]["entry-points"]
    assert groups["dagster_dg_cli.registry_modules"] == {"graphrag_dagster": graphrag_dagster.__name__}


def test_the_scaffolded_file_says_all_that_can_be_said(project: DefsFolderSandbox) -> None:
    text = (add(project) / "defs.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["attributes"] == {"home": "graphrag"}
    said = yaml.safe_load(re.sub(r"^  # (\w+: )", r"  \1", text, flags=re.MULTILINE))["attributes"]
    assert said.keys() == GraphRagComponent.model_fields.keys()
    assert GraphRagComponent.model_validate(said).owners == ["team:search", "ada@example.org"]
    page = (REPOSITORY / "docs" / "how-to" / "dagster-project.md").read_text(encoding="utf-8")
    assert text.replace(".component.", ".") in page
    other = project.scaffold_component(GraphRagComponent, "other", {"home": "/data"})
    assert yaml.safe_load((other / "defs.yaml").read_text(encoding="utf-8"))["attributes"] == {
        "home": "/data"
    }


@pytest.mark.long
def test_a_corpus_is_made_in_the_home_of_the_instance_and_nowhere_else(
    project: DefsFolderSandbox, home: Path
) -> None:
    (project.defs_folder_path / "own.py").write_text(OF_A_PROJECT, encoding="utf-8")
    add(project)
    place = project.project_root / "graphrag"
    write_corpus(place / "corpora")
    environment = dict(os.environ)
    with project.build_all_defs() as defs, dg.DagsterInstance.ephemeral() as instance:
        assert "coast" in str(tick(defs, "corpora", instance).cursor)
        instance.add_dynamic_partitions("corpus", ["coast"])
        job = defs.resolve_job_def("index")
        assert job.execute_in_process(partition_key="coast", instance=instance).success
        assert not tick(defs, "finished_batches", instance).run_requests
    made = {str(path.relative_to(place)) for path in place.rglob("*.*") if "corpora" not in path.parts}
    assert {
        "warehouse/coast.duckdb",
        "warehouse/published/coast/current.json",
        "cache/replies.sqlite",
    } <= made
    assert [path.name for path in home.iterdir()] == ["corpora"]
    assert list((home / "corpora").iterdir()) == []
    assert dict(os.environ) == environment


def test_what_else_a_project_has_is_none_of_our_business(project: DefsFolderSandbox) -> None:
    (project.defs_folder_path / "own.py").write_text(OF_A_PROJECT, encoding="utf-8")
    add(project)
    with project.build_all_defs() as defs:
        for job in ("index", "embed"):
            ours, here = own_defs.resolve_job_def(job), defs.resolve_job_def(job)
            assert here.asset_layer.executable_asset_keys == ours.asset_layer.executable_asset_keys
            assert here.executor_def.name == "in_process"
        (outdated,) = (one for one in defs.sensors or () if one.name == "outdated_assets")
        graph = defs.resolve_asset_graph()
        assert dg.AssetKey("orders") not in outdated.asset_selection.resolve(graph)
        assert graph.get(dg.AssetKey(["graph", "entities"])).group_name == "graph"
        assert defs.resolve_implicit_global_asset_job_def().executor_def.name == "multiprocess"


def test_attributes_reach_assets_runs_and_jobs(project: DefsFolderSandbox) -> None:
    add(
        project,
        corpora="docs",
        warehouse="/data/{corpus}.duckdb",
        max_tokens=7,
        max_usd=0.5,
        executor="multiprocess",
        owners=["team:search"],
        group_prefix="rag_",
    )
    with project.build_all_defs() as defs:
        specs = {spec.key: spec for spec in defs.resolve_all_asset_specs()}
        assert all(spec.owners == ["team:search"] for spec in specs.values())
        assert all(str(spec.group_name).startswith("rag_") for spec in specs.values())
        assert specs.keys() == {spec.key for spec in own_defs.resolve_all_asset_specs()}
        job = defs.resolve_job_def("index")
        assert job.executor_def.name == "multiprocess"
        assert len(job.asset_layer.executable_asset_keys) == 24
        resources = defs.resources or {}
        limits = resources["graphrag_language"].get_resource_definition().config_schema.default_value
        assert (limits["max_tokens"], limits["max_usd"]) == (7, 0.5)
        assert resources["graphrag_warehouse"].path == "/data/{corpus}.duckdb"
        assert resources["graphrag_corpora"].root == str(project.project_root / "docs")
        assert resources["graphrag_memory"].file == "", "what nobody says, the environment says"


def test_a_second_instance_is_refused(project: DefsFolderSandbox) -> None:
    add(project)
    add(project, "second", home="elsewhere")
    with pytest.raises(Exception, match="GraphRagComponent") as caught, project.build_all_defs():
        pass
    assert "code location of its own" in str(caught.value.__cause__)
