"""Communities and summaries are written onto the nodes of a server that speaks Bolt, and taken away again."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster import write_back
from graphrag_dagster.apps.interchange.graph_import import import_graphs
from graphrag_dagster.apps.interchange.write_back import remove_properties
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import EndpointDown, EndpointError, ExportError, SettingsError
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import SnapshotProvenance, publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES
from graphrag_dagster.kernel.tables.import_tables import IMPORT_ACCOUNT, IMPORTED_ENTITIES, IMPORTED_FILES
from graphrag_dagster.kernel.tables.table_declaration import Table
from support.bolt_server import BoltScript, BoltServer
from support.commands import Run
from support.homes import copy_home, shared_home
from support.served_graph import ServedGraph, ServedNode

PASSWORD = "s3cret horse"
PEOPLE = ["Ada Kvist", "Bo Tarn", "Cy Maro", "Di Vask", "Ed Oru", "Flo Lind"]
KNOWS = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
HOSTILE = "'}) DETACH DELETE n //"


def fresh() -> ServedGraph:
    """Two triangles that one relation joins, and a node on its own."""
    nodes = {f"4:{n}": ServedNode(["Person"], {"name": name}) for n, name in enumerate(PEOPLE)}
    nodes["4:9"] = ServedNode(["Person"], {"name": HOSTILE})
    relations = [(f"5:{n}", f"4:{a}", f"4:{b}", "KNOWS", {}) for n, (a, b) in enumerate(KNOWS)]
    return ServedGraph(nodes, relations)


def configure(home: Path, uri: str, more: str = "", imports: str = "") -> None:
    folder = home / "corpora" / "port"
    folder.mkdir(parents=True, exist_ok=True)
    settings = (
        f"kind: graph\ncommunities: {{drift: 0}}\nimports: {{neo4j: {{uri: '{uri}'{imports}}}}}\n{more}"
    )
    (folder / "corpus.yaml").write_text(settings, "utf-8")


@pytest.fixture(autouse=True)
def _login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_USER", "ada")
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)


@pytest.fixture
def port(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph of the server, indexed, with a context node at C1."""

    def fill(made: Path) -> None:
        with BoltServer(BoltScript(graph=fresh())) as server:
            configure(made, server.uri)
            run_job("port")
        levels = Warehouse().read(tables.COMMUNITY_LEVELS, "port")
        homes = dict(levels.filter(level=1).select("entity_id", "community_id").iter_rows())
        entity, own = min(homes.items())
        other = min(set(homes.values()) - {own})
        rest = {"rank": 1, "similarity": 0.5, "distance": 1, "betweenness": 0.1, "score": 0.1}
        rows = [
            {"level": level, "community_id": other, "entity_id": entity, "home_id": own, **rest}
            for level in (1, 2)
        ]
        Warehouse().write(CONTEXT_NODES, "port", CONTEXT_NODES.frame(rows))
        settings = parse_settings({"kind": "graph"}, "test")
        publish(Warehouse(), "port", SnapshotProvenance(settings=settings))

    return copy_home(shared_home(tmp_path_factory, "graph of a server", fill), home)


class Port:
    """A server of the graph, for which the corpus is configured."""

    def __init__(self, home: Path, graph: ServedGraph, more: str = "", **faults: Any) -> None:
        self.graph = graph
        self.script = BoltScript(graph=graph, login=("ada", PASSWORD), **faults)
        self._server, self._home, self._more = BoltServer(self.script), home, more

    def __enter__(self) -> "Port":
        configure(self._home, self._server.__enter__().uri, self._more)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    def writes(self) -> list[dict[str, Any]]:
        return [given for query, given in self.script.queries if "SET" in query]


def read(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "port")


def properties(graph: ServedGraph) -> dict[str, dict[str, Any]]:
    return {
        key: {k: v for k, v in one.properties.items() if k.startswith("graphrag_")}
        for key, one in graph.nodes.items()
    }


def expected(level: int = 1, *, summaries: bool = True) -> dict[str, dict[str, Any]]:
    """What each node is to have, by what the tables say."""
    names = {name: f"4:{n}" for n, name in enumerate(PEOPLE)} | {HOSTILE: "4:9"}
    ids = {key: names[name] for key, name in read(tables.ENTITIES).select("entity_id", "name").iter_rows()}
    reports = dict(read(tables.COMMUNITY_REPORTS).select("report_id", "summary").iter_rows())
    found: dict[str, dict[str, Any]] = {key: {} for key in names.values()}
    for at, entity, community in (
        read(tables.COMMUNITY_LEVELS).sort("level").select("level", "entity_id", "community_id").iter_rows()
    ):
        node = found[ids[entity]]
        node.setdefault("graphrag_communities", []).append(community)
        if at == level:
            node["graphrag_community"] = community
            if summaries:
                node["graphrag_summary"] = reports[community]
    for entity, community in read(CONTEXT_NODES).select("entity_id", "community_id").unique().iter_rows():
        found[ids[entity]]["graphrag_context_of"] = [community]
    return found


