from urllib.parse import unquote

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.interchange.exporting.ntriples_writer import ResourceIris

KEYS = (
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(["a", "b~1"])
)
BEGINNING = "<urn:graphrag-dagster:corpus:c%20d:textUnit:"


@given(st.lists(KEYS))
def test_ids_are_iris_that_can_be_read_back(keys: list[str | None]) -> None:
    frame = pl.DataFrame({"k": pl.Series(keys, dtype=pl.String)})
    made = ResourceIris("c d").of("TextUnit", frame, "k").to_list()
    assert [None if one is None else unquote(one.removeprefix(BEGINNING)[:-1]) for one in made] == keys


@given(st.lists(st.lists(KEYS)))
def test_so_are_those_in_lists(lists: list[list[str | None]]) -> None:
    frame = pl.DataFrame({"k": pl.Series(lists, dtype=pl.List(pl.String))})
    made = ResourceIris("c d").of_lists("TextUnit", frame, "k").to_list()
    read = [[unquote(one.removeprefix(BEGINNING)[:-1]) for one in ones] for ones in made]
    assert read == [[one for one in ones if one is not None] for ones in lists]
