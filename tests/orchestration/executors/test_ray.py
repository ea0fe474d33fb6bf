"""Steps as jobs of a real Ray cluster on this machine; needs the extra ``ray``."""

import os
import socket
from pathlib import Path

import pytest
import yaml
from dagster import DagsterInstance
from dagster._config import process_config

from support.engines import REPOSITORY, Place, Tables
from support.ray_cluster import ray_cluster

pytest.importorskip("ray")
dagster_ray = pytest.importorskip("dagster_ray")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_steps_on_ray_give_the_same_tables(place: Place, in_process: Tables) -> None:
    with ray_cluster(dict(os.environ), _free_port()) as cluster:
        place.run_all("ray", cluster)
    assert place.tables() == in_process


def test_the_shipped_run_launcher_is_configured_as_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:8265")
    config = yaml.safe_load((REPOSITORY / "deploy" / "ray" / "dagster.yaml").read_text(encoding="utf-8"))
    launcher = config["run_launcher"]
    assert (launcher["module"], launcher["class"]) == ("dagster_ray", dagster_ray.RayRunLauncher.__name__)
    checked = process_config(dagster_ray.RayRunLauncher.config_type(), launcher["config"])
    assert checked.success, checked.errors


def test_an_instance_with_the_shipped_run_launcher_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = yaml.safe_load((REPOSITORY / "deploy" / "ray" / "dagster.yaml").read_text(encoding="utf-8"))
    del config["storage"]
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:8265")
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        assert isinstance(instance.run_launcher, dagster_ray.RayRunLauncher)
