"""The map: communities by area and as a list, the graph beside them, by pointer and by keyboard."""

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from support.browsing import watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.long
PHONE = {"width": 390, "height": 844}
_NO_WEBGL = """
    const given = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
        return kind.includes("webgl") ? null : given.call(this, kind, ...more);
    };
"""
_SHIFTS = """
    window.shifted = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
"""


def _told(page: "Page", served: str, path: str) -> Any:
    return page.request.get(f"{served}/corpora/harbour/{path}").json()


def _open(page: "Page", served: str, query: str) -> None:
    page.wait_for_url("**/#/harbour/map")
    page.goto(f"{served}/#/harbour/map{query}")
    page.reload()
    page.locator(".treemap-cell, .message").first.wait_for()


def _drawn(page: "Page") -> "Locator":
    canvas = page.locator(".graph-canvas")
    page.locator(".graph-canvas[aria-busy=false]").wait_for(state="attached")
    return canvas


def _sideways(page: "Page") -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def _focused(page: "Page") -> str:
    return str(page.evaluate("document.activeElement.dataset.keep ?? document.activeElement.tagName"))


@pytest.mark.parametrize("query", ["", "?measure=tokens", "?level=1", "?level=1&measure=tokens"])
def test_areas_are_in_proportion_inside_the_frame_and_apart(page: "Page", served: str, query: str) -> None:
    _open(page, served, query)
    frame = page.locator(".treemap").bounding_box()
    boxes = [cell.bounding_box() for cell in page.locator(".treemap-cell").all()]
    values = [cell["value"] for cell in _told(page, served, f"communities{query}")["cells"]]
    assert frame
    assert len(boxes) == len(values)
    each = frame["width"] * frame["height"] / sum(values)
    for box, value in zip(boxes, values, strict=True):
        assert box
        assert math.isclose(box["width"] * box["height"], value * each, rel_tol=0.01)
        assert box["x"] >= frame["x"] - 0.5
        assert box["y"] >= frame["y"] - 0.5
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 0.5
        assert box["y"] + box["height"] <= frame["y"] + frame["height"] + 0.5
    for one, other in combinations(boxes, 2):
        assert one
        assert other
        wide = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
        high = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
        assert min(wide, high) <= 0.5


def test_a_click_goes_into_a_community_and_the_crumbs_lead_back(page: "Page", served: str) -> None:
    whole = _told(page, served, "communities")["cells"]
    parent = next(cell for cell in whole if cell["children"])
    page.locator(f"[data-keep='cell {parent['community_id']}']").click()
    page.wait_for_url(f"**/map?within={parent['community_id']}")
    inside = _told(page, served, f"communities?within={parent['community_id']}")["cells"]
    page.locator(f"[data-keep='cell {inside[0]['community_id']}']").wait_for()
    assert page.locator(".treemap-cell").count() == len(inside)
    page.get_by_role("navigation", name="Communities above").get_by_role("link", name="Whole corpus").click()
    page.locator(f"[data-keep='cell {whole[0]['community_id']}']").wait_for()
    assert page.locator(".treemap-cell").count() == len(whole)


def test_the_keyboard_alone_moves_goes_in_and_comes_back_to_where_it_was(page: "Page", served: str) -> None:
    cells = _told(page, served, "communities")["cells"]
    page.locator(".treemap-open").first.focus()
    page.keyboard.press("End")
    assert _focused(page) == f"cell {cells[-1]['community_id']}"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    beside = _focused(page)
    assert beside.startswith("cell ")
    assert beside != f"cell {cells[0]['community_id']}"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/map?within={cells[0]['community_id']}")
    inside = _told(page, served, f"communities?within={cells[0]['community_id']}")["cells"]
    page.locator(f"[data-keep='cell {inside[0]['community_id']}']:focus").wait_for()
    page.keyboard.press("Escape")
    page.locator(f"[data-keep='cell {cells[0]['community_id']}']:focus").wait_for()
    assert page.locator(".treemap-open[tabindex='0']").count() == 1


