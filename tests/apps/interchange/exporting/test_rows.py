from collections.abc import Iterator

import polars as pl
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.interchange.exporting.export_rows import AT_ONCE, json_text, rebatch

SCHEMA = pa.schema([("n", pa.int64())])


@given(st.lists(st.integers(0, 3 * AT_ONCE), max_size=6))
def test_batches_do_not_depend_on_who_read_them(sizes: list[int]) -> None:
    def read() -> Iterator[pa.RecordBatch]:
        start = 0
        for size in sizes:
            yield pa.record_batch([pa.array(range(start, start + size), pa.int64())], schema=SCHEMA)
            start += size

    made = list(rebatch(read(), SCHEMA))
    assert [one.num_rows for one in made[:-1]] == [AT_ONCE] * (len(made) - 1)
    assert pa.Table.from_batches(made, SCHEMA)["n"].to_pylist() == list(range(sum(sizes)))


@given(st.lists(st.none() | st.lists(st.text(st.characters(exclude_categories=["Cs"])))))
def test_lists_are_json(lists: list[list[str] | None]) -> None:
    frame = pl.DataFrame({"a": pl.Series(lists, dtype=pl.List(pl.String))})
    told = frame.select(json_text("a"))["x"].to_list()
    read = [
        None if one is None else pl.Series([one]).str.json_decode(pl.List(pl.String)).to_list()[0]
        for one in told
    ]
    assert read == lists
