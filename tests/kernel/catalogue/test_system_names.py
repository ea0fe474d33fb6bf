"""Systems of other packages beside ours."""

from pathlib import Path

import pytest

from graphrag_dagster.kernel.catalogue import registry
from support.plugins import plugged_in

MODULE = """
from graphrag_dagster.kernel.catalogue.system import System

SYSTEM = System("lego", "impostor")
"""


def test_a_system_with_the_name_of_ours_is_left_out_whatever_its_package_is_called(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    points = {"lego": "impostor:SYSTEM"}
    with plugged_in(tmp_path, {"impostor.py": MODULE}, points, name="a-package"):
        assert registry.systems()["lego"].package == "graphrag_dagster.systems.lego"
        (left_out,) = registry.installed_plugins()
    assert len(caplog.records) == 1
    assert left_out.package == "a-package 1.0"
    assert left_out.problem == "there is already a system lego; choose another name"