def test_a_community_that_is_not_split_leads_to_its_page_and_to_its_graph(page: "Page", served: str) -> None:
    leaf = next(cell for cell in _told(page, served, "communities")["cells"] if not cell["children"])
    cell = page.locator(f"[data-keep='cell {leaf['community_id']}']")
    assert (cell.get_attribute("href") or "").endswith(f"/community/{leaf['community_id']}")
    cell.hover()
    card = page.locator(".map-card")
    card.get_by_role("heading", name=leaf["title"]).wait_for()
    card.get_by_role("link", name="Show its graph").click()
    page.wait_for_url(f"**/map?within={leaf['community_id']}&view=graph")
    page.get_by_text("It has no parts of its own").wait_for()
    _drawn(page)
    assert page.locator(".graph-told").inner_text().startswith(f"{leaf['size']} entities")


def test_the_graph_tells_what_it_draws_finds_names_and_leads_to_them(page: "Page", served: str) -> None:
    drawn = _told(page, served, "drawn")
    canvas = _drawn(page)
    assert canvas.locator("canvas").count() > 0
    told = page.locator(".graph-told").inner_text()
    assert told == f"{drawn['entities']} entities and {len(drawn['edges'])} relationships between them shown."
    first = drawn["nodes"][0]
    page.get_by_label("Find a name in the graph").fill(first["label"].upper())
    page.keyboard.press("Enter")
    card = page.locator(".graph-card")
    card.get_by_role("heading", name=first["label"], exact=True).wait_for()
    assert f"{first['size']} neighbours" in card.inner_text()
    canvas.focus()
    page.keyboard.press("Escape")
    assert card.inner_text() == ""
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Fit").click()
    page.get_by_label("Find a name in the graph").fill(first["label"])
    page.keyboard.press("Enter")
    card.get_by_role("link", name="Open its page").click()
    page.wait_for_url(f"**/entity/{first['id']}")
    page.locator("canvas").first.wait_for(state="detached")


def test_who_is_most_connected_is_a_click_away(page: "Page", served: str) -> None:
    first = max(_told(page, served, "drawn")["nodes"], key=lambda node: node["size"])
    page.get_by_role("button", name="Who is most connected?").click()
    listed = page.get_by_role("region", name="Most connected").get_by_role("listitem").first
    listed.wait_for()
    assert listed.is_visible()
    assert listed.inner_text().startswith(first["label"])
    assert f"{first['size']} neighbours" in listed.inner_text()


def test_a_phone_gets_the_list_first_and_the_graph_by_a_switch(browser: "Browser", served: str) -> None:
    with watched_page(browser, f"{served}/#/harbour/map", viewport=PHONE, has_touch=True) as page:
        cells = _told(page, served, "communities")["cells"]
        page.locator(".map-communities .map-list li").nth(len(cells) - 1).wait_for()
        assert not page.locator(".treemap").is_visible()
        page.get_by_role("heading", name="Most connected").wait_for()
        assert page.evaluate("typeof Sigma") == "undefined"
        assert _sideways(page) <= 0
        page.get_by_role("group", name="Shown").get_by_role("link", name="Graph").click()
        page.wait_for_url("**view=graph")
        assert _drawn(page).is_visible()
        assert _sideways(page) <= 0


def test_a_browser_without_webgl_gets_a_calm_message_and_the_list(page: "Page") -> None:
    page.add_init_script(_NO_WEBGL)
    page.reload()
    page.get_by_text("This browser cannot draw graphs").wait_for()
    assert page.get_by_role("region", name="Most connected").get_by_role("listitem").count() > 0
    assert page.locator(".treemap-cell").count() > 0


def test_the_treemap_stands_before_the_drawing_program_is_fetched_and_nothing_moves(page: "Page") -> None:
    page.add_init_script(_SHIFTS)
    page.route("**/vendored.js", lambda route: route.abort())
    page.reload()
    page.get_by_text("The graph library could not be loaded").wait_for()
    assert page.locator(".treemap-cell").count() > 0
    page.unroute("**/vendored.js")
    page.reload()
    _drawn(page)
    assert page.evaluate("shifted") < 0.01


def test_a_changed_theme_is_drawn_in_its_colours(page: "Page") -> None:
    canvas = _drawn(page)
    before = canvas.screenshot()
    page.get_by_role("button", name="Dark").click()
    page.locator("html[data-theme='dark']").wait_for()
    assert canvas.screenshot() != before
    assert page.locator(".graph-canvas canvas").count() > 0


def test_a_level_that_is_not_there_is_told_calmly(page: "Page", served: str) -> None:
    _open(page, served, "?level=99")
    page.get_by_role("heading", name="This cannot be shown").wait_for()
    page.get_by_role("link", name="Go to the map").click()
    page.locator(".treemap-cell").first.wait_for()
