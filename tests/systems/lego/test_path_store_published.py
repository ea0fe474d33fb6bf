"""The arrays of a snapshot's graph: whole, made once, and gone with their snapshot."""

import threading
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore, Prefilter
from graphrag_dagster.kernel.storage.published import rollback
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.search.graph_arrays import PATHS, path_arrays_of, path_store_of
from support.triple_graphs import publish_triples

NONE = Prefilter((), (), ())


def warehouse_in(folder: Path) -> Warehouse:
    return Warehouse(path=str(folder / "{corpus}.duckdb"))


def test_it_holds_the_triples_and_is_mapped(tmp_path: Path) -> None:
    warehouse = warehouse_in(tmp_path)
    publish_triples(warehouse, "films", [("A", "$", "B"), ("B", "common.x", "C -> D")])
    store = path_store_of(warehouse, "films", Prefilter())
    assert list(store.labels) == ["A", "B", "C -> D"]
    assert (store.edges, store.left_out) == (1, 1)
    assert isinstance(store.heads, np.memmap)
    assert path_store_of(warehouse, "films", NONE).edges == 2


def test_it_goes_with_its_snapshot_and_comes_back_with_a_rollback(tmp_path: Path) -> None:
    warehouse = warehouse_in(tmp_path)
    publish_triples(warehouse, "films", [("A", "$", "B")])
    first = path_arrays_of(warehouse, "films", NONE).folder
    publish_triples(warehouse, "films", [("A", "$", "B"), ("B", "->", "C")])
    second = path_arrays_of(warehouse, "films", NONE).folder
    assert path_arrays_of(warehouse, "films", Prefilter()).folder.parent == second.parent
    opened = PathStore.open(first)
    rollback(warehouse, "films")
    assert path_arrays_of(warehouse, "films", NONE).folder == first
    for number in range(3):
        publish_triples(warehouse, "films", [("A", "$", f"X{number}")])
    assert [place.name for place in second.parent.iterdir() if not place.name.startswith(".")] == []
    assert opened.label(0) == "A"


def test_one_makes_it_and_what_was_left_half_made_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = warehouse_in(tmp_path)
    snapshot = publish_triples(warehouse, "films", [("A", "$", "B")])
    left = PATHS.place(snapshot).parent / f".{uuid4().hex}.tmp"
    left.mkdir(parents=True)
    (left / "half.npy").write_bytes(b"half")
    written: list[Path] = []
    real = PathStore.write

    def write(store: PathStore, folder: Path) -> None:
        written.append(folder)
        real(store, folder)

    monkeypatch.setattr(PathStore, "write", write)
    threads = [threading.Thread(target=path_arrays_of, args=(warehouse, "films", NONE)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(written) == 1
    assert not left.exists()


def test_what_cannot_be_made_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = warehouse_in(tmp_path)
    with pytest.raises(WarehouseError, match="films.* has not been indexed"):
        path_arrays_of(warehouse, "films", NONE)
    snapshot = publish_triples(warehouse, "films", [("A", "$", "B")])

    def write(_store: PathStore, folder: Path) -> None:
        (folder / "heads.npy").write_bytes(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(PathStore, "write", write)
    with pytest.raises(WarehouseError, match="cannot be made .*no space left"):
        path_arrays_of(warehouse, "films", NONE)
    assert [path.name for path in PATHS.place(snapshot).parent.iterdir()] == [".lock"]
