"""The system of docs/tutorial/your-first-system.md, as its reader writes it: a tenth system, and no file of this package is edited."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.plugins import install

REPOSITORY = Path(__file__).parents[3]
PAGE = REPOSITORY / "docs" / "tutorial" / "your-first-system.md"
LETTER = "The lighthouse keeper is Ada Holm. Ada Holm guards the lighthouse of Port Brenna at night.\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    site, folder = tmp_path / "site", tmp_path / "corpora" / "coast"
    (site / "tally").mkdir(parents=True)
    folder.mkdir(parents=True)
    (folder / "letter.txt").write_text(LETTER, encoding="utf-8")
    (folder / "weather.txt").write_text("Rain fell on the harbour. Rain fell again.\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    files = dict(re.findall(r"```python\n# tally-system/(tally/\w+\.py)\n(.*?)```", page, re.DOTALL))
    assert len(files) == 7
    install(site, files, {"tally": "tally.system:SYSTEM"}, name="tally")
    (site / "tally" / "__init__.py").touch()
    homes = {"GRAPHRAG_DAGSTER_HOME": str(tmp_path), "GRAPHRAG_DAGSTER_CORPORA": str(tmp_path / "corpora")}
    paths = [str(site), str(REPOSITORY)]
    return {**os.environ, **homes, "PYTHONPATH": os.pathsep.join(paths)}


def run(environment: dict[str, str], *arguments: str) -> str:
    code = "from graphrag_dagster.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_a_system_outside_makes_tables_answers_and_has_a_command(environment: dict[str, str]) -> None:
    run(environment, "index", "coast")
    said = json.loads(
        run(environment, "ask", "coast", "Who guards the lighthouse?", "--method", "tally", "--json")
    )
    assert "Ada Holm" in said["text"]
    told = {section["title"]: section["rows"] for section in said["trace"]}
    assert told["Rare words"] == [["guards", 1], ["lighthouse", 1]]
    assert told["Remark"] == [["rarest: guards, lighthouse"]]
    assert run(environment, "tally", "coast").startswith("1 ")
    assert "tally" in run(environment, "--help")
    assert "tally 1.0" in run(environment, "doctor", "coast")
    shown = run(environment, "sql", "coast", "select count(*) as n from tally.words", "--json")
    assert json.loads(shown)[0]["n"] > 5
