"""What came, went and changed between two snapshots; snapshots that are gone."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graphrag_dagster import Index
from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.errors import CorpusError, MissingError, WarehouseError
from graphrag_dagster.kernel.tables import core_tables as tables
from support.homes import enter_home
from support.made import publish_rows


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return enter_home(monkeypatch, tmp_path)


def publish(entities: dict[str, int], texts: dict[str, str], rating: float) -> Explorer:
    """Publish entities with their degrees, documents with their texts, and one community with its report."""
    return publish_rows(
        {
            tables.ENTITIES: {
                "entity_id": list(entities),
                "name": [name.upper() for name in entities],
                "title": list(entities),
                "degree": list(entities.values()),
            },
            tables.DOCUMENTS: {
                "document_id": [f"{path}-{text}" for path, text in texts.items()],
                "path": list(texts),
                "title": list(texts),
                "text": list(texts.values()),
                "characters": [len(text) for text in texts.values()],
                "metadata": "{}",
            },
            tables.COMMUNITIES: {"community_id": ["c1"], "size": [len(entities)]},
            tables.COMMUNITY_REPORTS: {
                "report_id": ["c1"],
                "title": ["The harbour"],
                "rating": [rating],
                "content": ["same"],
            },
        }
    )


def files(home: Path) -> list[Path]:
    return sorted(home.glob("warehouse/published/made/*.duckdb"))


def test_what_came_went_and_changed() -> None:
    publish({"hanna": 3, "selma": 2, "orrin": 1}, {"a.txt": "one", "b.txt": "two"}, 5)
    seen = publish({"hanna": 5, "selma": 2, "piet": 9}, {"a.txt": "one!", "c.txt": "three"}, 6.5)
    found = seen.changes()
    newest, oldest = seen.snapshots()
    assert (found.after, found.before) == (newest, oldest)
    assert (newest.current, oldest.current) == (True, False)
    entities = found.entities
    assert [(one.id, one.what) for one in entities.came] == [("piet", [])]
    assert [one.title for one in entities.went] == ["orrin"]
    assert [(one.title, one.what) for one in entities.changed] == [("hanna", ["degree 3 → 5"])]
    assert (entities.came_total, entities.went_total, entities.changed_total) == (1, 1, 1)
    assert [one.what for one in found.reports.changed] == [["importance 5 → 6.5"]]
    assert found.communities.changed_total == 0
    documents = found.documents
    assert [(one.id, one.title, one.what) for one in documents.changed] == [
        ("a.txt-one!", "a.txt", ["characters 3 → 4", "text"])
    ]
    assert ([one.title for one in documents.came], [one.title for one in documents.went]) == (
        ["c.txt"],
        ["b.txt"],
    )
    back = seen.changes(before=newest.version, after=oldest.version)
    assert [one.title for one in back.entities.came] == ["orrin"]
    same = seen.changes(newest.version, newest.version)
    assert same.entities.came_total == same.entities.changed_total == 0


def test_many_may_compare_at_once() -> None:
    publish({"hanna": 3}, {}, 5)
    seen = publish({"hanna": 5}, {}, 5)
    with ThreadPoolExecutor(6) as many:
        found = list(many.map(lambda _: seen.changes(), range(12)))
    assert [one.entities.changed_total for one in found] == [1] * 12


def test_a_hundred_of_each_are_named_and_all_are_counted() -> None:
    publish({f"old{n}": n for n in range(150)}, {}, 1)
    found = publish({f"new{n}": n for n in range(250)}, {}, 1).changes().entities
    assert (len(found.came), found.came_total, len(found.went), found.went_total) == (100, 250, 100, 150)
    assert found.came[0].title == "new249"


def test_without_a_snapshot_before_there_is_nothing_to_compare() -> None:
    seen = publish({"hanna": 3}, {}, 5)
    with pytest.raises(MissingError, match="corpus 'made' has no snapshot older than"):
        seen.changes()
    with pytest.raises(MissingError, match="no snapshot '0123456789abcdef'; there are"):
        seen.changes(before="0123456789abcdef")


def test_what_was_never_published(home: Path) -> None:
    with pytest.raises(CorpusError, match="no corpus 'nowhere'"):
        Index.explorer("nowhere")
    (home / "corpora" / "bare").mkdir(parents=True)
    seen = Explorer("bare")
    for look in (seen.overview, seen.drawn, seen.changes, lambda: seen.csv("files"), lambda: seen.find("x")):
        with pytest.raises(WarehouseError, match="corpus 'bare' has not been indexed yet"):
            look()
    assert seen.snapshots() == []


def test_a_snapshot_that_vanishes(home: Path) -> None:
    publish({"hanna": 3}, {}, 5)
    seen = publish({"hanna": 4}, {}, 5)
    assert seen.entity("hanna").degree == 4
    current = next(one.version for one in seen.snapshots() if one.current)
    for file in files(home):
        if file.stem == current:
            file.unlink()
    with pytest.raises(WarehouseError, match="corpus 'made' has not been indexed yet"):
        seen.overview()
    with pytest.raises(MissingError):
        seen.changes(after=current)


def test_a_snapshot_that_is_replaced_while_it_is_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = publish({"hanna": 3}, {}, 5)
    pieces = seen.csv("entities")
    assert next(pieces).startswith("title")
    shutil.rmtree(home / "warehouse" / "published")
    publish({"hanna": 4}, {}, 5)
    assert "hanna" in "".join(pieces)
    assert seen.entity("hanna").degree == 4
