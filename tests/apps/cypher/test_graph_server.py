"""A graph server over Bolt: read-only, in time, and with errors that say what is wrong and hold no password."""

import json
from pathlib import Path

import pytest

from graphrag_dagster.apps import bolt_client as bolt
from graphrag_dagster.apps.bolt_client import BoltGraph
from graphrag_dagster.apps.bolt_client import BoltServer as Address
from graphrag_dagster.apps.cypher.property_graph import CorpusGraph
from graphrag_dagster.apps.cypher.settings import CypherSettings
from graphrag_dagster.errors import EndpointDown, EndpointError, EngineError, QueryError, SettingsError
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.bolt_server import BoltScript, BoltServer, node, relation
from support.commands import Run

_BEGIN, _ROLLBACK, _COMMIT = 0x11, 0x13, 0x12
PASSWORD = "correct horse"


def at(server: BoltServer, seconds: float = 5, most_rows: int = 100) -> CorpusGraph:
    settings = CypherSettings(backend="neo4j", uri=server.uri, seconds=seconds, most_rows=most_rows)
    return CorpusGraph(Warehouse(), "any", settings)


@pytest.fixture(autouse=True)
def _login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_USER", "ada")
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)


def test_a_guarded_query_is_read_there(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = node(0, ["Person", "Entity"], {"title": "Ada"})
    script = BoltScript(
        ("p", "k"), [(ada, relation(5, "KNOWS", {"since": [1, 2]})), (None, "x")], login=("ada", PASSWORD)
    )
    with BoltServer(script) as server:
        ran = at(server).run("MATCH (p {x: 'a'})-[k*1..2]-(:Q) WHERE p.n = $n RETURN p, type(k)", {"n": 4})
    assert ran.found.columns == ("p", "type(k)")
    assert ran.found.rows == (
        ({"label": "Entity:Person", "title": "Ada"}, {"label": "KNOWS", "since": [1, 2]}),
        (None, "x"),
    )
    assert script.modes == ["r"]
    assert script.timeouts == [5000]
    assert script.queries == [
        (
            "MATCH (`p` {`x`: $literal_1})-[`k`*1..2]-(:`Q`) WHERE `p`.`n` = $given_n "
            "RETURN `p`, type(`k`) LIMIT 100",
            {"literal_1": "a", "given_n": 4},
        )
    ]
    assert _ROLLBACK in script.messages
    assert _COMMIT not in script.messages


def test_what_the_guard_refuses_is_not_sent() -> None:
    script = BoltScript()
    with BoltServer(script) as server, pytest.raises(QueryError, match="only read"):
        at(server).run("CREATE (n)", {})
    assert script.messages == []


@pytest.mark.parametrize(
    ("fault", "error", "told"),
    [
        ({"login": ("ada", "another")}, EndpointError, "rejects the login"),
        (
            {"fails": ("Neo.ClientError.Statement.SyntaxError", "Variable `x`")},
            QueryError,
            "failed: .*Variable `x`",
        ),
        ({"fails": ("Neo.ClientError.Transaction.TransactionTimedOut", "late")}, QueryError, "too long"),
        (
            {"fails": ("Neo.DatabaseError.General.UnknownError", f"echo {PASSWORD}")},
            QueryError,
            r"echo \*\*\*",
        ),
        ({"drops_after": 1}, EndpointDown, "closed the connection"),
        ({"silent": True}, QueryError, "too long"),
        ({"endless": True, "columns": ("n",), "rows": [("x" * 500_000,)]}, None, ""),
        ({"endless": True}, None, ""),
    ],
)
def test_faults_are_told(fault: dict[str, object], error: type[Exception] | None, told: str) -> None:
    with BoltServer(BoltScript(**fault)) as server:  # type: ignore[arg-type]
        if error is None:
            found = at(server, seconds=5).run("MATCH (n) RETURN n", {}).found
            assert found.more
            assert len(found.rows) in {1, 100}
            return
        with pytest.raises(error, match=told) as caught:
            at(server, seconds=1).run("MATCH (n) RETURN n", {})
    assert PASSWORD not in str(caught.value)


def test_a_server_that_is_not_there(unused: str) -> None:
    graph = CorpusGraph(Warehouse(), "any", CypherSettings(backend="neo4j", uri=unused, seconds=2))
    with pytest.raises((EndpointDown, QueryError), match="cannot be reached|too long"):
        graph.run("RETURN 1 AS a", {})


@pytest.fixture
def unused() -> str:
    with BoltServer(BoltScript()) as server:
        return server.uri


def test_rows_are_streamed_and_what_is_not_read_is_not_fetched() -> None:
    script = BoltScript(("a", "b"), [(number, "x") for number in range(3_000)])
    with BoltServer(script) as server, BoltGraph(Address(server.uri)) as graph:
        every = list(graph.stream("MATCH (n) RETURN n.a AS a, n.b AS b", {"p": [1]}))
        assert [row["a"] for row in every] == list(range(3_000))
        pulled = script.messages.count(0x3F)
        assert pulled >= 6
        some = graph.stream("MATCH (n) RETURN n.a AS a")
        assert next(some)["a"] == 0
        some.close()
        assert script.messages.count(0x3F) <= pulled + 3


def test_silence_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        BoltServer(BoltScript(silent=True)) as server,
        BoltGraph(Address(server.uri, silent_seconds=0.5)) as graph,
        pytest.raises(EndpointDown, match=r"sent nothing for 0\.5 s"),
    ):
        list(graph.stream("RETURN 1"))


def test_writing_is_another_mode_and_committed() -> None:
    script = BoltScript((), ())
    with BoltServer(script) as server, BoltGraph(Address(server.uri)) as graph:
        graph.write("UNWIND $rows AS row MERGE (n {id: row.id})", {"rows": [{"id": "a"}]})
    assert script.modes == ["w"]
    assert script.committed == 1
    assert script.queries[0][1] == {"rows": [{"id": "a"}]}


def test_the_command_asks_the_server_of_the_settings(
    coast: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    script = BoltScript(("title",), [("Ada",)], login=("ada", PASSWORD))
    with BoltServer(script) as server:
        settings = f"cypher: {{backend: neo4j, uri: '{server.uri}', database: films}}\n"
        (coast / "corpus.yaml").write_text(settings, encoding="utf-8")
        code, out, _ = run("cypher", "coast", "MATCH (n) RETURN n.title AS title", "--json")
        assert (code, json.loads(out)) == (0, [{"title": "Ada"}])
        script.login = ("ada", "another")
        code, out, problem = run("cypher", "coast", "MATCH (n) RETURN n.title AS title")
    assert code == 1
    assert "rejects the login" in problem
    assert PASSWORD not in out + problem


def test_without_the_driver_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bolt, "find_spec", lambda _: None)
    with pytest.raises(EngineError, match=r"pip install 'graphrag-dagster\[neo4j\]'"):
        BoltGraph(Address("bolt://localhost:7687"))


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"backend": "neo4j"}, "set uri to the address"),
        ({"uri": "http://localhost"}, "bolt"),
        ({"uri": "bolt://ada:secret@localhost"}, "environment variables"),
        ({"password_variable": "sk-abcdefghijkl1234567890"}, "name of an environment variable"),
        ({"seconds": 0}, "seconds"),
    ],
)
def test_settings_hold_no_credentials(section: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        parse_settings({"cypher": section}, "corpus.yaml")
    assert "secret" not in str(caught.value)
