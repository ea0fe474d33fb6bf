import polars as pl
import pytest

from graphrag_dagster.kernel.pipeline.result_display import rows_of


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("![x](http://e/p.png)", "` ![x](http://e/p.png) `"),
        ("<img src=x> | www.e.example", r"` <img src=x> \| www.e.example `"),
        ("a `b` ``c", "``` a `b` ``c ```"),
        ("\x1b[2J", r"` \x1b[2J `"),
        ("two\n\nlines", "` two lines `"),
        (" ", ""),
        (None, ""),
    ],
)
def test_words_of_documents_are_code_in_a_sample(text: str | None, cell: str) -> None:
    assert rows_of(pl.DataFrame({"a": [text], "n": [1]}, schema={"a": pl.String, "n": pl.Int64})) == (
        f"| a | n |\n| --- | --- |\n| {cell} | 1 |"
    )
