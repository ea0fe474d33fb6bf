"""Graphs as LightRAG and nano-graphrag store them."""

import json
from pathlib import Path
from typing import Any

import networkx

from support.graphs import read_folder


def _write(folder: Path, stores: dict[str, Any], graph: networkx.Graph) -> None:
    folder.mkdir()
    for name, entries in stores.items():
        (folder / f"kv_store_{name}.json").write_text(json.dumps(entries))
    networkx.write_graphml_xml(graph, folder / "graph_chunk_entity_relation.graphml")
    (folder / "vdb_entities.json").write_text("{}")


def test_a_store_of_lightrag_comes_with_its_texts(tmp_path: Path) -> None:
    graph = networkx.Graph()
    node = {"entity_type": "person", "description": "First.<SEP>Second.", "source_id": "chunk-1<SEP>chunk-2"}
    graph.add_node("Ada", entity_id="Ada", file_path="a.txt", **node)
    graph.add_edge(
        "Ada", "Bo", weight=2.0, keywords="friendship, trust", description="Friends.", source_id="chunk-1"
    )
    stores = {
        "full_docs": {"doc-1": {"content": "Text.", "file_path": "a.txt"}, "doc-2": {"content": None}},
        "text_chunks": {
            "chunk-1": {"content": "Te", "full_doc_id": "doc-1", "tokens": 1, "chunk_order_index": 0},
            "chunk-2": ["no object"],
        },
        "llm_response_cache": {},
    }
    _write(tmp_path / "rag", stores, graph)
    read = read_folder(tmp_path)
    assert [(one.name, one.declares_entities, len(one.files)) for one in read.graphs] == [("rag", True, 3)]
    assert sorted(read.left_out) == ["rag/kv_store_llm_response_cache.json", "rag/vdb_entities.json"]
    ada, bo = read.rows("entities")
    assert (ada["title"], ada["type"], ada["text_unit_keys"]) == ("Ada", "person", ["chunk-1", "chunk-2"])
    assert (bo["title"], bo["type"]) == ("Bo", "UNKNOWN")
    (edge,) = read.rows("relations")
    assert (edge["relation"], edge["weight"], edge["description"]) == ("friendship_trust", 2.0, "Friends.")
    assert json.loads(edge["attributes"]) == {"directed": False}
    assert [(row["key"], row["title"], row["text"]) for row in read.rows("documents")] == [
        ("doc-1", "a.txt", "Text.")
    ]
    (unit,) = read.rows("text_units")
    assert (unit["key"], unit["document_keys"], unit["text"]) == ("chunk-1", ["doc-1"], "Te")
    assert json.loads(unit["attributes"]) == {"tokens": 1, "chunk_order_index": 0}
    assert read.account()["documents", "malformed"] == read.account()["text_units", "malformed"] == 1


def test_a_store_of_nano_graphrag_comes_with_communities(tmp_path: Path) -> None:
    graph = networkx.Graph()
    graph.add_node('"ADA"', entity_type='"PERSON"', description='"She."', source_id="chunk-1", clusters="[]")
    findings = [{"summary": "S", "explanation": "E"}, "alone"]
    report = {"title": "Ada's", "summary": "About.", "rating": 7, "findings": findings}
    stores = {
        "community_reports": {
            "0": {"level": 0, "title": "Cluster 0", "nodes": ['"ADA"'], "sub_communities": ["1"], "occurrence": 1.0,
                  "report_string": "# Ada's", "report_json": report},
            "1": {"level": 1, "title": "Cluster 1", "nodes": [], "report_string": "", "report_json": None},
            "2": {"level": "one"},
        }
    }  # fmt: skip
    _write(tmp_path / "rag", stores, graph)
    read = read_folder(tmp_path)
    (ada,) = read.rows("entities")
    assert (ada["key"], ada["title"], ada["type"]) == ('"ADA"', "ADA", "PERSON")
    told = [
        (row["key"], row["parent_key"], row["level"], row["entity_keys"]) for row in read.rows("communities")
    ]
    assert told == [("0", None, 0, ['"ADA"']), ("1", "0", 1, [])]
    first, second = read.rows("reports")
    assert (first["community_key"], first["title"], first["rating"], first["content"]) == (
        "0",
        "Ada's",
        7,
        "# Ada's",
    )
    assert json.loads(first["findings"]) == [findings[0], {"summary": "alone", "explanation": ""}]
    assert (second["title"], second["rating"]) == ("Cluster 1", 0)
    assert read.account() == {
        ("entities", "read"): 1,
        ("reports", "read"): 2,
        ("reports", "malformed"): 1,
    }


def test_a_store_that_is_none_fails_alone(tmp_path: Path) -> None:
    _write(tmp_path / "rag", {"full_docs": [], "text_chunks": {}}, networkx.Graph())
    read = read_folder(tmp_path)
    assert list(read.failed) == ["rag/kv_store_full_docs.json"]
