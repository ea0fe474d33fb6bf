"""What is kept of documents to choose them by: typed metadata, and the periods they are of."""

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.documents.document_metadata import (
    LONGEST_VALUE,
    metadata_of,
    periods_of,
    value_of,
)
from graphrag_dagster.kernel.tables.core_tables import DOCUMENT_METADATA, DOCUMENT_PERIODS, DOCUMENTS
from support.reading import read_corpus

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


def documents(*rows: Mapping[str, object]) -> pl.DataFrame:
    blank = {
        "text": "x",
        "title": "",
        "path": "a.txt",
        "row": None,
        "source_id": None,
        "date": None,
        "metadata": "{}",
        "characters": 1,
    }
    return DOCUMENTS.rows(
        {"document_id": f"d{n}", "human_readable_id": n, **blank, **row} for n, row in enumerate(rows)
    )


def told(frame: pl.DataFrame) -> list[tuple[str, str, str]]:
    return [(str(s), str(e), f) for s, e, f in frame.select("period_start", "period_end", "found_in").rows()]


@pytest.mark.parametrize(
    ("written", "type_", "number", "boolean"),
    [
        ("2020", "number", 2020.0, None),
        ("2,500.5", "number", 2500.5, None),
        ("-1e3", "number", -1000.0, None),
        ("007", "text", None, None),
        ("1,2", "text", None, None),
        ("1e999", "text", None, None),
        ("Yes", "boolean", None, True),
        (False, "boolean", None, False),
        (3, "number", 3.0, None),
        ("2019-07-12", "date", None, None),
        ("July 2019", "date", None, None),
        ("2019-07-12 10:00", "date", None, None),
        ("2019-02-30", "text", None, None),
        ("Anna", "text", None, None),
    ],
)
def test_values_read_as_what_they_are(
    written: object, type_: str, number: float | None, boolean: bool | None
) -> None:
    value = value_of(written)
    assert (value.type, value.number, value.boolean) == (type_, number, boolean)


@given(st.dictionaries(st.text(), JSON, max_size=6))
def test_any_metadata_makes_valid_rows_and_loses_no_short_value(metadata: dict[str, object]) -> None:
    frame = DOCUMENT_METADATA.validated(metadata_of(documents({"metadata": json.dumps(metadata)})))
    kept = frame.group_by("key").len()
    for key, value in metadata.items():
        if isinstance(value, bool | int) and len(str(value)) < LONGEST_VALUE:
            assert key in kept["key"]


def test_values_inside_others_have_keys_with_dots_and_long_ones_are_left_out() -> None:
    metadata = {"author": {"name": "Anna", "age": 40}, "tags": ["a", "b"], "summary": "x" * 1001}
    frame = metadata_of(documents({"metadata": json.dumps(metadata)}))
    assert frame.select("key", "position", "text").rows() == [
        ("author.age", 0, "40"),
        ("author.name", 0, "Anna"),
        ("tags", 0, "a"),
        ("tags", 1, "b"),
    ]


def test_a_document_is_of_the_period_that_is_said_of_it_most_surely() -> None:
    row = {
        "date": "2019-07-12",
        "metadata": '{"quarter": "Q3", "fiscal_year": 2019, "birth_date": "1950-01-01"}',
        "title": "Review of May 2018",
        "path": "2017/11/review.md",
        "text": "# Review\nSigned 1 June 2016, on matters of 4 April 2015.",
    }
    assert told(periods_of(documents(row))) == [
        ("2019-07-12", "2019-07-12", "date"),
        ("2019-07-01", "2019-09-30", "metadata"),
        ("2019-01-01", "2019-12-31", "metadata"),
        ("2018-05-01", "2018-05-31", "title"),
        ("2017-11-01", "2017-11-30", "path"),
        ("2016-06-01", "2016-06-01", "first_lines"),
    ]


