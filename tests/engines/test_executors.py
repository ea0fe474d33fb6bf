import sys

import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.orchestration.executors import EXECUTOR, chosen_executor
from support.engines import SOME, Place, Tables


@pytest.fixture
def names() -> tuple[str, ...]:
    return ("coast",)


def test_a_run_stays_in_its_process_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(EXECUTOR, raising=False)
    assert chosen_executor().name == "in_process"


def test_an_unknown_executor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXECUTOR, "celery")
    with pytest.raises(
        SettingsError, match="'celery' is no executor; allowed are in_process, multiprocess, ray, k8s"
    ):
        chosen_executor()


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("ray", "dagster_ray", "ray"), ("k8s", "dagster_k8s", "kubernetes")]
)
def test_a_missing_package_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, name: str, module: str, extra: str
) -> None:
    monkeypatch.setenv(EXECUTOR, name)
    # An import of what is None there fails as that of a package which is not installed.
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        SettingsError, match=rf"{module}, which is not installed.*graphrag-dagster\[{extra}\]"
    ):
        chosen_executor()


@pytest.mark.long
def test_steps_in_processes_of_their_own_give_the_same_tables(place: Place, in_process: Tables) -> None:
    place.run_all("multiprocess")
    assert place.tables() == in_process
    assert {table for _, table in in_process} == {name.replace("/", ".") for name in SOME.split(",")}