def without_stamp(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {key: {k: v for k, v in one.items() if k != "graphrag_written"} for key, one in found.items()}


def test_nodes_get_communities_summaries_and_what_they_are_context_of_once(port: Path, run: Run) -> None:
    graph = fresh()
    with Port(port, graph, "write_back: {batch: 3}\n") as server:
        code, out, err = run("write-back", "port", "--json")
        assert code == 0, err
        made = json.loads(out)
        assert (made["nodes"], made["written"], made["apart"]) == (7, 7, 1)
        assert [made[one] for one in ("gone", "unknown", "changed", "already")] == [0] * 4
        assert [len(given["rows"]) for given in server.writes()] == [3, 3, 1]
        assert server.script.modes == ["r", "w", "w", "w"]
        first = deepcopy(properties(graph))
        code, out, _ = run("write-back", "port", "--json")
        again = json.loads(out)
        assert (again["written"], again["already"]) == (0, 7)
        assert len(server.writes()) == 3
    assert properties(graph) == first
    assert without_stamp(first) == expected()
    assert {one["graphrag_written"] for one in first.values()} == {made["stamp"]}
    assert sum("graphrag_context_of" in one for one in first.values()) == 1
    assert all(one.properties["name"] for one in graph.nodes.values())
    assert all(HOSTILE not in query for query, _ in server.script.queries)


def test_another_level_without_summaries_takes_the_old_ones_away(port: Path) -> None:
    graph = fresh()
    with Port(port, graph):
        write_back("port")
    with Port(port, graph, "write_back: {summaries: false}\n"):
        made = write_back("port", level=2)
        assert made.written == 7
        with pytest.raises(ExportError, match="levels C0 to C3, but no C7"):
            write_back("port", level=7)
    assert without_stamp(properties(graph)) == expected(2, summaries=False)


@pytest.mark.parametrize("drops_at", [3, "commit"])
def test_what_was_interrupted_tells_how_far_it_went_and_goes_on(
    port: Path, drops_at: int | str, run: Run
) -> None:
    graph, settings = fresh(), "write_back: {batch: 3}\n"
    done = 0 if drops_at == "commit" else 3
    with Port(port, graph, settings, drops_at=drops_at):
        code, out, err = run("write-back", "port")
    assert code == 1
    assert "closed the connection" in err
    assert f"{done} of 7 nodes were done and stay so: run it again" in " ".join(err.split())
    assert PASSWORD not in out + err
    assert sum(bool(one) for one in properties(graph).values()) == done
    with Port(port, graph, settings) as server:
        made = write_back("port")
        assert (made.written, made.already) == (7 - done, done)
        assert sum(len(given["rows"]) for given in server.writes()) == 7 - done
    assert without_stamp(properties(graph)) == expected()


def test_a_dry_run_reads_only_and_says_the_same(port: Path, run: Run) -> None:
    graph = fresh()
    with Port(port, graph) as server:
        code, out, err = run("write-back", "port", "--dry-run")
        assert code == 0, err
        assert "7 nodes of 7 would be written" in out
        assert server.script.modes == ["r"]
        assert not any(properties(graph).values())
        write_back("port")
        assert remove_properties("port", dry_run=True).nodes == 7
        assert all(properties(graph).values())


def test_all_of_ours_is_taken_away_and_nothing_else(port: Path, run: Run) -> None:
    graph, before = fresh(), fresh()
    graph.nodes["4:0"].properties["graphrag_notes"] = before.nodes["4:0"].properties["graphrag_notes"] = (
        "mine"
    )
    with Port(port, graph, "write_back: {batch: 4}\n") as server:
        write_back("port")
        code, out, err = run("write-back", "port", "--remove")
        assert code == 0, err
        assert "from 7 nodes" in out
        assert len(server.writes()) == 4
        assert remove_properties("port").nodes == 0
    assert graph.nodes == before.nodes


def test_a_graph_that_changed_is_counted_and_said(port: Path, run: Run) -> None:
    graph = fresh()
    with Port(port, graph):
        write_back("port")
    stale = deepcopy(graph.nodes["4:1"])
    del graph.nodes["4:1"]
    graph.nodes["4:2"].labels = ["Ship"]
    graph.nodes["4:20"] = ServedNode(["Person"], {"name": "New"})
    graph.nodes["4:21"] = stale
    with Port(port, graph, "write_back: {level: 2}\n"):
        code, out, err = run("write-back", "port")
        assert code == 0, err
    for line in (
        "5 nodes of 7 written",
        "1 node of the corpus missing on the server",
        "1 node skipped: label changed",
        "2 nodes on the server not in the corpus",
        "2 nodes cleared",
        "graphrag-dagster index port --again",
    ):
        assert line in out
    found = properties(graph)
    assert [found[one] for one in ("4:2", "4:20", "4:21")] == [{}] * 3


def test_what_others_wrote_is_left_to_them(port: Path) -> None:
    graph = fresh()
    graph.nodes["4:3"].properties["graphrag_community"] = "a county"
    with Port(port, graph) as server:
        with pytest.raises(
            ExportError, match="1 node has properties of these names.*another write_back.prefix"
        ):
            write_back("port")
        assert server.writes() == []
    with Port(port, graph, "write_back: {prefix: leiden_}\n"):
        made = write_back("port")
        assert made.properties[0] == "leiden_community"
        graph.nodes["4:0"].properties["leiden_written"] = "harbour/1/C1"
        with pytest.raises(ExportError, match="what corpus 'harbour' wrote.*write-back harbour --remove"):
            write_back("port", level=0)
    assert graph.nodes["4:3"].properties["graphrag_community"] == "a county"


@pytest.mark.parametrize("prefix", ["", "a b", "9x", "x`]) DELETE n //", "x.y"])
def test_a_prefix_is_an_identifier(prefix: str) -> None:
    with pytest.raises(SettingsError, match="write_back.prefix"):
        parse_settings({"write_back": {"prefix": prefix}}, "corpus.yaml")


def test_a_refused_login_and_a_refused_query_are_told_without_the_password(port: Path, run: Run) -> None:
    with Port(port, fresh()) as server:
        server.script.login = ("ada", "another")
        with pytest.raises(EndpointError, match="rejects the login") as raised:
            write_back("port")
    assert PASSWORD not in str(raised.value)
    with Port(port, fresh(), fails=("Neo.ClientError.Security.Forbidden", f"no rights for {PASSWORD}")):
        code, out, err = run("write-back", "port")
    assert code == 1
    assert "no rights for ***" in out + err
    with pytest.raises(EndpointDown):
        write_back("port")


def test_what_was_written_back_is_not_taken_in_again(port: Path) -> None:
    graph, of = fresh(), (IMPORTED_ENTITIES, IMPORTED_FILES, IMPORT_ACCOUNT)
    with Port(port, graph):
        import_graphs(CorpusStore(), Warehouse(), "port")
        before = [read(table) for table in of]
        write_back("port")
        assert all(properties(graph).values())
        import_graphs(CorpusStore(), Warehouse(), "port")
    for table, rows in zip(of, before, strict=True):
        assert read(table).equals(rows)


def test_nodes_are_found_by_a_property_where_the_query_gives_another_key(port: Path) -> None:
    graph = fresh()
    nodes = {f"9:{key}": one for key, one in graph.nodes.items()}
    for key, one in nodes.items():
        one.properties["number"] = key.removeprefix("9:")
    moved = ServedGraph(nodes, [])
    with Port(port, moved), pytest.raises(ExportError, match="no node of the server.*write_back.key"):
        write_back("port")
    with Port(port, moved, "write_back: {key: number, label: Person}\n") as server:
        assert write_back("port").written == 7
        assert server.script.queries[0][0].startswith("MATCH (n:`Person`) WHERE n.`number` IS NOT NULL")
    found = {key.removeprefix("9:"): one for key, one in properties(moved).items()}
    assert without_stamp(found) == expected()


def test_an_exported_corpus_of_documents_is_written_to_the_nodes_of_its_export(coast: Path, run: Run) -> None:
    code, _, err = run("write-back", "coast")
    assert code == 1
    assert "write_back: {uri:" in err
    entities = Warehouse().read(tables.ENTITIES, "coast").select("entity_id", "title").rows()
    nodes = {f"4:{n}": ServedNode(["Entity"], {"id": i, "title": t}) for n, (i, t) in enumerate(entities)}
    nodes["4:x"] = ServedNode(["Document"], {"id": "d"})
    graph = ServedGraph(nodes, [])
    with BoltServer(BoltScript(graph=graph)) as server:
        settings = f"write_back: {{uri: '{server.uri}', level: 0}}\n"
        (coast / "corpus.yaml").write_text(settings, "utf-8")
        made = write_back("coast")
    assert (made.nodes, made.written, made.unknown) == (len(entities), len(entities), 0)
    levels = Warehouse().read(tables.COMMUNITY_LEVELS, "coast").filter(level=0)
    placed = dict(levels.select("entity_id", "community_id").iter_rows())
    for node in graph.nodes.values():
        assert node.properties.get("graphrag_community") == placed.get(node.properties["id"])
    assert "graphrag_written" not in graph.nodes["4:x"].properties


def test_an_exported_graph_is_found_by_the_keys_of_its_export(port: Path) -> None:
    """A graph of files that was loaded into a server by its export."""
    folder = port / "corpora" / "port"
    with BoltServer(BoltScript(graph=fresh())) as server:
        configure(port, server.uri)
        import_graphs(CorpusStore(), Warehouse(), "port")
    publish(Warehouse(), "port", SnapshotProvenance(settings=parse_settings({"kind": "graph"}, "test")))
    graph = fresh()
    for key, node in graph.nodes.items():
        node.labels, node.properties["id"] = ["Entity", "Person"], key
    moved = ServedGraph({f"7:{n}": node for n, node in enumerate(graph.nodes.values())}, [])
    with BoltServer(BoltScript(graph=moved)) as server:
        (folder / "corpus.yaml").write_text(f"kind: graph\nwrite_back: {{uri: '{server.uri}'}}\n", "utf-8")
        assert write_back("port").written == 7
    found = {node.properties["id"]: properties(moved)[key] for key, node in moved.nodes.items()}
    assert without_stamp(found) == expected()
