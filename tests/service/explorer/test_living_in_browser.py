"""A page that is open while another snapshot is published says so."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.browsing import served_home, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.long


def test_a_newer_snapshot_is_told_and_shown_when_it_is_asked_for(browser: "Browser", coast: Path) -> None:
    warehouse = Warehouse()
    entities = warehouse.read(tables.ENTITIES, "coast")
    with served_home(coast.parents[1]) as url, watched_page(browser, f"{url}/#/coast/map") as page:
        page.get_by_text(f"{len(entities)} entities").first.wait_for()
        warehouse.write(tables.ENTITIES, "coast", entities.head(-1))
        publish(warehouse, "coast")
        page.get_by_text("This corpus has been indexed again").wait_for(timeout=30_000)
        page.get_by_role("button", name="Show the new index").click()
        page.get_by_text(f"{len(entities) - 1} entities").first.wait_for()
        assert page.get_by_text("This corpus has been indexed again").count() == 0
