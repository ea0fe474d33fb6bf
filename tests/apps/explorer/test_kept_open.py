"""Snapshots that stay open: the newest is shown, and nothing is held that nobody looks at."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event

import pytest

from graphrag_dagster.apps.explorer import open_snapshots
from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.apps.explorer.open_snapshots import SnapshotCache
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.published import publish, published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables


def _publish_without_an_entity(warehouse: Warehouse) -> None:
    warehouse.write(tables.ENTITIES, "coast", warehouse.read(tables.ENTITIES, "coast").head(-1))
    publish(warehouse, "coast")


def test_what_is_open_answers_as_what_is_opened(coast: Path) -> None:
    cache = SnapshotCache()
    seen, anew = Explorer("coast", cache=cache), Explorer("coast")
    entity = anew.drawn().nodes[0].id
    for _ in range(2):
        assert seen.overview() == anew.overview()
        assert seen.entity(entity) == anew.entity(entity)
        assert seen.why("entity", entity) == anew.why("entity", entity)
        assert "".join(seen.csv("entities")) == "".join(anew.csv("entities"))
    cache.close()


def test_many_may_look_at_once(coast: Path) -> None:
    cache = SnapshotCache()
    with ThreadPoolExecutor(8) as many:
        found = list(many.map(lambda _: Explorer("coast", cache=cache).find("harbour"), range(40)))
    assert all(one == found[0] for one in found)
    cache.close()


def test_a_corpus_that_is_slow_to_open_holds_up_no_other(
    coast: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, warehouse, going = SnapshotCache(), Warehouse(), Event()
    rows = {table: warehouse.read(table, "coast") for table in (tables.DOCUMENTS, tables.ENTITIES)}
    warehouse.write_all("slow", rows)
    publish(warehouse, "slow")
    opened, begun = open_snapshots.open_snapshot, Event()

    def opening(where: Warehouse, corpus: str) -> AbstractContextManager[open_snapshots.OpenSnapshot]:
        if corpus == "slow":
            begun.set()
            assert going.wait(30)
        return opened(where, corpus)

    monkeypatch.setattr(open_snapshots, "open_snapshot", opening)

    def look(corpus: str) -> object:
        with cache.open(warehouse, corpus) as shown:
            return shown.totals(f"select count(*) as n from {shown[tables.DOCUMENTS]}")

    with ThreadPoolExecutor(3) as many:
        slow = [many.submit(look, "slow") for _ in range(2)]
        assert begun.wait(30)
        assert many.submit(look, "coast").result(10) == {"n": 4}
        going.set()
        assert [one.result(10) for one in slow] == [{"n": 4}] * 2
    cache.close()


def test_a_newer_snapshot_is_shown_at_once_and_who_looks_at_the_older_ends_in_peace(coast: Path) -> None:
    cache, warehouse = SnapshotCache(), Warehouse()
    seen = Explorer("coast", cache=cache)
    before = seen.overview()
    rows = seen.csv("entities")
    first = next(rows)
    _publish_without_an_entity(warehouse)
    after = seen.overview()
    assert after.version != before.version
    assert after.counts.entities == before.counts.entities - 1
    assert len((first + "".join(rows)).splitlines()) == before.counts.entities + 1
    cache.close()


def test_a_snapshot_that_was_deleted_is_told(coast: Path) -> None:
    cache, warehouse = SnapshotCache(), Warehouse()
    seen = Explorer("coast", cache=cache)
    seen.overview()
    found = published(warehouse, "coast")
    assert found
    found.file.unlink()
    with pytest.raises(WarehouseError, match="graphrag-dagster index coast"):
        seen.overview()
    cache.close()


def test_no_more_are_kept_than_are_to_be(coast: Path) -> None:
    cache, warehouse = SnapshotCache(most=1), Warehouse()
    with cache.open(warehouse, "coast") as shown:
        cache.close()
        assert shown.totals(f"select count(*) as n from {shown[tables.ENTITIES]}")["n"] > 0
    with cache.open(warehouse, "coast") as again:
        assert again.sources is not shown.sources
    cache.close()
