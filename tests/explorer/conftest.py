import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browsing import launched_browser, served_home, watched_page
from support.homes import shared_home

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SAMPLE = Path(__file__).parents[2] / "examples" / "harbour"


@pytest.fixture(scope="session")
def harbour_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sample corpus indexed without a model; not to be changed."""
    from graphrag_dagster.cli.output.running import run_job

    def fill(folder: Path) -> None:
        shutil.copytree(SAMPLE, folder / "corpora" / "harbour")
        run_job("harbour")

    return shared_home(tmp_path_factory, "harbour", fill)


# For each test anew: its loop of events would stand in the way of other tests of the process.
@pytest.fixture
def browser() -> Iterator["Browser"]:
    with launched_browser() as started:
        yield started


@pytest.fixture(scope="session")
def served(harbour_home: Path) -> Iterator[str]:
    """The URL of a server of the sample corpus."""
    with served_home(harbour_home) as url:
        yield url


@pytest.fixture
def page(browser: "Browser", served: str) -> Iterator["Page"]:
    """The explorer on the sample corpus."""
    with watched_page(browser, served) as opened:
        yield opened
