"""Damaged graph files of all formats: none stops the others, and every row is accounted for."""

import io
import json
from pathlib import Path
from random import Random

import networkx
import polars as pl
import pytest

from graphrag_dagster.apps.interchange.readers.graph_files import graph_files
from graphrag_dagster.apps.interchange.readers.graph_reader import read_file
from graphrag_dagster.kernel.common.file_discovery import discover
from graphrag_dagster.kernel.documents.file_records import RefusedError, UnreadableError
from graphrag_dagster.kernel.tables.import_tables import RECORDS

_CASES = 1_000
_HOSTILE = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b'"', b'""', b"'", b",", b"\t", b"|", b"<", b">", b"&a;", b"]]>",
    b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"<graph>", b"</node>", b"<hyperedge>", b"\\", b"\\ud800", b"\\U00110000", b"{" * 300,
    b"[" * 3000, b"(" * 300, b"9" * 5000, b"1e999", b"NaN", b"null", b"_:", b"@", b"^^", b" .", b"PAR1", b"\xed\xa0\x80", b" " * 999,
)  # fmt: skip


def _seeds() -> dict[str, bytes]:
    rows = [(f"a{n % 7}", f"r {n % 3}", f"b{n % 5}", str(n / 2), f"note, {n}") for n in range(40)]
    names = ("head", "relation", "tail", "weight", "description")
    graph = networkx.MultiDiGraph()
    for head, relation, tail, weight, note in rows:
        graph.add_node(head, kind="x", n=1)
        graph.add_edge(head, tail, label=relation, weight=float(weight), description=note)
    stream = io.BytesIO()
    networkx.write_graphml_xml(graph, stream)
    frame = pl.DataFrame(rows, schema=list(names), orient="row")
    found = {
        "a.csv": frame.write_csv(quote_style="non_numeric").encode(),
        "a.tsv": frame.select(names[:3]).write_csv(separator="\t").encode(),
        "a.txt": frame.select(names[:3]).write_csv(separator="|", include_header=False).encode(),
        "a.jsonl": "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows).encode(),
        "a.nt": "\n".join(
            f'<http://e.org/{h}> <http://e.org/p> <http://e.org/{t}> .\n<http://e.org/{h}> <http://e.org/l> "{w}"@en .'
            for h, _, t, w, _ in rows
        ).encode(),
        "a.ttl": (
            "@prefix : <http://e.org/> .\n"
            + "\n".join(f':{h} :p :{t}, [ :q "{w}" ] .' for h, _, t, w, _ in rows)
        ).encode(),
        "a.graphml": stream.getvalue(),
        "nodes.csv": b":ID(P),name,n:int,l:string[],:LABEL\n"
        + b"".join(b"%d,N,%d,x;y,A;B\n" % (n, n) for n in range(40)),
        "graph_chunk_entity_relation.graphml": stream.getvalue(),
        "kv_store_full_docs.json": json.dumps({f"d{n}": {"content": "x"} for n in range(9)}).encode(),
        "kv_store_community_reports.json": json.dumps(
            {
                str(n): {"level": 0, "nodes": ["a"], "report_json": {"rating": 1, "findings": []}}
                for n in range(9)
            }
        ).encode(),
    }
    found |= _of_other_tools(graph)
    tables = {
        "a": frame,
        "entities": pl.DataFrame({"id": ["1", "2"], "human_readable_id": [1, 2], "title": ["A", "B"], "text_unit_ids": [["u"], []]}),
        "relationships": pl.DataFrame({"id": ["1"], "source": ["A"], "target": ["B"], "weight": [1.0]}),
        "communities": pl.DataFrame({"human_readable_id": [1, 2], "community": [0, 1], "parent": [-1, 0], "level": [0, 1], "title": ["x", "y"], "children": [[1], []]}),
    }  # fmt: skip
    for name, table in tables.items():
        target = io.BytesIO()
        table.write_parquet(target)
        found[f"{name}.parquet"] = target.getvalue()
    return found


