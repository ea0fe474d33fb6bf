"""The manifests of deploy/kubernetes, without a cluster; needs the extra ``kubernetes``."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster import DagsterInstance
from dagster._config import process_config

from graphrag_dagster.kernel.pipeline.orchestration.executors import EXECUTOR, chosen_executor
from support.engines import REPOSITORY

pytest.importorskip("dagster_k8s")

FOLDER = REPOSITORY / "deploy" / "kubernetes"


def manifests() -> list[dict[str, Any]]:
    files = [file for file in sorted(FOLDER.glob("*.yaml")) if file.name != "steps.yaml"]
    return [part for file in files for part in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {part["metadata"]["name"]: part for part in manifests() if part["kind"] == kind}


def instance_config() -> dict[str, Any]:
    config = yaml.safe_load(of_kind("ConfigMap")["graphrag-dagster-instance"]["data"]["dagster.yaml"])
    assert isinstance(config, dict)
    return config


def containers(deployment: dict[str, Any]) -> list[dict[str, Any]]:
    found = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(found, list)
    return found


def deserialized(part: dict[str, Any], kind: str) -> Any:
    """The manifest as a model of the Kubernetes client, which refuses what it does not know."""
    from dagster_k8s.models import k8s_model_from_dict
    from kubernetes import client

    model = getattr(client, kind)
    return k8s_model_from_dict(model, _snake(part, model))


def _snake(value: dict[str, Any], model: Any) -> dict[str, Any]:
    from dagster_k8s.models import k8s_snake_case_dict

    return k8s_snake_case_dict(model, value)


def test_the_run_launcher_is_configured_as_it_asks() -> None:
    from dagster_k8s import K8sRunLauncher

    launcher = instance_config()["run_launcher"]
    assert (launcher["module"], launcher["class"]) == ("dagster_k8s", K8sRunLauncher.__name__)
    checked = process_config(K8sRunLauncher.config_type(), launcher["config"])
    assert checked.success, checked.errors


def test_the_instance_loads_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dagster_k8s import K8sRunLauncher

    config = instance_config()
    del config["storage"]
    # There is no cluster here: its address is taken from a file in place of the pod's own.
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}
    context = {"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}
    user = {"users": [{"name": "u", "user": {}}], "apiVersion": "v1", "kind": "Config"}
    kubeconfig.write_text(yaml.safe_dump(cluster | context | user), encoding="utf-8")
    config["run_launcher"]["config"] |= {"load_incluster_config": False, "kubeconfig_file": str(kubeconfig)}
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        launcher = instance.run_launcher
        assert isinstance(launcher, K8sRunLauncher)
        assert launcher.job_image == "graphrag-dagster:0.1.0"
        assert launcher.job_namespace in of_kind("Namespace")


def test_steps_as_pods_are_configured_as_the_executor_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXECUTOR, "k8s")
    executor = chosen_executor()
    steps = yaml.safe_load((FOLDER / "steps.yaml").read_text(encoding="utf-8"))
    checked = process_config(executor.config_schema.config_type, steps["execution"]["config"])
    assert checked.success, checked.errors


def test_manifests_are_what_kubernetes_knows() -> None:
    kinds = {
        "Deployment": "V1Deployment",
        "Service": "V1Service",
        "PersistentVolumeClaim": "V1PersistentVolumeClaim",
        "Role": "V1Role",
        "RoleBinding": "V1RoleBinding",
        "NetworkPolicy": "V1NetworkPolicy",
        "ServiceAccount": "V1ServiceAccount",
        "Namespace": "V1Namespace",
        "ConfigMap": "V1ConfigMap",
    }
    for part in manifests():
        assert deserialized(part, kinds[part["kind"]]).metadata.name == part["metadata"]["name"]


def test_everything_that_is_named_is_there() -> None:
    accounts, config_maps = set(of_kind("ServiceAccount")), set(of_kind("ConfigMap"))
    claims = set(of_kind("PersistentVolumeClaim"))
    launcher = instance_config()["run_launcher"]["config"]
    assert launcher["service_account_name"] in accounts
    assert {launcher["instance_config_map"], *launcher["env_config_maps"]} <= config_maps
    for deployment in of_kind("Deployment").values():
        pod = deployment["spec"]["template"]["spec"]
        assert pod["serviceAccountName"] in accounts
        for volume in pod["volumes"]:
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
            if "configMap" in volume:
                assert volume["configMap"]["name"] in config_maps
        for container in containers(deployment):
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_no_pod_may_more_than_it_must() -> None:
    for deployment in of_kind("Deployment").values():
        pod = deployment["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        for container in containers(deployment):
            own = container["securityContext"]
            assert own["readOnlyRootFilesystem"]
            assert not own["allowPrivilegeEscalation"]
            assert own["capabilities"] == {"drop": ["ALL"]}
    for service in of_kind("Service").values():
        assert service["spec"]["type"] == "ClusterIP"
    secret = ("PASSWORD", "KEY", "TOKEN")
    for config_map in of_kind("ConfigMap").values():
        assert not [name for name in config_map["data"] if name.endswith(secret)]
