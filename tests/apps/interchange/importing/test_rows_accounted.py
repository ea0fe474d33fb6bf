"""What becomes of the rows of foreign graphs adds up to the rows of their files, and a graph of none is none."""

import json
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.apps.interchange.graph_import import import_graphs
from graphrag_dagster.apps.interchange.tables import IMPORT_QUARANTINE
from graphrag_dagster.cli.commands.corpus.show_commands import account_lines
from graphrag_dagster.errors import CorpusError, WarehouseError
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.import_tables import (
    IMPORT_ACCOUNT,
    IMPORTED_FILES,
    IMPORTED_RELATIONS,
    IMPORTED_REPORTS,
)
from graphrag_dagster.kernel.tables.table_declaration import Table


def _folder(home: Path) -> Path:
    folder = home / "corpora" / "g"
    folder.mkdir(parents=True)
    (folder / "corpus.yaml").write_text("kind: graph\n", "utf-8")
    return folder


def _read(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "g")


_GRAPHML = "<graphml><graph><node/><edge source='a'/></graph></graphml>"
_MALFORMED = {
    "e.csv": "source,target\n,\n,b\n",
    "e.jsonl": '{"source": null, "target": "b"}\n[1]\n',
    "e.json": '[{"source": null, "target": "b"}, {"source": "a", "target": ""}]',
    "e.sif": "a pp\n",
    "e.edgelist": "a\nb {'x': 1}\n",
    "e.net": "*Arcs\n1\n",
    "e.gml": "graph [ edge [ source 1 ] edge [ target 2 ] ]",
    "e.nt": "nothing\nof the kind .\n",
    "e.graphml": _GRAPHML,
    "e.gexf": "<gexf><graph><nodes><node/></nodes></graph></gexf>",
    "n.csv": ":ID,name\n,x\n",
    "apoc.jsonl": '{"type": "node", "id": "1", "labels": []}'.replace('"id": "1"', '"id": {"a": 1}'),
}


@pytest.mark.parametrize("name", _MALFORMED)
def test_a_graph_none_of_whose_rows_can_be_used_fails_and_publishes_nothing(name: str, home: Path) -> None:
    (_folder(home) / name).write_text(_MALFORMED[name], "utf-8")
    with pytest.raises(CorpusError, match=r"no graph could be read(.|\n)*none of its \d+ rows? can be used"):
        import_graphs(CorpusStore(), Warehouse(), "g")
    with pytest.raises(WarehouseError):
        _read(IMPORT_ACCOUNT)


@pytest.mark.parametrize("text", ["<graphml><graph/></graphml>", "<graphml/>"])
def test_a_graph_without_rows_is_none(text: str, home: Path) -> None:
    (_folder(home) / "e.graphml").write_text(text, "utf-8")
    with pytest.raises(CorpusError, match="it holds no rows"):
        import_graphs(CorpusStore(), Warehouse(), "g")


