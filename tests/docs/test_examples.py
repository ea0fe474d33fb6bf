"""Every example of README and of the documentation runs, as a reader would run it."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.sample import HARBOUR
from support.endpoint import ScriptedEndpoint
from support.homes import copy_home, shared_home
from support.pages import PAPERS, Reader, examples
from support.shared import REPOSITORY

DOCS = REPOSITORY / "docs"
#: The first is run with the sample indexed; what is generated or included has no examples of its own.
PAGES = [REPOSITORY / "README.md", *sorted(DOCS.rglob("*.md"))]


def _has_examples(page: Path) -> bool:
    return any(one.language in ("sh", "python", "yaml") for one in examples(page.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    with ScriptedEndpoint(models=("my-model",)) as server:
        yield server.url


def _index_sample(home: Path) -> None:
    shutil.copytree(HARBOUR, home / "corpora" / "harbour")
    run_job("harbour")


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page: Path = request.getfixturevalue("page")
    if page.parent.name != "tutorial":
        copy_home(shared_home(tmp_path_factory, "sample", _index_sample), tmp_path)
        (tmp_path / "papers").mkdir()
        for name, text in PAPERS.items():
            (tmp_path / "papers" / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize(
    "page", [one for one in PAGES if _has_examples(one)], ids=lambda page: os.path.relpath(page, REPOSITORY)
)
def test_the_examples_of_a_page_run(page: Path, folder: Path, endpoint: str) -> None:
    with Reader(folder, endpoint) as reader:
        reader.follow(page)
