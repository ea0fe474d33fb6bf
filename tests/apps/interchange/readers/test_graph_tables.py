"""Graphs as tables: delimited text, JSON lines, Parquet."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.interchange.graph_rows.graph_columns import GraphColumns
from graphrag_dagster.apps.interchange.graph_rows.import_batches import ROWS, ReadAccount
from graphrag_dagster.apps.interchange.readers.graph_files import proposed_columns
from graphrag_dagster.apps.interchange.readers.tabular_files import delimited_rows, layout_of
from graphrag_dagster.apps.interchange.readers.text_lines import json_rows
from support.graphs import Read, read_folder


def _read(folder: Path, name: str, data: str | bytes, columns: GraphColumns | None = None) -> Read:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_folder(folder, {name: columns} if columns else None)


def _triples(read: Read) -> list[tuple[str, str, str]]:
    return [(row["head_key"], row["label"], row["tail_key"]) for row in read.rows("relations")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "subject,predicate,object\nA,knows,B\nC,$,D\n"),
        ("a.csv", "\ufeffSource;Type;Target\r\nA;knows;B\r\n\r\nC;$;D"),
        ("a.tsv", "A\tknows\tB\nC\t$\tD\n"),
        ("a.txt", "A|knows|B\nC|$|D\n"),
        ("a.txt", "# triples\nA knows B\nC $ D\n"),
        ("a.jsonl", '{"from": "A", "rel": "knows", "to": "B"}\n\n{"from": "C", "rel": "$", "to": "D"}'),
    ],
)
def test_triples_are_found_by_usual_names_or_their_order(name: str, text: str, tmp_path: Path) -> None:
    read = _read(tmp_path, name, text)
    assert _triples(read) == [("A", "knows", "B"), ("C", "$", "D")]
    assert read.column("relations", "relation") == ["knows", "$"]
    assert read.account() == {("relations", "read"): 2}
    assert [(g.name, g.declares_entities) for g in read.graphs] == [(name, False)]


def test_two_columns_are_ends(tmp_path: Path) -> None:
    read = _read(tmp_path, "a.tsv", "1\t2\n2\t3\n")
    assert _triples(read) == [("1", "", "2"), ("2", "", "3")]
    assert read.column("relations", "relation") == ["related_to"] * 2


def test_lines_are_counted_as_they_stand_in_the_file(tmp_path: Path) -> None:
    text = 'head,relation,tail,note\nA,r,B,"two\nlines"\n\nC,r,,x\nD,r,E\nF,r,G,h,i\n"H"x,r,I,\n'
    read = _read(tmp_path, "a.csv", text)
    assert read.column("relations", "row") == [2, 6, 8]
    assert json.loads(read.rows("relations")[0]["attributes"]) == {"note": "two\nlines"}
    assert [(row["row"], row["reason"], row["raw"]) for row in read.rows("quarantine")] == [
        (7, "5 cells, where there are 4 columns", "F,r,G,h,i"),
        (5, "its tail (tail) is blank", "C,r,,x"),
    ]
    assert [(row["row"], row["reason"]) for row in read.rows("repaired")] == [
        (6, "3 cells, where there are 4 columns"),
        (8, "its quotes are broken and were read leniently"),
    ]
    assert read.account() == {
        ("relations", "read"): 1,
        ("relations", "repaired"): 2,
        ("relations", "malformed"): 2,
    }


def test_an_unclosed_quote_costs_one_row(tmp_path: Path) -> None:
    rows = "".join(f"a{n},r,b{n}\n" for n in range(60_000))
    read = _read(tmp_path, "a.csv", f'head,relation,tail\nx,r,"y\n{rows}')
    assert len(read.rows("relations")) == 60_001
    assert read.rows("relations")[0]["tail_key"] == "y"
    assert read.account() == {("relations", "read"): 60_000, ("relations", "repaired"): 1}


def test_a_quoted_cell_may_reach_into_the_next_block(tmp_path: Path) -> None:
    rows = [(f"a{n}", "r", f"line\nbreak {n}") for n in range(ROWS)]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([("head", "relation", "note"), *rows])
    read = _read(tmp_path, "a.csv", stream.getvalue(), GraphColumns(tail="note", head="head"))
    assert read.column("relations", "row") == [2 + 2 * n for n in range(ROWS)]
    assert read.column("relations", "tail_key") == [f"line break {n}" for n in range(ROWS)]


def test_weights_that_are_none_become_one(tmp_path: Path) -> None:
    text = "head,tail,weight\nA,B,2.5\nA,C,\nA,D,many\nA,E,nan\nA,F,inf\n"
    read = _read(tmp_path, "a.csv", text)
    assert read.column("relations", "weight") == [2.5, 1, 1, 1, 1]
    assert read.account() == {("relations", "read"): 2, ("relations", "repaired"): 3}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1252", "utf-8-sig"])
def test_the_beginning_decides_the_encoding(encoding: str, tmp_path: Path) -> None:
    text = "head,relation,tail\n" + "".join(f"Café {n},près de,Tübingen\n" for n in range(100))
    read = _read(tmp_path, "a.csv", text.encode(encoding))
    assert _triples(read)[99] == ("Café 99", "près de", "Tübingen")
    assert read.account() == {("relations", "read"): 100}


def test_bytes_that_are_no_text_mend_their_row(tmp_path: Path) -> None:
    text = "head,relation,tail\nÀ,ŕ,é\nÀ,ŕ,ü\n".encode() + b"A,r,\xff\nA,r,\x00x\n" + "A,r,\ufffd".encode()
    read = _read(tmp_path, "a.csv", text)
    assert read.column("relations", "tail_key") == ["é", "ü", "\ufffd", "\ufffdx", "\ufffd"]
    assert {4, 5} <= {row["row"] for row in read.rows("repaired")}


def test_control_characters_are_no_part_of_keys(tmp_path: Path) -> None:
    read = _read(tmp_path, "a.jsonl", '{"head": " A\\u0001B\\n ", "tail": "\\ud800x"}\n')
    assert _triples(read) == [("A B", "", "\ufffdx")]


def test_other_columns_are_attributes(tmp_path: Path) -> None:
    line = {"head": "A", "tail": "B", "id": 7, "description": ["x", "y"], "n": 1, "l": [1, None], "z": None}
    read = _read(tmp_path, "a.jsonl", json.dumps(line))
    (row,) = read.rows("relations")
    assert (row["key"], row["description"]) == ("7", "x\ny")
    assert json.loads(row["attributes"]) == {"n": 1, "l": [1, None]}
    assert read.rows("repaired")[0]["reason"] == "description is a list or an object where a text is due"


def test_lines_that_are_no_objects_are_malformed(tmp_path: Path) -> None:
    lines = ['{"head": "A", "tail": "B"}', "{", "[1]", '{"head": {"a": 1}, "tail": "B"}', "[" * 100_000]
    read = _read(tmp_path, "a.jsonl", "\n".join(lines))
    assert read.account() == {("relations", "read"): 1, ("relations", "malformed"): 4}
    assert [row["row"] for row in read.rows("quarantine")] == [2, 3, 4, 5]
    assert max(len(row["raw"]) for row in read.rows("quarantine")) == 1_000


def test_parquet_keeps_lists_and_leaves_vectors_out(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "source": [1.0, None, 3.0],
            "target": ["x", "y", "z"],
            "tags": [["a"], [], None],
            "vector": [[0.5], [1.5], [2.5]],
            "text_unit_ids": [["u1", "u2"], None, []],
        }
    )
    frame.write_parquet(tmp_path / "edges.parquet")
    read = read_folder(tmp_path)
    assert _triples(read) == [("1", "", "x"), ("3", "", "z")]
    assert read.column("relations", "attributes") == ['{"tags": ["a"]}', "{}"]
    assert read.column("relations", "text_unit_keys") == [["u1", "u2"], []]
    assert read.column("notes", "note") == ["vectors were left out: vector"]
    assert read.account() == {("relations", "read"): 2, ("relations", "malformed"): 1}


def test_a_list_of_entities_is_of_one_graph_with_the_relations_beside_it(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "nodes.csv").write_text(
        "id,name,category,summary\n1,Ada,person,She\n2,,,\n,Bo,x,\n,,y,\n"
    )
    (tmp_path / "g" / "edges.jsonl").write_text('{"source": 1, "target": 2}')
    (tmp_path / "other.csv").write_text("head,tail\n1,2\n")
    read = read_folder(tmp_path)
    assert [(graph.name, graph.declares_entities) for graph in read.graphs] == [
        ("g", True),
        ("other.csv", False),
    ]
    told = [(row["key"], row["title"], row["type"], row["description"]) for row in read.rows("entities")]
    assert told == [("1", "Ada", "person", "She"), ("2", "2", "UNKNOWN", "")]
    assert read.account()["entities", "malformed"] == 2
    assert read.column("relations", "graph") == ["g", "other.csv"]


def test_columns_can_be_given(tmp_path: Path) -> None:
    text = "one,two,three,four\nA,r,B,5\n"
    read = _read(tmp_path, "a.csv", text)
    assert read.failed["a.csv"] == (
        "which columns are the ends of relations, or the id of entities, is not known; the columns are one, two, "
        "three, four; name them in corpus.yaml, e.g. imports: {columns: {'a.csv': {head: one, relation: two, "
        "tail: three}}}"
    )
    read = _read(tmp_path, "a.csv", text, GraphColumns(head="three", tail="one", weight="four"))
    assert (_triples(read), read.column("relations", "weight")) == ([("B", "", "A")], [5])
    read = _read(tmp_path, "a.csv", text, GraphColumns(head="five", tail="one"))
    assert read.failed["a.csv"].startswith("no column 'five', which imports.columns in corpus.yaml names; ")
    read = _read(tmp_path, "a.csv", "A,B,C\n", GraphColumns(head="column_3", tail="column_1"))
    assert _triples(read) == [("C", "", "A")]


def test_a_proposal_says_what_would_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Subject,Predicate,Object,score,date\nA,r,B,1,x\n")
    (tmp_path / "b.txt").write_text("A|r|B\n")
    (tmp_path / "c.nt").write_text("")
    files = {graph.name: proposed_columns(graph.files[0]) for graph in read_folder(tmp_path).graphs}
    assert files == {
        "a.csv": {"head": "Subject", "relation": "Predicate", "tail": "Object", "weight": "score"},
        "b.txt": {"head": "column_1", "relation": "column_2", "tail": "column_3"},
        "c.nt": {},
    }


def test_files_that_are_no_graphs_say_so(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("Some prose.\n\nMore of it, indeed, and more.\n")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "b.csv").write_bytes(b"PK\x03\x04")
    (tmp_path / "c.csv").write_text("")
    (tmp_path / "d.parquet").write_bytes(b"PAR1 no PAR1")
    read = read_folder(tmp_path)
    assert sorted(read.left_out) == ["README.txt", "a.pdf"]
    assert read.failed["b.csv"].startswith("not text: it begins like a ZIP archive")
    assert read.failed["c.csv"] == "no rows; the file is empty"
    assert read.failed["d.parquet"].startswith("not a readable Parquet file: ")


def test_a_line_without_end_fails_its_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphrag_dagster.apps.interchange.readers.text_lines._LONGEST_LINE", 1_000)
    (tmp_path / "a.csv").write_text("head,relation,tail\n" + "x" * 5_000)
    (tmp_path / "b.csv").write_text("head,relation,tail\nA,r,B\n")
    read = read_folder(tmp_path)
    assert read.failed["a.csv"].startswith("line 2 has more than 1,000 characters")
    assert _triples(read) == [("A", "r", "B")]


_TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Cf", "Zs", "Zl", "Zp")), min_size=1, max_size=9
)
_NOTE = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), max_size=9)
_ROWS = st.lists(st.tuples(_TEXT, _TEXT, _TEXT, _NOTE), min_size=1, max_size=12)
_NAMES = ("head", "relation", "tail", "note")


@given(_ROWS, st.sampled_from(",;\t|"))
def test_written_csv_reads_the_same(rows: list[tuple[str, ...]], delimiter: str) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([_NAMES, *rows])
    account = ReadAccount("a.csv")
    data = io.BytesIO(stream.getvalue().encode())
    layout = layout_of(data, "a.csv")
    assert (layout.delimiter, layout.quoted, layout.names) == (delimiter, True, _NAMES)
    blocks = delimited_rows(data, layout, "relations", account)
    read = [some for some in blocks if len(some.numbers)]
    told = list(zip(*(pl.concat([some.columns[name] for some in read]) for name in _NAMES), strict=True))
    assert told == [tuple(cell.strip() for cell in row) for row in rows]


@given(_ROWS)
def test_written_json_lines_read_the_same(rows: list[tuple[str, ...]]) -> None:
    lines = [json.dumps(dict(zip(_NAMES, row, strict=True)), ensure_ascii=row[0] > "m") for row in rows]
    account = ReadAccount("a.jsonl")
    read = list(json_rows(io.BytesIO("\n".join(lines).encode()), "relations", account))
    told = [row for some in read for row in zip(*(list(some.columns[name]) for name in _NAMES), strict=True)]
    assert told == rows
