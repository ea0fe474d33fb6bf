import io
import json

import polars as pl
import pytest

from graphrag_dagster.kernel.documents.column_roles import ColumnError, ColumnNames, choose_columns
from graphrag_dagster.kernel.documents.file_reading import format_of, reader_of
from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile, UnreadableError, metadata_json
from graphrag_dagster.kernel.documents.readers.data.delimited_tables import sniff_delimiter


def read(data: bytes | str, path: str, columns: ColumnNames | None = None) -> Reading:
    kind = format_of(path)
    assert kind is not None
    return reader_of(kind)(data.encode() if isinstance(data, str) else data, SourceFile(path, columns))


def texts(reading: Reading) -> list[str]:
    return [record.text for record in reading.records]


def test_columns_are_guessed() -> None:
    chosen = choose_columns(None, ["ID", "Headline", "Body", "Published", "desk"], "a.csv")
    assert (chosen.text, chosen.title, chosen.id, chosen.date, chosen.metadata) == (
        "Body",
        "Headline",
        "ID",
        "Published",
        ("desk",),
    )


def test_columns_as_set_go_before_guesses() -> None:
    names = ColumnNames(text="story", title="desk", metadata=("id",))
    chosen = choose_columns(names, ["id", "title", "story", "text", "desk"], "a.csv")
    assert (chosen.text, chosen.title, chosen.metadata) == ("story", "desk", ("id",))


@pytest.mark.parametrize(
    "names", [ColumnNames(text="story"), ColumnNames(date="day"), ColumnNames(metadata=("x",))]
)
def test_a_column_that_does_not_exist(names: ColumnNames) -> None:
    with pytest.raises(ColumnError, match=r"news/a\.csv has no column '(story|day|x)'.* id, text"):
        choose_columns(names, ["id", "text"], "news/a.csv")


def test_no_text_column_names_what_there_is_and_the_mend() -> None:
    with pytest.raises(UnreadableError) as caught:
        read("year,ship\n1999,Atlas of the Sea\n", "ships.csv")
    for part in ("ships.csv", "year, ship", "corpus.yaml", "tables: {'ships.csv': {text: ship}}"):
        assert part in str(caught.value)


def test_csv_with_quoted_line_ends() -> None:
    reading = read('id,title,text,desk\r\n7,One,"a\r\nb, ""c""",sea\r\n8,Two,plain,\r\n', "a.csv")
    first, second = reading.records
    assert (first.text, first.title, first.source_id, first.row) == ('a\nb, "c"', "One", "7", 0)
    assert (first.metadata, second.row, reading.notes) == ({"desk": "sea"}, 1, ())
    assert metadata_json(second.metadata) == "{}"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found_out(delimiter: str) -> None:
    table = "\n".join(delimiter.join(row) for row in [("id", "text"), ("1", '"a, b; c"'), ("2", "d")])
    assert sniff_delimiter(table) == delimiter
    assert texts(read(table, "a.csv")) == ["a, b; c", "d"]


def test_one_column_keeps_its_commas() -> None:
    assert texts(read("text\nHello, world\nYes, yes, yes\n", "a.csv")) == ["Hello, world", "Yes, yes, yes"]


def test_ragged_and_blank_rows_are_counted() -> None:
    reading = read("id,text\n1,a\n2\n3,c,d,e\n\n4, \n", "a.csv")
    assert texts(reading) == ["a", "c"]
    assert "2 rows have more or fewer fields" in reading.notes[0]
    assert ": 1, 2;" in reading.notes[0]
    assert "2 rows have no text in 'text': 1, 3" in reading.notes[1]
    assert reading.records[1].metadata == {"extra_fields": ["d", "e"]}


def test_broken_quoting_is_read_and_noted() -> None:
    reading = read('id,text\n1,"a" b\n2,c\n', "a.csv")
    assert texts(reading) == ["a b", "c"]
    assert "quoting" in reading.notes[0]


def test_fields_may_be_long_and_columns_nameless_or_alike() -> None:
    long = "x" * 500_000
    (record,) = read(f",text,text\n0,{long},b\n", "a.csv").records
    assert record.text == long
    assert record.metadata == {"column_1": "0", "text_2": "b"}


def test_tsv_is_split_at_tabs_only() -> None:
    assert texts(read("text\tid\na, b, c\t1\n", "a.tsv")) == ["a, b, c"]


@pytest.mark.parametrize("path", ["a.csv", "a.json", "a.jsonl"])
def test_nothing_in_a_table_is_no_error(path: str) -> None:
    assert read("", path).records == ()
    assert read("  \n\n", path).records == ()


def test_header_alone_has_no_rows() -> None:
    assert read("id,text\n", "a.csv").records == ()
    assert read("[]", "a.json").records == ()


def test_json_shapes() -> None:
    rows = [{"id": 1, "text": "a"}, {"id": 2, "content": "x", "text": "b", "tags": ["p"]}]
    assert texts(read(json.dumps(rows), "a.json")) == ["a", "b"]
    assert texts(read(json.dumps({"count": 2, "items": rows}), "a.json")) == ["a", "b"]
    single = read(json.dumps({"title": "T", "text": "a", "comments": [{"x": 1}]}), "a.json")
    assert (texts(single), single.records[0].title) == (["a"], "T")
    assert "comments" in single.notes[0]
    mixed = read(json.dumps([*rows, "stray", 3]), "a.json")
    assert len(mixed.records) == 2
    assert "2, 3" in mixed.notes[0]


@pytest.mark.parametrize(
    "content", [{"a": 1}, ["a", "b"], 5, "text", {"a": [{"text": "x"}], "b": [{"text": "y"}]}, {}]
)
def test_other_json_is_unreadable(content: object) -> None:
    with pytest.raises(UnreadableError, match="list of objects"):
        read(json.dumps(content), "a.json")


def test_json_values_become_text() -> None:
    row = {"text": ["one", "two"], "id": 3, "date": None, "score": float("nan"), "more": {"a": "\ud800\x00"}}
    (record,) = read(json.dumps([row]), "a.json").records
    assert (record.text, record.source_id, record.date) == ("one\ntwo", "3", None)
    assert json.loads(metadata_json(record.metadata)) == {"more": {"a": "\ufffd\ufffd"}}


def test_jsonl_reads_good_lines_and_counts_bad_ones() -> None:
    reading = read('{"text": "a"}\n\n{broken\n[1]\n{"text": "b\\u2028c"}\n', "a.jsonl")
    assert [(record.row, record.text) for record in reading.records] == [(0, "a"), (3, "b\u2028c")]
    assert "2 lines" in reading.notes[0]
    assert "3, 4" in reading.notes[0]
    with pytest.raises(UnreadableError, match="lines 1, 2"):
        read("{a\n{b", "a.ndjson")


def test_deep_json_is_unreadable_not_fatal() -> None:
    with pytest.raises(UnreadableError):
        read("[" * 100_000, "a.json")


def test_parquet() -> None:
    stream = io.BytesIO()
    pl.DataFrame(
        {
            "id": [1, 2, 3],
            "text": ["a", None, "c\r\nd"],
            "seen": [True, False, None],
            "raw": [b"x", b"", None],
        }
    ).write_parquet(stream)
    reading = read(stream.getvalue(), "a.parquet")
    assert [(record.source_id, record.text, record.row) for record in reading.records] == [
        ("1", "a", 0),
        ("3", "c\nd", 2),
    ]
    assert "1 rows have no text" in reading.notes[0]
    assert json.loads(metadata_json(reading.records[0].metadata)) == {"seen": True, "raw": "1 bytes"}
