"""What is promised of README and the documentation as texts: their lengths, and links out of the site."""

import re
from pathlib import Path

import pytest

from support.pages import examples
from support.shared import REPOSITORY

DOCS = REPOSITORY / "docs"
LIMITS = {REPOSITORY / "README.md": 700, REPOSITORY / "benchmarks" / "README.md": 1500} | dict.fromkeys(
    (DOCS / "how-to").glob("*.md"), 800
)
_BLOB = re.compile(r"https://github\.com/graphrag-dagster/graphrag-dagster/(?:blob|tree)/main/([^)#\s]+)")


@pytest.mark.parametrize("page", LIMITS, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_a_page_keeps_to_its_length(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").split()) <= LIMITS[page]


def test_links_into_the_repository_lead_somewhere() -> None:
    links = [
        (page.name, target)
        for page in DOCS.rglob("*.md")
        for target in _BLOB.findall(page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 3
    assert [link for link in links if not (REPOSITORY / link[1]).exists()] == []


@pytest.mark.parametrize("page", sorted((DOCS / "tutorial").glob("*.md")), ids=lambda page: page.stem)
def test_a_tutorial_leaves_nothing_out(page: Path) -> None:
    """Whoever follows a tutorial can do all of it, and so can the test."""
    assert [one.line for one in examples(page.read_text(encoding="utf-8")) if one.not_run] == []
