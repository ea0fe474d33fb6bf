"""What axe finds on every page, wide and on a phone, light and dark: nothing. And nothing is as wide as to scroll."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.long
AXE = Path(__file__).parents[3] / ".ci" / "javascript" / "node_modules" / "axe-core" / "axe.min.js"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
SIZES = {"wide": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}
FIRST = """async (kind) => {
  const told = await (await fetch(`/corpora/harbour/tables/${kind}?limit=1`)).json();
  return told.rows[0][told.columns.findIndex((one) => one.name.endsWith("_id"))];
}"""


def addresses(page: Any) -> list[str]:
    """One address of every kind of page."""
    entity, community, document = (
        page.evaluate(FIRST, kind) for kind in ("entities", "communities", "documents")
    )
    return [
        "",
        *("harbour/map", f"harbour/map?within={community}"),
        "harbour/ask?q=Who owns the Atlas Nine%3F&method=local&compare=basic",
        *(f"harbour/entity/{entity}", f"harbour/community/{community}"),
        f"harbour/document/{document}?cited=10-60",
        *("harbour/tables", "harbour/tables/entities", "harbour/find?query=ferry"),
        *("harbour/changes", "harbour/nothing"),
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_on_any_page(browser: "Browser", served: str, size: str, theme: Any) -> None:
    if not AXE.is_file():
        pytest.skip("axe is not there: make page installs it")
    # The page lets no script of another into it; axe is one.
    context = browser.new_context(viewport=SIZES[size], color_scheme=theme, bypass_csp=True)
    page = context.new_page()
    page.goto(served)
    found: dict[str, list[str]] = {}
    for address in addresses(page):
        page.goto(f"{served}/#/{address}")
        page.wait_for_selector("#main[data-shown]")
        if "/ask?" in address:
            page.locator("[data-answered]").nth(1).wait_for()
        page.wait_for_timeout(700)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        told = page.evaluate("(rules) => axe.run(document, rules)", RULES)
        wrong = [f"{one['id']}: {one['nodes'][0]['target']}" for one in told["violations"]]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wrong.append("it scrolls sideways")
        if wrong:
            found[address] = wrong
    context.close()
    assert found == {}
