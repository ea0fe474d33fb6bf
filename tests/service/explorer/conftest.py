from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browsing import launched_browser, served_home, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


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
    """The map of the sample corpus."""
    with watched_page(browser, f"{served}/#/harbour/map") as opened:
        yield opened
