"""A published system is one room: the package without it is whole, and answers as before."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "graphrag_dagster"
#: Rooms that may be missing: the name of the entry point of each, what it is switched on with, and its method.
ROOMS = {
    "systems/lego": ("lego", "", "paths"),
    "systems/coterag": ("coterag", "coterag: {enabled: true, profile: calibrated}", "coterag"),
    "systems/context_leiden": ("context_leiden", "context: {enabled: true}", None),
    "apps/cypher": ("cypher", "", "graph"),
}
LETTERS = {
    "strike.md": "# Strike\n\nHanna Quill led the Dockers Union in Port Brenna. The Dockers Union struck in May.\n",
    "peace.md": "# Peace\n\nHanna Quill met Ada Holm of the Harbour Board. The Harbour Board raised wages.\n",
}


def without(rooms: Collection[str], folder: Path) -> dict[str, str]:
    """Install a copy of the package without some rooms; return the environment in which Python finds that one."""
    shutil.copytree(PACKAGE, folder / "graphrag_dagster", ignore=shutil.ignore_patterns("__pycache__"))
    for room in rooms:
        shutil.rmtree(folder / "graphrag_dagster" / room)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = folder / f"graphrag_dagster-{project['version']}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: graphrag-dagster\nVersion: {project['version']}\n", encoding="utf-8"
    )
    gone = {ROOMS[room][0] for room in rooms}
    systems = project["entry-points"]["graphrag_dagster.systems"]
    kept = [f"{name} = {target}" for name, target in systems.items() if name not in gone]
    points = "\n".join(["[graphrag_dagster.systems]", *kept, ""])
    (told / "entry_points.txt").write_text(points, encoding="utf-8")
    homes = {"GRAPHRAG_DAGSTER_HOME": folder / "home", "GRAPHRAG_DAGSTER_CORPORA": folder / "corpora"}
    return {**os.environ, **{name: str(path) for name, path in homes.items()}, "PYTHONPATH": str(folder)}


#: Commands one after the other in one process: starting one takes longer than most of them do.
_COMMANDS = """
import contextlib, io, json, sys
from graphrag_dagster.cli import main
said = []
for arguments in json.load(sys.stdin):
    sys.argv, out = ["graphrag-dagster", *arguments], io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                sys.exit(f"{arguments}: {ended.code}\\n{out.getvalue()}")
    said.append(out.getvalue())
json.dump(said, sys.stdout)
"""


def run(environment: dict[str, str], *commands: Sequence[str]) -> list[str]:
    """What each of some commands of that copy says; none may fail."""
    done = subprocess.run(
        [sys.executable, "-c", _COMMANDS],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        env=environment,
        cwd=environment["PYTHONPATH"],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said: list[str] = json.loads(done.stdout)
    return said


@pytest.mark.long
@pytest.mark.parametrize("room", ROOMS)
def test_what_is_left_indexes_asks_and_shows(room: str, tmp_path: Path) -> None:
    environment = without([room], tmp_path)
    corpus = tmp_path / "corpora" / "coast"
    corpus.mkdir(parents=True)
    for name, text in LETTERS.items():
        (corpus / name).write_text(text, encoding="utf-8")
    others = [ROOMS[one] for one in ROOMS if one != room]
    (corpus / "corpus.yaml").write_text("\n".join(switch for _, switch, _ in others), encoding="utf-8")
    methods = ["local", "global", *(method for _, _, method in others if method)]
    question = "Who led the Dockers Union?"
    asked = [["ask", "coast", question, "--method", method, "--json"] for method in methods]
    shown = [
        ["status", "coast"],
        ["show", "coast"],
        ["plan", "coast"],
        ["doctor", "coast"],
        ["ask", "--help"],
    ]
    said = run(environment, ["index", "coast"], *asked, *shown)
    for method, answer in zip(methods, said[1:], strict=False):
        assert "Hanna Quill" in json.loads(answer)["text"], method
    gone = ROOMS[room][2]
    assert gone is None or f" {gone}," not in said[-1]


@pytest.mark.long
def test_the_kernel_passes_its_tests_without_any_of_them(tmp_path: Path) -> None:
    environment = without(ROOMS, tmp_path)
    modules = [f"graphrag_dagster.{room.replace('/', '.')}" for room in ROOMS]
    folders = (REPOSITORY / "tests" / "kernel" / name for name in ("graph", "retrieval", "tables", "text"))
    files = [path for folder in folders for path in sorted(folder.glob("test_*.py"))]
    kept = [
        str(path) for path in files if not any(map(path.read_text(encoding="utf-8").__contains__, modules))
    ]
    assert len(kept) > len(files) // 2
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not long", "-p", "no:cacheprovider", *kept],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-3000:]
