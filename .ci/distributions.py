"""Checks what is given to users: the wheel and the sdist in a folder.

    python3 .ci/distributions.py FOLDER

Needs nothing but the standard library. Ends with the list of what is wrong, if anything is.
"""

import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "graphrag_dagster"
#: What else than modules the program reads at run time; of the explorer's page and the sample, every file.
NEEDED = (f"{PACKAGE}/py.typed", f"{PACKAGE}/__main__.py", f"{PACKAGE}/sample/README.md")
WHOLE = (f"{PACKAGE}/sample/harbour", f"{PACKAGE}/service/explorer/page", f"{PACKAGE}/kernel/models/vendor")
MOST_MEGABYTES = {"wheel": 5.0, "sdist": 10.0}


def main() -> None:
    folder = Path(sys.argv[1])
    wheel, sdist = _only(folder, "*.whl"), _only(folder, "*.tar.gz")
    problems = [*_wheel(wheel), *_sdist(sdist)]
    for name, file in (("wheel", wheel), ("sdist", sdist)):
        megabytes = file.stat().st_size / 1e6
        if megabytes > MOST_MEGABYTES[name]:
            problems.append(f"the {name} has {megabytes:.1f} MB, more than {MOST_MEGABYTES[name]:.0f}")
        print(f"{name}: {file.name}, {megabytes:.1f} MB")
    if problems:
        sys.exit("\n".join(problems))


def _only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder} has {len(found)} files {pattern}, not one")
    return found[0]


def _wheel(file: Path) -> Iterator[str]:
    with zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
        about = next(name.partition("/")[0] for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(f"{about}/METADATA"))
        scripts = archive.read(f"{about}/entry_points.txt").decode()
    yield from (f"wheel: {told}" for told in _metadata(metadata))
    expected = {*NEEDED, *_files(*WHOLE), *(f"{about}/licenses/{path}" for path in _licences())}
    yield from (f"wheel: {name} is missing" for name in sorted(expected - names))
    tops = {name.partition("/")[0] for name in names}
    yield from (f"wheel: has {top}" for top in sorted(tops - {PACKAGE, about}))
    if "graphrag-dagster = graphrag_dagster.cli:main" not in scripts:
        yield "wheel: the command graphrag-dagster is missing"
    yield from (f"wheel: has {name}" for name in sorted(names) if "__pycache__" in name)


def _sdist(file: Path) -> Iterator[str]:
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        top = archive.getnames()[0].partition("/")[0]
        member = archive.extractfile(f"{top}/PKG-INFO")
        metadata = message_from_bytes(member.read() if member else b"")
    yield from (f"sdist: {told}" for told in _metadata(metadata))
    expected = {*NEEDED, *_files(*WHOLE), *_licences(), "pyproject.toml", "README.md"}
    yield from (f"sdist: {name} is missing" for name in sorted(expected - names))
    for name in sorted(names):
        if name.startswith(("packages/", "shared/", "corpora/", "warehouse/")) or "__pycache__" in name:
            yield f"sdist: has {name}"


def _metadata(given: Message) -> Iterator[str]:
    """What differs from pyproject.toml, and what the page of a package should not lack."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for key, expected in {
        "Name": project["name"],
        "Version": project["version"],
        "Summary": project["description"],
        "License-Expression": project["license"],
        "Description-Content-Type": "text/markdown",
    }.items():
        if given[key] != expected:
            yield f"{key} is {given[key]!r}, not {expected!r}"
    if set((given["Requires-Python"] or "").split(",")) != set(project["requires-python"].split(",")):
        yield f"Requires-Python is {given['Requires-Python']!r}"
    for key, expected in {
        "Classifier": project["classifiers"],
        "License-File": list(_licences()),
        "Provides-Extra": list(project["optional-dependencies"]),
        "Project-URL": [f"{name}, {url}" for name, url in project["urls"].items()],
    }.items():
        if missing := set(expected) - set(given.get_all(key, [])):
            yield f"{key} lacks {', '.join(sorted(missing))}"
    for wanted in ("Typing :: Typed", "Programming Language :: Python :: 3.13"):
        if wanted not in given.get_all("Classifier", []):
            yield f"Classifier lacks {wanted}"
    if {"Documentation", "Source", "Changelog"} - set(project["urls"]):
        yield "one of the addresses Documentation, Source and Changelog is missing"
    if not str(given.get_payload()).strip():
        yield "README.md is not its long description"


def _licences() -> Iterator[str]:
    """Our own, and those of what others made: every folder of theirs has one beside each kind of file."""
    yield "LICENSE"
    for folder in sorted((ROOT / PACKAGE).rglob("vendor")):
        found = sorted(folder.glob("*.LICENSE.txt"))
        if not found:
            sys.exit(f"{folder} has no *.LICENSE.txt")
        yield from (path.relative_to(ROOT).as_posix() for path in found)


def _files(*folders: str) -> Iterator[str]:
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    main()
