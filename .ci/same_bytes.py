"""Index the sample corpus on another Python, too, and compare every table with what this Python makes.

Prints one line, and each table that differs with its first row that does; exits with 1 where any differs.
Where no other Python is installed, nothing is compared. `OTHER_PYTHON=path` names the other one.

    PYTHONPATH=tests python .ci/same_bytes.py
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.resolution.tables import RESOLUTION_STATE
from graphrag_dagster.systems.graphrag.tables import EXTRACTION_STATE
from support.tables_of import contents

ROOT = Path(__file__).parent.parent
CORPUS = "harbour"
QUESTIONS = """questions:
  ask:
    - What are the main themes of the papers?
    - Who decided about the Atlas Nine, and why?
    - What did Gideon Marwood do?
  methods: [C0, C1, TS, SS, dynamic, local, drift, basic]
"""
COMMANDS = (("index", CORPUS), ("answer", CORPUS))
VERSION = "import sys; print(*sys.version_info[:2], sep='.')"


def other_python() -> str | None:
    """An interpreter of another minor version that this project runs on, the newest first."""
    for candidate in _candidates():
        said = subprocess.run([candidate, "-c", VERSION], capture_output=True, text=True, check=False)
        if said.returncode == 0 and said.stdout.strip() in _others():
            return candidate
    return None


def _others() -> list[str]:
    every = [f"3.{minor}" for minor in range(13, 10, -1)]
    return [version for version in every if version != f"3.{sys.version_info.minor}"]


def _candidates() -> Iterator[str]:
    if named := os.environ.get("OTHER_PYTHON"):
        yield named
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for version in _others():
        yield from filter(None, [shutil.which(f"python{version}")])
        yield from map(str, sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True))


def prepared(python: str) -> Path:
    """An environment of the other Python with what the lock names; made once."""
    folder = ROOT / ".venv-other"
    done = folder / ".installed"
    read = ((ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", "pyproject.toml"))
    told = "\n".join([python, *read])
    if not done.is_file() or done.read_text(encoding="utf-8") != told:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, str(ROOT / ".ci" / "environment.py"), str(folder)], check=True, cwd=ROOT)
        done.write_text(told, encoding="utf-8")
    return folder / "bin" / "python"


def index(python: Path | str, home: Path) -> None:
    """Index the sample corpus into a home of its own, and answer questions."""
    folder = shutil.copytree(ROOT / "graphrag_dagster" / "sample" / CORPUS, home / "corpora" / CORPUS)
    with (folder / "corpus.yaml").open("a", encoding="utf-8") as settings:
        settings.write(QUESTIONS)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GRAPHRAG_DAGSTER_")}
    environment |= {"GRAPHRAG_DAGSTER_HOME": str(home), "PYTHONPATH": str(ROOT)}
    environment.pop("DAGSTER_HOME", None)
    for command in COMMANDS:
        run = [str(python), "-c", "from graphrag_dagster.cli import main; main()", *command, "--json"]
        done = subprocess.run(run, env=environment, cwd=home, check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{python}, {' '.join(command)}: exit code {done.returncode}\n{done.stderr}")


def differences(one: Path, other: Path) -> tuple[int, dict[str, str]]:
    """The number of tables, and by name what differs between those of two homes."""
    tables = [
        contents(
            Warehouse(path=str(home / "warehouse" / "{corpus}.duckdb")),
            CORPUS,
            without=("evaluation", "studies"),
        )
        for home in (one, other)
    ]
    found = {}
    # It names the versions of the libraries that read the text.
    names = (tables[0].keys() & tables[1].keys()) - {EXTRACTION_STATE.full_name, RESOLUTION_STATE.full_name}
    for name in names:
        left, right = tables[0][name], tables[1][name]
        if repr(left) != repr(right):
            place = next(
                (at for at, (a, b) in enumerate(zip(left, right, strict=False)) if repr(a) != repr(b)), None
            )
            rows = "" if place is None else f"; row {place}:\n  {left[place]}\n  {right[place]}"
            found[name] = f"{name}: {len(left)} and {len(right)} rows{rows}"
    return len(names), dict(sorted(found.items()))


def main() -> int:
    """Compare, and return the exit code."""
    python = other_python()
    if python is None:
        print(f"same bytes: not compared, there is none of Python {', '.join(_others())} on this machine")
        return 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        homes = Path(folder, "one"), Path(folder, "other")
        for own, home in zip((sys.executable, prepared(python)), homes, strict=True):
            index(own, home)
        count, found = differences(*homes)
    print(*found.values(), sep="\n", end="\n" if found else "")
    told = f"{len(found)} of {count} tables differ" if found else f"{count} tables are the same"
    print(f"same bytes: {told} on {sys.version.split()[0]} and {python} ({time.monotonic() - begin:.0f} s)")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
