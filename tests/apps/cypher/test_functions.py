"""Every function and form that ``docs/reference/cypher.md`` lists, over a graph: with literals, parameters, nulls, nested."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.cypher.embedded_graph import graph_of
from graphrag_dagster.apps.cypher.language.cypher_expressions import _constant
from graphrag_dagster.apps.cypher.language.cypher_functions import FUNCTIONS
from graphrag_dagster.apps.cypher.language.guard import guard_query
from graphrag_dagster.apps.cypher.property_graph import run_embedded
from graphrag_dagster.errors import QueryError, QuestionError
from graphrag_dagster.kernel.storage.sql_sandbox import QueryLimits
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.triple_graphs import publish_triples

#: As the program runs one query, it runs many here.
_MANY = """
import json, sys
from graphrag_dagster.apps.cypher import cypher_process as program
import ladybug
request = json.load(sys.stdin)
connection = ladybug.Connection(ladybug.Database(request["file"], read_only=True, max_db_size=1 << 30))
for text, parameters in request["queries"]:
    try:
        found = connection.execute(text, parameters)
        rows = []
        while found.has_next():
            rows.append([program._plain(value) for value in found.get_next()])
    except RuntimeError as error:
        rows = str(error)
    print(json.dumps(rows))
"""
Values = dict[str, Any]
Case = tuple[str, Values, Any]

#: Expressions with what they are; the columns of one row.
ROWS: list[Case] = [
    ("abs(-2), abs($p), abs(null), ceil(1.2), floor(1.8), sign(-3), sqrt(16)", {"p": -1.5}, [2, 1.5, None, 2, 1, -1, 4]),
    ("log(1), log10(100), log10($p), sqrt($n), round(2.4), round(2.567, 2)", {"p": 10, "n": None}, [0, 2, 1, None, 2, 2.57]),
    ("coalesce(null, 'a'), coalesce(null), coalesce($n, $p, 1)", {"n": None, "p": 2}, ["a", None, 2]),
    ("left('hello', 2), right($p, 2), left(null, 1), right('a', 9)", {"p": "hello"}, ["he", "lo", None, "a"]),
    ("trim(' a '), ltrim(' a '), rtrim($p), trim($n), trim('')", {"p": " a ", "n": None}, ["a", "a ", " a", None, ""]),
    ("toLower('AB'), toUpper($p), toLower(null), toUpper(toLower('É'))", {"p": "ab"}, ["ab", "AB", None, "É"]),
    ("replace('aba', 'a', $p), replace(null, 'a', 'b'), replace('a', $n, '')", {"p": "", "n": None}, ["b", None, None]),
    ("split('a,b', ','), split($p, ' '), split(null, ',')", {"p": "a b"}, [["a", "b"], ["a", "b"], None]),
    ("substring('hello', 1), substring($p, $s, $n), substring(null, 0)", {"p": "hé🌊lo", "s": 2, "n": 1}, ["ello", "🌊", None]),
    ("toInteger('12'), toInteger($p), toInteger(null), toFloat('1.5'), toFloat($q)", {"p": "7", "q": 2}, [12, 7, None, 1.5, 2.0]),
    ("toString(12), toString('a'), toString(null), toString($p)", {"p": 3}, ["12", "a", None, "3"]),
    ("size('abc'), size([1, 2]), size([]), size($l), size($n)", {"l": [], "n": None}, [3, 2, 0, 0, None]),
    ("head([1, 2]), last(['a', 'b']), head([]), last($l), head(null)", {"l": []}, [1, "b", None, None, None]),
    ("reverse('abc'), reverse([1, 2]), reverse($l), reverse([]), reverse(null)", {"l": ["a", "b"]}, ["cba", [2, 1], ["b", "a"], [], None]),
    ("head(reverse(split('a,b', ','))), size(split(toUpper($p), ','))", {"p": "a,b"}, ["b", 2]),
    ("properties({a: 1}), {a: null, b: [$p]}, {a: 1}.a", {"p": "x"}, [{"a": 1}, {"a": None, "b": ["x"]}, 1]),
    ("[1, 2, 3][0], [1, 2, 3][1..], [1, 2, 3][..2], [][0], $l[1], null[0]", {"l": [4, 5]}, [1, [2, 3], [1, 2], None, 5, None]),
    ("$l, $m, [null], [[]], []", {"l": [], "m": [1, None]}, [[], [1, None], [None], [[]], []]),
    ("1 IN $l, null IN [1], 1 IN [], $x IN $e, 'a' IN $m", {"l": [1], "x": 1, "e": [], "m": ["a", None]}, [True, None, False, False, True]),
    ("CASE WHEN $n THEN 1 ELSE 2 END, CASE $p WHEN 'a' THEN 1 END, CASE 1 WHEN 2 THEN 3 END", {"n": None, "p": "a"}, [2, 1, None]),
    ("'abc' STARTS WITH $p, 'abc' ENDS WITH 'c', null CONTAINS 'a', 'abc' =~ 'a.*'", {"p": "a"}, [True, True, None, True]),
    ("null = null, null IS NULL, $n IS NOT NULL, true AND null, true OR null, NOT null", {"n": None}, [None, True, False, None, True, None]),
    # Quantifiers over lists that stand in the query, or come with it.
    ("any(x IN [1, 2] WHERE x = 2), all(x IN [1, 2] WHERE x > 0), none(x IN [1] WHERE x = 2), single(x IN [1, 2] WHERE x = 1)", {}, [True] * 4),
    ("any(x IN $l WHERE x = $p), all(x IN $l WHERE x = $p), none(x IN $l WHERE x = $p), single(x IN $l WHERE x = $p)", {"l": ["a", "b"], "p": "a"}, [True, False, False, True]),
    ("any(x IN [] WHERE x = 1), all(x IN [] WHERE x = 1), none(x IN $l WHERE x = 1), single(x IN $l WHERE x = 1)", {"l": []}, [False, True, True, False]),
    ("any(x IN null WHERE x = 1), all(x IN $n WHERE x = 1), [x IN null | x], [x IN $n WHERE x = 1]", {"n": None}, [None] * 4),
    ("any(x IN [1, null] WHERE x = 1), any(x IN [2, null] WHERE x = 1), all(x IN $l WHERE x = 1), none(x IN $l WHERE x = 1)", {"l": [1, None]}, [True, None, None, False]),
    ("single(x IN [1, null] WHERE x = 1), single(x IN [null] WHERE x = 1), single(x IN [1, 1, null] WHERE x = 1), single(x IN $l WHERE x = 1)", {"l": [1, 2]}, [None, None, False, True]),
    ("all(x IN [1, 2] WHERE any(y IN [2, 1] WHERE y = x)), any(x IN [[1], [2]] WHERE none(y IN x WHERE y = 1))", {}, [True, True]),
    ("any(x IN split($p, ',') WHERE x = 'b'), all(x IN [1] + [2] WHERE x < $n), any(x IN [1, 2, 3][0..2] WHERE x = 3)", {"p": "a,b", "n": 3}, [True, True, False]),
    ("any(x IN $l WHERE x = 250), size([x IN $l WHERE x < $p])", {"l": list(range(300)), "p": 5}, [True, 5]),
    ("any(x IN ['it\\'s', '\\\\', '$', '->', '🌊'] WHERE x = '\\\\'), [x IN split('it\\'s|$', '|') WHERE x <> '$']", {}, [True, ["it's"]]),
    # Comprehensions.
    ("[x IN [1, 2, 3] WHERE x > 1 | x * 2], [x IN $l WHERE x <> $p], [x IN [] | x], [x IN [1, 2]]", {"l": ["a", "b"], "p": "a"}, [[4, 6], ["b"], [], [1, 2]]),
    ("[x IN [1, 2] | {a: x}], [x IN [1, 2] | [y IN [3, 4] | x + y]], [x IN [1, 2] WHERE any(y IN $l WHERE y = x)]", {"l": [2]}, [[{"a": 1}, {"a": 2}], [[4, 5], [5, 6]], [2]]),
]  # fmt: skip

#: Queries with their rows, over the triples A $ B, B -> C, A x C.
_PATH = "MATCH p = (a:Entity)-[:RELATED*1..2]->(b:Entity) WHERE length(p) = 2 "
QUERIES: list[Case] = [
    ("UNWIND [1, 2, 2, null] AS x RETURN sum(x), avg(x), min(x), max(x), count(x), count(*), collect(x)", {}, [[5, 5 / 3, 1, 2, 3, 4, [1, 2, 2]]]),
    ("UNWIND $l AS x RETURN sum(DISTINCT x), count(DISTINCT x), collect(DISTINCT x)", {"l": [2, 2]}, [[2, 1, [2]]]),
    ("UNWIND [1.5, 2] AS x RETURN sum(x), avg(x)", {}, [[3.5, 1.75]]),
    ("RETURN count(null), collect(null), max(null), min($n), sum($n), avg(null)", {"n": None}, [[0, [], None, None, None, None]]),
    ("UNWIND [] AS x RETURN count(x), collect(x)", {}, [[0, []]]),
    ("UNWIND $l AS x RETURN x", {"l": []}, []),
    ("UNWIND $n AS x RETURN x", {"n": None}, []),
    ("UNWIND $l AS x RETURN x", {"l": ["a", None]}, [["a"], [None]]),
    ("MATCH (n:Entity) WHERE n.title IN $l RETURN n.title", {"l": ["A", None]}, [["A"]]),
    ("MATCH (n:Entity {}) WHERE n.title IN $l RETURN n.title", {"l": []}, []),
    (_PATH + "RETURN length(p), size(nodes(p)), nodes(p)[1].title, head(nodes(p)).title, last(nodes(p)).title", {}, [[2, 3, "B", "A", "C"]]),
    (_PATH + "RETURN [n IN nodes(p) | n.title], [r IN relationships(p) WHERE r.relation <> '$' | r.relation]", {}, [[["A", "B", "C"], ["->"]]]),
    (_PATH + "RETURN [n IN reverse(nodes(p)) | n.title], relationships(p)[0].relation", {}, [[["C", "B", "A"], "$"]]),
    (_PATH + "AND all(n IN nodes(p) WHERE n.title <> 'D') RETURN b.title", {}, [["C"]]),
    (_PATH + "AND any(n IN nodes(p) WHERE n.title = $t) RETURN b.title", {"t": "B"}, [["C"]]),
    (_PATH + "AND none(r IN relationships(p) WHERE r.relation IN $l) RETURN b.title", {"l": ["$"]}, []),
    (_PATH + "AND single(n IN nodes(p) WHERE n.title IN ['A', 'x']) RETURN b.title", {}, [["C"]]),
    (_PATH + "AND all(n IN nodes(p) WHERE any(t IN $l WHERE t = n.title)) RETURN b.title", {"l": ["A", "B", "C"]}, [["C"]]),
    ("MATCH (n:Entity) WITH collect(n.title) AS l RETURN any(x IN l WHERE x = 'A'), size(reverse(l)), none(x IN l WHERE x = $p)", {"p": "'"}, [[True, 3, True]]),
    # Several conditions with different properties over one list.
    ("MATCH (n:Entity) WITH collect(n) AS l RETURN any(x IN l WHERE x.title = 'A'), any(x IN l WHERE x.degree > 0), single(x IN l WHERE x.name = 'B'), [x IN l WHERE x.title = 'B' | x.degree]", {}, [[True, True, True, [2]]]),
    ("MATCH (n:Entity) WITH collect(n) AS l WHERE any(x IN l WHERE x.title = 'A') AND all(x IN l WHERE x.degree = 2) AND none(x IN l WHERE x.type = 'X') RETURN size(l)", {}, [[3]]),
    ("MATCH (:Entity)-[r:RELATED]->(:Entity) WITH collect(r) AS l RETURN any(x IN l WHERE x.relation = '$'), size([x IN l WHERE x.strength > 0])", {}, [[True, 3]]),
    # Null is neither true nor false for an entry, whatever the list comes from.
    ("WITH [1, null] AS l RETURN any(x IN l WHERE x = 1), any(x IN l WHERE x = 2), all(x IN l WHERE x = 1), all(x IN l WHERE x = 2)", {}, [[True, None, None, False]]),
    ("WITH [1, null] AS l RETURN none(x IN l WHERE x = 1), none(x IN l WHERE x = 2), single(x IN l WHERE x = 1), single(x IN l WHERE x IS NULL)", {}, [[False, None, None, True]]),
    ("OPTIONAL MATCH (a:Entity {title: 'none'}) RETURN any(x IN a.names WHERE x = 'A'), all(x IN a.names WHERE x = 'A'), [x IN a.names WHERE x = 'A']", {}, [[None, None, None]]),
    ("MATCH (n:Entity) WHERE all(x IN ['A', 'B'] WHERE x <> n.title) RETURN n.title", {}, [["C"]]),
    ("MATCH (a:Entity {title: 'A'}), (b:Entity {title: 'B'}) RETURN any(x IN [a, b] WHERE x.title = 'B')", {}, [[True]]),
    ("MATCH (a:Entity {title: 'A'})-[r:RELATED]->(:Entity {title: 'B'}) RETURN type(r), labels(a), 'title' IN keys(a), properties(r).relation", {}, [["RELATED", ["Entity"], True, "$"]]),
    ("OPTIONAL MATCH (a:Entity {title: 'none'}) RETURN labels(a), a.title, size(a.title)", {}, [[None, None, None]]),
    ("MATCH (n:Entity) RETURN n.title ORDER BY n.title DESC SKIP $s LIMIT $l", {"s": 1, "l": 1}, [["B"]]),
    ("RETURN 1 AS x UNION ALL RETURN 1 AS x", {}, [[1], [1]]),
    ("MATCH (a:Entity) WHERE NOT (a)-[:RELATED]->() RETURN a.title", {}, [["C"]]),
    ("MATCH p = shortestPath((a:Entity {title: 'A'})-[:RELATED*1..3]->(b:Entity {title: 'C'})) RETURN length(p)", {}, [[1]]),
    ("MATCH p = allShortestPaths((a:Entity {title: 'A'})-[:RELATED*1..3]->(b:Entity {title: $t})) RETURN length(p)", {"t": "C"}, [[1]]),
    (_PATH + "UNWIND nodes(p) AS n WITH p, n WHERE any(r IN relationships(p) WHERE r.relation = n.title) RETURN n.title", {}, []),
]  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    warehouse = Warehouse(path=str(tmp_path_factory.mktemp("graph") / "{corpus}.duckdb"))
    publish_triples(warehouse, "films", [("A", "$", "B"), ("B", "->", "C"), ("A", "x", "C")])
    return graph_of(warehouse, "films")


def test_every_documented_form_gives_what_opencypher_gives(graph: Path) -> None:
    cases = [*((f"RETURN {text}", values, [row]) for text, values, row in ROWS), *QUERIES]
    queries = [guard_query(text, values) for text, values, _ in cases]
    ended = subprocess.run(
        [sys.executable, "-P", "-c", _MANY],
        input=json.dumps(
            {"file": str(graph), "queries": [(one.text, dict(one.parameters)) for one in queries]}
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    for (text, values, wanted), line in zip(cases, ended.stdout.splitlines(), strict=True):
        assert json.loads(line) == wanted, (text, values)


def test_every_function_is_among_them() -> None:
    told = " ".join(text for text, _, _ in [*ROWS, *QUERIES])
    called = {name.lower() for name in re.findall(r"(\w+)\(", told)}
    assert {*map(str.lower, FUNCTIONS), "any", "all", "none", "single"} <= called
    documented = (Path(__file__).parents[3] / "docs" / "reference" / "cypher.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in documented for name in (*FUNCTIONS, "any", "all", "none", "single"))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("RETURN {}", "a map has one property"),
        ("MATCH p = (a)-[*1..2]->(b) RETURN [n IN nodes(p) | {t: n.title}]", "a map made of each entry"),
        (
            "MATCH p = (a)-[*1..2]->(b) WHERE any(n IN nodes(p) WHERE any(r IN relationships(p) WHERE r.x = n.y)) "
            "RETURN a",
            "UNWIND the outer list",
        ),
        (
            "WITH [1] AS l RETURN " + "any(x IN [x IN l WHERE " * 9 + "x = 1" + "] WHERE x = 1)" * 9,
            "ask for less",
        ),
        ("RETURN any(a IN $l WHERE any(b IN $l WHERE any(c IN $l WHERE a + b = c)))", "ask for less"),
    ],
)
def test_what_the_embedded_graph_cannot_do_is_said(query: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        guard_query(query, {"l": list(range(50))})


def test_a_place_that_a_list_has_not_is_said(graph: Path) -> None:
    with pytest.raises(QuestionError, match="no entry at that place"):
        run_embedded(graph, guard_query("MATCH (n:Entity) RETURN n.names[5]"), QueryLimits(20, 500))
    mended = guard_query("MATCH (n:Entity) WHERE size(n.names) > 5 RETURN n.names[5]")
    assert run_embedded(graph, mended, QueryLimits(20, 500)).rows == ()


@given(st.one_of(st.text(), st.lists(st.text(), max_size=3)))
def test_a_text_written_into_a_query_cannot_end_it(value: str | list[str]) -> None:
    texts = re.findall(r"'([^']*)'", _constant(value))
    assert len(texts) == (1 if isinstance(value, str) else len(value))
    assert all(re.fullmatch(r"(?:[A-Za-z0-9 ]|\\u[0-9a-f]{4}|\\U[0-9a-f]{8})*", text) for text in texts)


def test_a_server_is_sent_quantifiers_as_they_are() -> None:
    sent = guard_query(
        "RETURN any(x IN [1, 2] WHERE x = $p), [x IN $l | {a: x}]", {"p": 1, "l": []}, dialect="neo4j"
    )
    assert "any(`x` IN [$literal_1, $literal_2] WHERE `x` = $given_p)" in sent.text
    assert sent.parameters["given_l"] == []
