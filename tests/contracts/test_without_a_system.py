"""A published system is one room: the package without it is whole, and answers as before."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "graphrag_dagster"
#: Of each room that may be missing, the name of its entry point, a search method that goes with it, and the
#: folders of tests that are about it.
ROOMS = {
    "systems/lego": ("lego", "paths", {"paths"}),
    "systems/coterag": ("coterag", "coterag", {"coterag"}),
    "systems/context_leiden": ("context_leiden", None, {"context"}),
    "apps/cypher": ("cypher", "graph", {"cypher"}),
}


def without(room: str, folder: Path) -> dict[str, str]:
    """Install a copy of the package without a room; return the environment in which Python finds that one."""
    shutil.copytree(PACKAGE, folder / "graphrag_dagster", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(folder / "graphrag_dagster" / room)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = folder / f"graphrag_dagster-{project['version']}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: graphrag-dagster\nVersion: {project['version']}\n", encoding="utf-8"
    )
    systems = project["entry-points"]["graphrag_dagster.systems"]
    kept = [f"{name} = {target}" for name, target in systems.items() if name != ROOMS[room][0]]
    points = "\n".join(["[graphrag_dagster.systems]", *kept, ""])
    (told / "entry_points.txt").write_text(points, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(folder), "GRAPHRAG_DAGSTER_HOME": str(folder / "home")}


def run(arguments: list[str], environment: dict[str, str], folder: Path) -> str:
    code = "import sys; from graphrag_dagster.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("room", ROOMS)
def test_what_is_left_indexes_asks_and_shows(room: str, tmp_path: Path) -> None:
    environment = without(room, tmp_path)
    run(["index", str(REPOSITORY / "examples" / "harbour")], environment, tmp_path)
    answered = run(
        ["ask", "harbour", "How many people watched from Coal Quay?", "--method", "local"],
        environment,
        tmp_path,
    )
    assert "Coal Quay" in answered
    assert "No answer was found" not in answered
    for command in (["status", "harbour"], ["show", "harbour"], ["plan", "harbour"], ["plugins"]):
        run(command, environment, tmp_path)
    gone = ROOMS[room][1]
    methods = run(["ask", "--help"], environment, tmp_path)
    assert gone is None or f" {gone}," not in methods


@pytest.mark.long
@pytest.mark.parametrize("room", ROOMS)
def test_what_is_left_passes_its_tests(room: str, tmp_path: Path) -> None:
    environment = without(room, tmp_path)
    about = {name for _, _, names in ROOMS.values() for name in names} - {"cypher"} | {"cypher"}
    folders = [
        "extractive",
        "retrieval",
        "search",
        "resolution",
        "reports",
        "graph",
        "llm",
        "support",
        "lineage",
    ]
    kept = [name for name in about if name not in ROOMS[room][2]]
    chosen = [str(REPOSITORY / "tests" / name) for name in (*folders, *sorted(kept))]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not long", "-p", "no:cacheprovider", *chosen],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-3000:]
