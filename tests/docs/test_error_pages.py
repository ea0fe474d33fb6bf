"""The pages that errors lead to are there, and their addresses are printed where a person reads them."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_dagster import errors
from graphrag_dagster.cli.console import print_error
from graphrag_dagster.errors import DOCUMENTATION, GraphragError
from support.commands import Run

REPOSITORY = Path(__file__).parents[2]


def kinds(kind: type[GraphragError] = GraphragError) -> Iterator[type[GraphragError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


PAGES = sorted({kind.page for kind in kinds() if kind.page})


@pytest.mark.parametrize("page", PAGES)
def test_the_page_of_an_error_is_there(page: str) -> None:
    path, _, anchor = page.partition("#")
    assert path.endswith(".html")
    source = REPOSITORY / "docs" / f"{path.removesuffix('.html')}.md"
    assert source.is_file()
    headings = re.findall(r"^#+ (.+)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert not anchor or anchor in slugs


def test_the_address_of_the_documentation_stands_once() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Documentation"] == DOCUMENTATION
    assert DOCUMENTATION.startswith("https://")
    assert DOCUMENTATION.endswith("/")
    where = [
        file
        for file in (REPOSITORY / "graphrag_dagster").rglob("*.py")
        if DOCUMENTATION in file.read_text(encoding="utf-8")
    ]
    assert where == [Path(errors.__file__)]


@pytest.mark.parametrize(("terminal", "more"), [(True, f"more: {DOCUMENTATION}x.html\n"), (False, "")])
def test_the_address_is_for_terminals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool, more: str
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    print_error("what was wrong", "x.html")
    assert capsys.readouterr().err == f"error: what was wrong\n{more}"


def test_a_command_names_the_page(run: Run, home: Path) -> None:
    (home / "corpora" / "coast").mkdir()
    (home / "corpora" / "coast" / "corpus.yaml").write_text("nonsense: 1\n")
    code, _, err = run("status", "coast")
    assert (code, err.count("\n")) == (1, 1)