@pytest.mark.parametrize(
    ("title", "period"),
    [
        ("TranscriptFY24Q2", ("2024-04-01", "2024-06-30")),
        ("MSFTFY24Q2call", ("2024-04-01", "2024-06-30")),
        ("minutes25July2019", ("2019-07-25", "2019-07-25")),
        ("2009-04-at", ("2009-04-01", "2009-04-30")),
        ("EarningsCall2H2024", ("2024-07-01", "2024-12-31")),
    ],
)
def test_a_period_inside_a_name_is_read(title: str, period: tuple[str, str]) -> None:
    (found,) = told(periods_of(documents({"title": title, "path": f"{title}.txt"})))
    assert found == (*period, "title")


@pytest.mark.parametrize(
    "metadata",
    [
        '{"ts": "1262304000.000100"}',
        '{"timestamp": 1262304000000}',
        '{"sent": 1262304000}',
        '{"timestamp": "2010-01-01T10:00:00Z"}',
    ],
)
def test_the_stamp_of_a_message_is_its_day(metadata: str) -> None:
    assert told(periods_of(documents({"metadata": metadata}))) == [("2010-01-01", "2010-01-01", "metadata")]


@pytest.mark.parametrize("metadata", ['{"ts": 12}', '{"views": 1262304000}', '{"modified": 1262304000}'])
def test_a_number_that_is_no_stamp_is_no_day(metadata: str) -> None:
    assert told(periods_of(documents({"metadata": metadata}))) == []


def test_a_fiscal_quarter_in_the_first_lines_has_the_day_beside_it() -> None:
    row = {"text": "Ostrel FY24 Second Quarter Call\nTuesday, January 30, 2024\nOn 1 May 2020 it began."}
    assert told(periods_of(documents(row))) == [
        ("2024-04-01", "2024-06-30", "first_lines"),
        ("2024-01-30", "2024-01-30", "first_lines"),
    ]


def test_a_life_and_a_year_in_passing_are_not_what_a_document_is_of() -> None:
    life = {"title": "Magnus, 1935–2023", "text": "Died 7 October 2023."}
    passing = {"text": "The house was built in 1911."}
    row = {"row": 0, "text": "On 7 October 2023 it rained."}
    found = periods_of(documents(life, passing, row))
    assert told(found) == [
        ("2023-10-07", "2023-10-07", "first_lines"),
        ("1935-01-01", "2023-12-31", "title"),
    ]


def test_the_order_of_the_figures_of_a_date_is_that_of_its_file() -> None:
    def dated(path: str, *dates: str) -> list[dict[str, object]]:
        return [{"path": path, "row": n, "date": date} for n, date in enumerate(dates)]

    rows = [*dated("us.csv", "03/04/2019", "04/13/2019"), *dated("eu.csv", "03/04/2019", "13/04/2019")]
    found = periods_of(documents(*rows))
    assert [str(day) for day in found["period_start"]] == [
        *("2019-03-04", "2019-04-13"),
        *("2019-04-03", "2019-04-13"),
    ]
    assert found["ambiguous"].to_list() == [True, False, True, False]


@given(st.text(), st.text(), st.none() | st.text())
def test_whatever_is_said_of_documents_makes_valid_rows(title: str, text: str, date: str | None) -> None:
    row = {"title": title, "text": text, "date": date, "metadata": json.dumps({"year": title})}
    DOCUMENT_PERIODS.validated(periods_of(documents(row)))


def test_front_matter_and_columns_are_read_with_their_types(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text(
        "---\ntitle: Budget\ndate: 2019-07-12\nspeaker: Anna\nyear: 2019\nfinal: true\nheld: 2019-07-10\n---\nText."
    )
    (tmp_path / "rows.csv").write_text("id,text,year,open\n1,First text.,2020,yes\n2,Second text.,2021,no\n")
    read = read_corpus(tmp_path).documents
    found = metadata_of(read).join(read.select("document_id", "path"), on="document_id")
    note = found.filter(pl.col("path") == "note.md").select("key", "type", "text").rows()
    assert note == [
        ("final", "boolean", "true"),
        ("held", "date", "2019-07-10"),
        ("speaker", "text", "Anna"),
        ("year", "number", "2019"),
    ]
    rows = found.filter(pl.col("path") == "rows.csv")
    assert sorted(rows.filter(pl.col("key") == "year")["number"].to_list()) == [2020.0, 2021.0]
    assert set(rows.filter(pl.col("key") == "open")["boolean"]) == {True, False}
