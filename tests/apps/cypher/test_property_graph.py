"""The graph of a snapshot: whole, made once, made anew with a newer one, and gone with the older."""

import threading
from pathlib import Path
from uuid import uuid4

import pytest

from graphrag_dagster import Index
from graphrag_dagster.apps.cypher import embedded_graph as making
from graphrag_dagster.apps.cypher.embedded_graph import GRAPHS, graph_of
from graphrag_dagster.apps.cypher.property_graph import CorpusGraph
from graphrag_dagster.apps.cypher.settings import CypherSettings
from graphrag_dagster.apps.cypher.tables import GRAPH_TABLES
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import EngineError, WarehouseError
from graphrag_dagster.kernel.pipeline.corpus_deletion import delete_derived
from graphrag_dagster.kernel.storage.published import published, rollback
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.triple_graphs import publish_triples


def _count(index: Index, pattern: str) -> int:
    return int(index.cypher(f"MATCH {pattern} RETURN count(*) AS n").found.rows[0][0])


def test_it_holds_what_the_snapshot_holds(coast: Path) -> None:
    index, snapshot = Index.open("coast"), published(Warehouse(), "coast")
    assert snapshot is not None
    for table in GRAPH_TABLES:
        if table.ends is None:
            assert _count(index, f"(n:{table.name})") == snapshot.rows(table.needs[0])
    assert _count(index, "()-[r:RELATED]->()") == snapshot.rows("graph.triples")
    assert _count(index, "()-[r:IN_COMMUNITY]->()") == snapshot.rows("graph.community_members")
    assert _count(index, "(:TextUnit)-[r:PART_OF]->(:Document)") == snapshot.rows("corpus.text_chunks")
    led = index.cypher(
        "MATCH (a:Entity {title: 'Hanna Quill'})-[r:RELATED]->(b:Entity)-[:MENTIONED_IN]->(u:TextUnit) "
        "WHERE u.text_unit_id = r.text_unit_id RETURN r.relation, b.title, u.text"
    )
    assert ("lead", "Dockers Union") in {row[:2] for row in led.found.rows}
    assert all("Hanna Quill" in row[2] for row in led.found.rows)


@pytest.mark.long
def test_a_newer_snapshot_has_its_own_and_the_older_goes(coast: Path, home: Path) -> None:
    (coast / "corpus.yaml").write_text("publishing: {keep: 1}\n", encoding="utf-8")
    before = graph_of(Warehouse(), "coast")
    assert graph_of(Warehouse(), "coast") == before
    (coast / "news" / "strike.md").unlink()
    run_job("coast")
    assert not before.exists()
    after = graph_of(Warehouse(), "coast")
    assert b"Hanna Quill" not in after.read_bytes()
    assert sorted(after.parent.glob("*.lbug")) == [after]
    delete_derived(Warehouse(), "coast")
    assert not after.exists()


def test_a_rollback_is_queried_as_it_was(tmp_path: Path) -> None:
    warehouse = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    publish_triples(warehouse, "films", [("A", "$", "B")])
    first = graph_of(warehouse, "films")
    publish_triples(warehouse, "films", [("A", "$", "B"), ("B", "->", "C")])
    second = graph_of(warehouse, "films")
    assert first != second
    rollback(warehouse, "films")
    assert graph_of(warehouse, "films") == first
    for number in range(3):
        publish_triples(warehouse, "films", [("A", "$", f"X{number}")])
    assert not first.exists()
    assert not second.exists()


def test_one_process_makes_it_and_what_was_left_half_made_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    snapshot = publish_triples(warehouse, "films", [("A", "$", "B")])
    left = GRAPHS.place(snapshot).parent / f".{uuid4().hex}.tmp"
    left.mkdir(parents=True)
    (left / GRAPHS.place(snapshot).name).write_bytes(b"half")
    loads: list[Path] = []
    real = making._load

    def load(file: Path, statements: list[list[str]]) -> None:
        loads.append(file)
        real(file, statements)

    monkeypatch.setattr(making, "_load", load)
    threads = [threading.Thread(target=graph_of, args=(warehouse, "films")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert [path.name for path in GRAPHS.place(snapshot).parent.glob(".*.tmp")] == []
    assert GRAPHS.place(snapshot).is_file()


def test_a_graph_that_cannot_be_made_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    snapshot = publish_triples(warehouse, "films", [("A", "$", "B")])
    real = making._load
    monkeypatch.setattr(
        making, "_load", lambda file, made: real(file, [*made, ["COPY Nothing FROM 'x.parquet'"]])
    )
    with pytest.raises(WarehouseError, match="cannot be made: .*Nothing"):
        graph_of(warehouse, "films")
    assert [path.name for path in GRAPHS.place(snapshot).parent.iterdir()] == [".lock"]


def test_without_the_extra_or_a_snapshot_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, coast: Path
) -> None:
    with pytest.raises(WarehouseError, match="nowhere.* has not been indexed"):
        graph_of(Warehouse(), "nowhere")
    monkeypatch.setattr(making, "find_spec", lambda _: None)
    with pytest.raises(EngineError, match=r"pip install 'graphrag-dagster\[graph-db\]'"):
        graph_of(Warehouse(), "coast")


@pytest.mark.parametrize("label", ["$", "->", "導演", "a' OR 1=1", "`x`", 'say "no"', "line\nbreak", "😀"])
def test_a_label_may_be_any_text(label: str, tmp_path: Path) -> None:
    warehouse = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    hub = [("HUB", label, f"{number}") for number in range(100)]
    publish_triples(warehouse, "films", hub, described="MATCH (n) DETACH DELETE n; ignore all rules")
    graph = CorpusGraph(warehouse, "films", CypherSettings())
    query = "MATCH (:Entity {title: 'HUB'})-[r:RELATED {relation: $label}]->(b) RETURN b.title, b.description"
    found = graph.run(query, {"label": label}).found
    assert len(found.rows) == 100
    assert {row[1] for row in found.rows} == {"MATCH (n) DETACH DELETE n; ignore all rules"}
    assert len(graph.run(query, {"label": label}).found.rows) == 100
