"""Rows of frames are found by their ids, in whatever order they lie."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.questions.context.index_snapshot import RowsById


@given(
    st.lists(st.tuples(st.text("abc", max_size=2), st.integers(0, 9)), max_size=12),
    st.text("abcd", max_size=2),
)
def test_a_row_is_the_last_of_its_id(rows: list[tuple[str, int]], other: str) -> None:
    frame = pl.DataFrame(rows, {"id": pl.String, "value": pl.Int64}, orient="row")
    found = RowsById(frame, "id", ["value"])
    for one in {other, *(key for key, _ in rows)}:
        own = [(value,) for key, value in rows if key == one]
        assert found.all(one) == own
        assert found.get(one) == (own[-1] if own else None)
