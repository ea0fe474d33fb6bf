"""The files of deploy/kubernetes, without a cluster or Helm; needs the extra ``kubernetes``."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster import DagsterInstance, Definitions
from dagster._config import process_config

from graphrag_dagster.kernel.storage.home import CACHE, HOME
from graphrag_dagster.resources.executors import EXECUTOR, chosen_executor
from support.engines import REPOSITORY

pytest.importorskip("dagster_k8s")

FOLDER = REPOSITORY / "deploy" / "kubernetes"
VALUES: dict[str, Any] = yaml.safe_load((FOLDER / "values.yaml").read_text(encoding="utf-8"))
(CODE,) = VALUES["dagster-user-deployments"]["deployments"]
LAUNCHER = VALUES["runLauncher"]["config"]["k8sRunLauncher"]
RELEASE = "graphrag-dagster"


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / "beside-the-chart.yaml").read_text(encoding="utf-8")))


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {part["metadata"]["name"]: part for part in manifests() if part["kind"] == kind}


def served() -> tuple[dict[str, Any], dict[str, Any]]:
    pod = of_kind("Deployment")["serve"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    return pod, container


def image_of(value: dict[str, Any]) -> str:
    return f"{value['repository']}:{value['tag']}"


def launcher_config() -> dict[str, Any]:
    """What the chart writes of the run launcher into dagster.yaml."""
    config = LAUNCHER["runK8sConfig"]
    return {
        "job_namespace": RELEASE,
        "service_account_name": RELEASE,
        "image_pull_policy": LAUNCHER["imagePullPolicy"],
        "dagster_home": VALUES["global"]["dagsterHome"],
        "instance_config_map": f"{RELEASE}-instance",
        "postgres_password_secret": VALUES["global"]["postgresqlSecretName"],
        "security_context": LAUNCHER["securityContext"],
        "run_k8s_config": {
            "pod_spec_config": config["podSpecConfig"],
            "job_spec_config": config["jobSpecConfig"],
        },
    }


def of_the_code_server() -> dict[str, Any]:
    """What the chart has the code server say of its runs."""
    return {
        "k8s": {
            "image_pull_policy": CODE["image"]["pullPolicy"],
            "env_config_maps": [f"{RELEASE}-{CODE['name']}-user-env"],
            "env_secrets": [one["name"] for one in CODE["envSecrets"]],
            "volumes": CODE["volumes"],
            "volume_mounts": CODE["volumeMounts"],
            "resources": CODE["resources"],
            "namespace": RELEASE,
            "service_account_name": f"{RELEASE}-user-deployments",
            "env": CODE["env"],
            "run_k8s_config": {"pod_spec_config": {"automount_service_account_token": True}},
        }
    }


def job_of_a_run(folder: Path) -> Any:
    """The Job that a run becomes, as the launcher makes it."""
    from dagster_k8s import K8sRunLauncher
    from dagster_k8s.container_context import K8sContainerContext
    from dagster_k8s.job import construct_dagster_k8s_job

    # There is no cluster here: its address is taken from a file in place of the pod's own.
    cluster = {"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}]}
    context = {"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}
    user = {"users": [{"name": "u", "user": {}}], "apiVersion": "v1", "kind": "Config"}
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(cluster | context | user), encoding="utf-8")
    reached = {"load_incluster_config": False, "kubeconfig_file": str(kubeconfig)}
    launcher = {"module": "dagster_k8s", "class": "K8sRunLauncher", "config": launcher_config() | reached}
    (folder / "dagster.yaml").write_text(yaml.safe_dump({"run_launcher": launcher}), encoding="utf-8")
    with DagsterInstance.from_config(str(folder)) as instance:
        assert isinstance(instance.run_launcher, K8sRunLauncher)
        run = instance.create_run_for_job(
            import_module("graphrag_dagster.definitions").defs.resolve_job_def("index")
        )
        general = instance.run_launcher.get_container_context_for_run(run)
        merged = general.merge(K8sContainerContext.create_from_config(of_the_code_server()))
        return construct_dagster_k8s_job(
            merged.get_k8s_job_config(image_of(CODE["image"]), instance.run_launcher),
            args=["dagster", "api", "execute_run"],
            job_name="run",
            user_defined_k8s_config=merged.run_k8s_config,
        )


def test_a_run_is_a_job_on_the_node_of_the_documents_with_what_the_code_server_has(tmp_path: Path) -> None:
    job = job_of_a_run(tmp_path)
    assert job.spec.ttl_seconds_after_finished == 3600
    pod = job.spec.template.spec
    (container,) = pod.containers
    assert container.image == image_of(CODE["image"])
    assert pod.service_account_name == f"{RELEASE}-user-deployments"
    assert pod.security_context.run_as_non_root
    assert container.security_context.read_only_root_filesystem
    assert container.resources.limits == CODE["resources"]["limits"]
    (term,) = pod.affinity.pod_affinity.required_during_scheduling_ignored_during_execution
    assert term.label_selector.match_labels == {"component": "user-deployments", "deployment": CODE["name"]}
    mounts = {mount.mount_path for mount in container.volume_mounts}
    assert mounts == {"/data", "/tmp", VALUES["global"]["dagsterHome"]}
    names = {one.name: one for one in container.env}
    assert {HOME, EXECUTOR, CACHE, "PGPASSWORD", "DAGSTER_PG_PASSWORD"} <= names.keys()
    assert names["PGPASSWORD"].value_from.secret_key_ref.key == "postgresql-password"
    assert [one.secret_ref.name for one in container.env_from if one.secret_ref] == [
        "graphrag-dagster-secrets"
    ]


def test_the_code_that_is_served_is_there() -> None:
    module, name = CODE["dagsterApiGrpcArgs"]
    assert module == "-m"
    assert isinstance(import_module(name).defs, Definitions)
    _, container = served()
    for image in (CODE["image"], VALUES["dagsterWebserver"]["image"], VALUES["dagsterDaemon"]["image"]):
        assert image_of(image) == container["image"]


def test_steps_as_pods_are_configured_as_the_executor_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXECUTOR, "k8s")
    executor = chosen_executor()
    steps = yaml.safe_load((FOLDER / "steps.yaml").read_text(encoding="utf-8"))
    checked = process_config(executor.config_schema.config_type, steps["execution"]["config"])
    assert checked.success, checked.errors


def test_manifests_are_what_kubernetes_knows() -> None:
    from dagster_k8s.models import k8s_model_from_dict, k8s_snake_case_dict
    from kubernetes import client

    for part in manifests():
        model = getattr(client, f"V1{part['kind']}")
        # It refuses what it does not know.
        assert k8s_model_from_dict(model, k8s_snake_case_dict(model, part)).metadata.name


def test_everything_that_is_named_is_there() -> None:
    claims = set(of_kind("PersistentVolumeClaim"))
    pod, container = served()
    for volumes in (pod["volumes"], CODE["volumes"]):
        assert {
            one["persistentVolumeClaim"]["claimName"] for one in volumes if "persistentVolumeClaim" in one
        } <= claims
    for given in (CODE, container, VALUES["dagsterWebserver"], VALUES["dagsterDaemon"]):
        names = {one["name"] for one in (pod if given is container else given)["volumes"]}
        assert {mount["name"] for mount in given["volumeMounts"]} == names
    webserver = VALUES["dagsterWebserver"]
    for probe in ("readinessProbe", "livenessProbe"):
        assert webserver[probe]["httpGet"]["port"] == webserver["service"]["port"]
    # Both ask the same database with the same password, which is the chart's.
    cache = {one["name"]: one.get("value") for one in CODE["env"]}[CACHE]
    database = VALUES["postgresql"]
    assert cache == (
        f"postgresql://{database['postgresqlUsername']}@{RELEASE}-postgresql:5432/{database['postgresqlDatabase']}"
    )
    assert {one["name"]: one.get("value") for one in container["env"]}[CACHE] == cache
    text = "".join(
        (FOLDER / name).read_text(encoding="utf-8") for name in ("values.yaml", "beside-the-chart.yaml")
    )
    made = set(re.findall(r"create secret generic (\S+)", text))
    used = {one["name"] for one in CODE["envSecrets"]} | {
        database["existingSecret"],
        VALUES["global"]["postgresqlSecretName"],
    }
    used |= {one["secretRef"]["name"] for one in container["envFrom"]}
    used |= {
        one["valueFrom"]["secretKeyRef"]["name"]
        for one in (*CODE["env"], *container["env"])
        if "valueFrom" in one
    }
    assert used == made


def test_no_pod_may_more_than_it_must() -> None:
    pod, container = served()
    assert not pod["automountServiceAccountToken"]
    assert not VALUES["dagster-user-deployments"]["rbacEnabled"]
    pods = [(pod["securityContext"], container["securityContext"])]
    for part in (CODE, VALUES["dagsterWebserver"], VALUES["dagsterDaemon"]):
        pods.append((part["podSecurityContext"], part["securityContext"]))
    for of_pod, own in pods:
        assert of_pod["runAsNonRoot"]
        assert own["readOnlyRootFilesystem"]
        assert not own["allowPrivilegeEscalation"]
        assert own["capabilities"] == {"drop": ["ALL"]}
    assert VALUES["dagsterWebserver"]["service"]["type"] == "ClusterIP"
    assert {service["spec"]["type"] for service in of_kind("Service").values()} == {"ClusterIP"}
    secret = ("PASSWORD", "KEY", "TOKEN")
    for one in (*CODE["env"], *container["env"]):
        assert "valueFrom" in one or not one["name"].endswith(secret)