def test_a_file_of_malformed_rows_fails_beside_others_and_its_rows_count(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _folder(home)
    (folder / "a.csv").write_text(
        "source,relation,target,weight\nA,r,B,1\nA,r,B,1\nA,r,A,1\n,r,B,1\nB,r,C,-1\n", "utf-8"
    )
    (folder / "b.csv").write_text("source,target\n,x\ny,\n", "utf-8")
    import_graphs(CorpusStore(), Warehouse(), "g")
    account = _read(IMPORT_ACCOUNT)
    assert dict(account.group_by("path").agg(pl.sum("rows")).iter_rows()) == {"a.csv": 5, "b.csv": 2}
    files = {row["path"]: row for row in _read(IMPORTED_FILES).to_dicts()}
    assert files["b.csv"]["status"] == "failed"
    assert files["b.csv"]["reason"] == (
        "none of its 2 rows can be used, the first of them row 2: its head (source) is blank"
    )
    assert files["a.csv"]["incomplete"]
    assert "1 of its 5 rows" in files["a.csv"]["reason"]
    assert _read(IMPORT_QUARANTINE).height == 3
    told = "\n".join(map(str, account_lines(account)))
    assert "7 rows of graphs: 1 read + 1 read after a repair + 1 repeated + " in told
    assert "+ 1 leading to where they begin + 3 quarantined" in told
    assert "weight is no weight" in told


def _microsoft(folder: Path) -> None:
    pl.DataFrame(
        {
            "id": ["e1", "e2"],
            "human_readable_id": [0, 1],
            "title": ["MARTA", "MUSEUM"],
            "type": ["PERSON", "HOUSE"],
        }
    ).write_parquet(folder / "entities.parquet")
    pl.DataFrame(
        {"id": ["r1"], "human_readable_id": [0], "source": ["MARTA"], "target": ["MUSEUM"], "weight": [1.0]}
    ).write_parquet(folder / "relationships.parquet")
    pl.DataFrame({
        "id": ["c0", "c1", "c2"], "human_readable_id": [0, 1, 2], "community": [0, 1, 2], "level": [0, 0, 0],
        "parent": [-1, -1, -1], "title": ["One", "Two", "Three"], "entity_ids": [["e1", "e2"], ["gone"], ["e2"]],
    }).write_parquet(folder / "communities.parquet")  # fmt: skip
    pl.DataFrame({
        "id": [f"p{n}" for n in range(5)], "community": [0, -1, 1, 0, 9], "level": [0] * 5, "title": ["x"] * 5,
        "summary": ["s"] * 5, "full_content": ["# x"] * 5, "rank": [1e308, 5.0, 5.0, 5.0, 5.0], "findings": [[]] * 5,
    }, schema_overrides={"findings": pl.List(pl.String)}).write_parquet(folder / "community_reports.parquet")  # fmt: skip


def test_reports_and_communities_that_are_nowhere_are_counted_with_their_reasons(home: Path) -> None:
    _microsoft(_folder(home))
    import_graphs(CorpusStore(), Warehouse(), "g")
    account = _read(IMPORT_ACCOUNT)
    told = {(row["record"], row["outcome"]): (row["rows"], row["reason"]) for row in account.to_dicts()}
    assert told["communities", "read"][0] == 1
    assert told["communities", "dangling"] == (2, "it has no member that is not in a community before it")
    assert told["reports", "dangling"] == (
        3, "it is of a community that the graph does not have, or that has no members",
    )  # fmt: skip
    assert told["reports", "duplicate"] == (1, "a row before it is a report of the same community")
    assert told["reports", "repaired"][0] == 1
    assert max(_read(IMPORTED_REPORTS)["rating"]) == 10


def test_ends_are_found_by_numbers_however_written_and_by_titles_that_are_unique(home: Path) -> None:
    folder = _folder(home)
    (folder / "nodes.csv").write_text(
        "id,name\n1,One\n1000,Thousand\n01,Zero-one\n100000,Many\n7,Twin\n8,Twin\n", "utf-8"
    )
    ends = ("1.0", "1", '"1,000"', "1e+05", "01", "001", "Thousand", "Twin", "1.5", "8.00")
    (folder / "edges.csv").write_text(
        "source,target,n\n" + "".join(f"One,{end},{place}\n" for place, end in enumerate(ends)), "utf-8"
    )
    import_graphs(CorpusStore(), Warehouse(), "g")
    relations = _read(IMPORTED_RELATIONS).sort("row").select("tail", "outcome").rows()
    assert relations == [
        ("One", "loop"),
        ("One", "loop"),
        ("Thousand", "read"),
        ("Many", "read"),
        ("Zero-one", "read"),
        ("001", "dangling"),
        ("Thousand", "read"),
        ("Twin", "dangling"),
        ("1.5", "dangling"),
        ("Twin (8)", "read"),
    ]


def test_reports_of_nano_graphrag_count_by_their_communities(home: Path) -> None:
    folder = _folder(home)
    (folder / "graph_chunk_entity_relation.graphml").write_text(
        '<graphml><graph><node id="A"/><node id="B"/><edge source="A" target="B"/></graph></graphml>', "utf-8"
    )
    reports = {"0": {"level": 0, "nodes": ["A", "B"]}, "1": {"level": 1, "nodes": ["Z"]}, "2": {"level": "x"}}
    (folder / "kv_store_community_reports.json").write_text(json.dumps(reports), "utf-8")
    import_graphs(CorpusStore(), Warehouse(), "g")
    account = _read(IMPORT_ACCOUNT).filter(record="reports")
    assert dict(account.select("outcome", "rows").iter_rows()) == {"read": 1, "dangling": 1, "malformed": 1}
