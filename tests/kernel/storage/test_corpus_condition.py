"""The name of a corpus stands in queries as text, and stays one text whatever it holds."""

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.storage.warehouse import of_corpus

HOSTILE = ["it's", "'; drop table kept; --", "' or '1'='1", "\\'", "''", "a\\", '"', "%", "?", "$1"]


@given(
    st.one_of(
        st.sampled_from(HOSTILE), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
    )
)
def test_a_name_is_found_as_it_is_and_nothing_else(name: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("create table kept as select unnest(?::varchar[]) as corpus", [[name, f"{name}x"]])
        assert connection.execute(f"select corpus from kept where {of_corpus(name)}").fetchall() == [(name,)]
