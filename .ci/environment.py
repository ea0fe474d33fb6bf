"""Makes a virtual environment with what requirements.lock names and this project, and says what it does.

    python3 .ci/environment.py FOLDER [--extras A,B] [PACKAGE …]

Uses uv where it is there, and pip otherwise. Needs nothing but the standard library.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

LOCK = "requirements.lock"
#: What site-packages takes in gigabytes, once all that the lock names is installed and compiled.
GIGABYTES = 1.9
_LOADED = re.compile(r"\s*(?:Downloading|Using cached) (?P<name>[^-]+)-.* \((?P<size>[\d.]+ [MG]B)\)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--extras", default="", help="extras of this project, with commas")
    parser.add_argument("packages", nargs="*")
    given = parser.parse_intermixed_args()
    uv = shutil.which("uv")
    count = len(re.findall(r"^\S+==", Path(LOCK).read_text(encoding="utf-8"), re.MULTILINE))
    print(f"Installing about {count} packages into {given.folder} with {'uv' if uv else 'pip'};", end=" ")
    extras = f", and more for {given.extras}" if given.extras else ""
    print(f"they take {GIGABYTES} GB there{extras}. The first time takes a minute or two.", flush=True)
    install = _with_uv(uv, given.folder) if uv else _with_pip(given.folder)
    for arguments in _steps(given.extras, given.packages):
        _run([*install, *arguments])
    # The first start compiles what it loads, and finds out the version of every asset's code: not while
    # somebody waits for an index.
    _run([str(_python(given.folder)), "-c", "import graphrag_dagster.definitions"])


def _steps(extras: str, packages: list[str]) -> Iterator[list[str]]:
    yield ["--no-deps", "--require-hashes", "-r", LOCK]
    # Before the extras: what is installed already, they take as it is.
    if packages:
        yield packages
    yield ["--editable", f".[{extras}]"] if extras else ["--no-deps", "--editable", "."]


def _with_uv(uv: str, folder: Path) -> list[str]:
    # pip comes along, for whoever wants to install more by the ordinary command.
    _run([uv, "venv", "--quiet", "--seed", "--allow-existing", "--python", sys.executable, str(folder)])
    # Where Python is told not to, it would compile all it imports anew each time.
    compiled = ["--compile-bytecode"] if os.environ.get("PYTHONDONTWRITEBYTECODE") else []
    return [uv, "pip", "install", *compiled, "--python", str(folder)]


def _with_pip(folder: Path) -> list[str]:
    _run([sys.executable, "-m", "venv", str(folder)])
    return [
        str(_python(folder)),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
    ]


def _python(folder: Path) -> Path:
    return next(path for path in (folder / "bin/python", folder / "Scripts/python.exe") if path.exists())


def _run(command: list[str]) -> None:
    """Run a command, and tell of what pip says only what helps who waits."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in _worth_telling(process.stdout or ()):
            print(f"  {line}", flush=True)
    if process.returncode:
        sys.exit(process.returncode)


def _worth_telling(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if loaded := _LOADED.match(line):
            yield f"{loaded['name']} ({loaded['size']})"
        elif line.startswith("Installing collected packages:"):
            yield f"all are here; unpacking {line.count(',') + 1}"


if __name__ == "__main__":
    main()