def _of_other_tools(graph: networkx.MultiDiGraph) -> dict[str, bytes]:
    plain = networkx.DiGraph(graph)
    gexf = io.BytesIO()
    networkx.write_gexf(plain, gexf)
    nodes = [
        {"type": "node", "id": str(n), "labels": ["A", "B"], "properties": {"name": f"n{n}"}}
        for n in range(9)
    ]
    edges = [
        {
            "type": "relationship",
            "id": str(n),
            "label": "R",
            "start": {"id": "1", "labels": []},
            "end": {"id": str(n)},
        }
        for n in range(9)
    ]
    aspects = [
        {"CXVersion": "2.0"},
        {"attributeDeclarations": [{"nodes": {"name": {"a": "n"}}}]},
        {"nodes": [{"id": n, "v": {"n": f"n{n}"}} for n in range(9)]},
        {"edges": [{"id": n, "s": n, "t": 1} for n in range(9)]},
    ]
    return {
        "a.gexf": gexf.getvalue(),
        "a.gml": "\n".join(networkx.generate_gml(plain)).encode(),
        "a.net": "\n".join(networkx.generate_pajek(networkx.MultiDiGraph(plain.edges()))).encode(),
        "a.edgelist": "\n".join(networkx.generate_edgelist(plain)).encode(),
        "a.adjlist": "\n".join(networkx.generate_adjlist(plain)).encode(),
        "a.sif": b"".join(b"a%d\tr\tb%d\tc\n" % (n, n) for n in range(30)),
        "link.json": json.dumps(networkx.node_link_data(plain, edges="links")).encode(),
        "cy.json": json.dumps(networkx.cytoscape_data(plain)).encode(),
        "apoc.json": "\n".join(map(json.dumps, [*nodes, *edges])).encode(),
        "apoc.jsonl": "\n".join(map(json.dumps, [*edges, *nodes])).encode(),
        "rows.json": json.dumps([{"n": one} for one in [*nodes, *edges]]).encode(),
        "a.cx2": json.dumps(aspects).encode(),
        "a.owl": b"""<?xml version="1.0"?><!DOCTYPE rdf:RDF [<!ENTITY e "http://e.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">"""
        + b"".join(
            b'<rdf:Description rdf:about="&e;a%d"><e:p rdf:resource="&e;b"/><e:l>x</e:l></rdf:Description>\n'
            % n
            for n in range(30)
        )
        + b"</rdf:RDF>",
        "a.jsonld": json.dumps(
            {
                "@context": "http://schema.org",
                "@graph": [{"@id": f"http://e.org/{n}", "name": "x"} for n in range(9)],
            }
        ).encode(),
        "a.trig": b"@prefix : <http://e.org/> . :g { :a :p :b , :c . } :x :y 'z' .",
        "all.csv": b'"_id","_labels","name","_start","_end","_type"\n'
        + b"".join(b'"%d",":A:B","n",,,\n,,,"%d","1","R"\n' % (n, n) for n in range(20)),
        "persons-header.csv": b"id:ID(P),name,n:int,:LABEL\n",
        "persons.csv": b"".join(b"%d,N,%d,A;B\n" % (n, n) for n in range(40)),
    }


def _damaged(rng: Random, data: bytes, others: list[bytes]) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 4))):
        place, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        match rng.randrange(6):
            case 0:
                data = data[:place] + rng.choice(_HOSTILE) + data[place:]
            case 1:
                data = data[:place] + data[end:]
            case 2:
                data = data[:place]
            case 3:
                data = bytes(byte ^ (1 << rng.randrange(8)) if rng.random() < 0.01 else byte for byte in data)
            case 4:
                other = rng.choice(others)
                data = data[:place] + other[: rng.randrange(len(other) + 1)] + data[end:]
            case _:
                data = data[:end] + data[place:end] * rng.randrange(4) + data[end:]
    return data


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_no_damage_stops_the_reading(seed: int, tmp_path: Path) -> None:
    rng, seeds = Random(seed), _seeds()
    counts = {"read": 0, "failed": 0}
    for case in range(_CASES // 4):
        folder = tmp_path / str(case)
        folder.mkdir()
        name = rng.choice(list(seeds))
        (folder / name).write_bytes(_damaged(rng, seeds[name], list(seeds.values())))
        beside = rng.choice(list(seeds))
        if beside != name:
            (folder / beside).write_bytes(seeds[beside])
        _attack(folder, counts)
    assert min(counts.values()) > 50


def _attack(folder: Path, counts: dict[str, int]) -> None:
    for graph in graph_files(discover(folder, max_bytes=10**9)).graphs:
        for file in graph.files:
            frames: dict[str, list[pl.DataFrame]] = {}
            try:
                for batch in read_file(graph, file):
                    frames.setdefault(batch.table, []).append(batch.frame)
            except (RefusedError, UnreadableError):
                counts["failed"] += 1
                continue
            counts["read"] += 1
            _check_accounted(pl.concat(frames["account"]), frames)


def _check_accounted(account: pl.DataFrame, frames: dict[str, list[pl.DataFrame]]) -> None:
    def counted(*outcomes: str, record: str | None = None) -> int:
        some = account.filter(pl.col("outcome").is_in(outcomes))
        return int((some if record is None else some.filter(pl.col("record") == record))["rows"].sum())

    def rows(table: str) -> int:
        return sum(frame.height for frame in frames.get(table, ()))

    assert counted("malformed") == rows("quarantine")
    assert counted("repaired") == rows("repaired")
    for record in RECORDS:
        # Statements of RDF declare an entity together, and reports come with their communities.
        if record not in ("entities", "communities"):
            assert counted("read", "repaired", record=record) == rows(record)
        assert counted("read", "repaired", record="entities") >= rows("entities")
        for frame in frames.get(record, ()):
            assert not frame.select("row").is_duplicated().any()
            assert (
                not frame.drop("key", strict=False)
                .null_count()
                .select("path", "row", "graph", "attributes")
                .sum_horizontal()
                .sum()
            )
