"""The guard lets through what reads, writes it anew, and refuses all else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.cypher.language.guard import guard_query
from graphrag_dagster.errors import QueryError
from support.cypher_queries import ALLOWED, REFUSED

#: A word that would write, call or read a file, wherever a name cannot stand.
FORBIDDEN = re.compile(
    r"(?i)\b(CREATE|MERGE|SET|DELETE|REMOVE|CALL|LOAD|COPY|INSTALL|ATTACH|DROP|ALTER|FOREACH|EXPORT|IMPORT|USE)\b"
    r"|//|/\*|;|['\"\\]|\{\s*MATCH"
)


def bare(text: str) -> str:
    """A query without its names, which stand in backticks, and texts of which nothing can be a sign."""
    return re.sub(r"`[^`]*`|'(?:[A-Za-z0-9 ]|\\[uU][0-9a-f]{4,8})*'", "`", text)


@pytest.mark.parametrize("query", ALLOWED)
def test_a_query_that_reads_is_written_anew(query: str) -> None:
    for dialect in ("embedded", "neo4j"):
        passed = guard_query(query, dialect=dialect)
        assert not FORBIDDEN.search(bare(passed.text))
        assert " LIMIT " in passed.text
        # What was written anew has no literal of its own any more, but where the engine takes no parameter.
        assert passed.parameters or not re.search(r"['\"]", query) or " WHERE toLower(`x`)" in passed.text


@pytest.mark.parametrize("query", REFUSED)
def test_all_else_is_refused(query: str) -> None:
    for dialect in ("embedded", "neo4j"):
        with pytest.raises(QueryError, match=r"."):
            guard_query(query, dialect=dialect)


def test_literals_and_names_are_kept_apart_from_the_query() -> None:
    passed = guard_query(
        "MATCH (a {title: 'x\\'); DROP'}) WHERE a.n = 5 AND a.m = 5 RETURN a.n + $k AS sum", {"k": 1}
    )
    assert passed.text == (
        "MATCH (`a` {`title`: $literal_1}) WHERE `a`.`n` = CAST($literal_2 AS INT64) AND "
        "`a`.`m` = CAST($literal_2 AS INT64) RETURN `a`.`n` + CAST($given_k AS INT64) AS `sum` LIMIT 100"
    )
    assert passed.parameters == {"literal_1": "x'); DROP", "literal_2": 5, "given_k": 1}
    assert passed.columns == ("sum",)


@pytest.mark.parametrize(
    ("end", "limit", "capped"),
    [("", 100, True), (" LIMIT 7", 7, False), (" LIMIT 101", 100, True), (" LIMIT $n", 30, False)],
)
def test_a_limit_is_put_on_or_cut_down(end: str, limit: int, capped: bool) -> None:
    passed = guard_query(f"MATCH (n) WITH n LIMIT 1000 RETURN n{end}", {"n": 30})
    assert passed.text.endswith(f"WITH `n` LIMIT 1000 RETURN `n` LIMIT {limit}")
    assert passed.capped is capped


def test_each_engine_is_asked_in_its_own_words() -> None:
    query = (
        "MATCH p = shortestPath((a)-[r:R*..2]-(b)) RETURN type(r), a.l[1..3], [x IN a.l | x], toString(a.n)"
    )
    assert guard_query(query).text == (
        "MATCH `p` = (`a`)-[`r`:`R`* SHORTEST 1..2]-(`b`) RETURN label(`r`), `a`.`l`[2:3], "
        "list_transform(coalesce(`a`.`l`), `x` -> `x`), CAST(`a`.`n` AS STRING) LIMIT 100"
    )
    assert guard_query(query, dialect="neo4j").text == (
        "MATCH `p` = shortestPath((`a`)-[`r`:`R`*1..2]-(`b`)) RETURN type(`r`), `a`.`l`[1..3], "
        "[`x` IN `a`.`l` | `x`], toString(`a`.`n`) LIMIT 100"
    )


@pytest.mark.parametrize(
    "value", [[1, "a"], [None, 1, True], {"a": 1}, [[1]], 2**63, ["a" * 100_001], object()]
)
def test_parameters_of_other_kinds_are_refused(value: object) -> None:
    with pytest.raises(QueryError, match="the parameter"):
        guard_query("RETURN $a", {"a": value})


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_a_text_comes_back_as_it_is_and_changes_no_query(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    passed = guard_query(f"RETURN '{escaped}' AS a")
    assert passed.text == "RETURN $literal_1 AS `a` LIMIT 100"
    assert passed.parameters == {"literal_1": text}


@given(
    st.text(max_size=300) | st.lists(st.sampled_from(" ()[]{}<>-:.,*=+|$`'\"\\;/abMATCH1RETURN")).map("".join)
)
def test_whatever_it_is_given_it_refuses_or_lets_through(query: str) -> None:
    for text in (query, f"RETURN {query}", f"MATCH (a){query} RETURN a"):
        try:
            passed = guard_query(text)
        except QueryError:
            continue
        assert not FORBIDDEN.search(bare(passed.text))


@pytest.mark.parametrize("query", [one for one in ALLOWED if "-1" not in one])
def test_it_lets_through_again_what_it_wrote(query: str) -> None:
    once = guard_query(query, dialect="neo4j")
    given_again = {name: value for name, value in once.parameters.items() if value is not None}
    again = guard_query(once.text, given_again, dialect="neo4j")
    assert again.text == re.sub(r"\$(literal_\d+)", r"$given_\1", once.text)
