"""Ten thousand queries: none writes, none ends the process or takes it for ever, none reads a file."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphrag_dagster.apps.cypher import cypher_process
from graphrag_dagster.apps.cypher.embedded_graph import graph_of
from graphrag_dagster.apps.cypher.language.guard import guard_query
from graphrag_dagster.errors import QueryError
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.cypher_queries import REFUSED
from support.fuzzed_cypher import fuzzed

#: As the program runs one query, it runs many here: a process each would take an hour.
_MANY = """
import json, sys, time
from graphrag_dagster.apps.cypher import cypher_process as program
import ladybug
request = json.load(sys.stdin)
database = ladybug.Database(request["file"], read_only=True, buffer_pool_size=1 << 28, max_db_size=1 << 30)
connection = ladybug.Connection(database)
connection.set_query_timeout(300)
program._set_limits(500, 400_000_000)
ran, longest = 0, 0.0
for text, parameters in request["queries"]:
    begun = time.perf_counter()
    try:
        found = connection.execute(text, parameters)
        while found.has_next():
            assert "root:" not in json.dumps(program._plain(found.get_next()), default=str)
        ran += 1
    except (RuntimeError, ValueError, MemoryError):
        pass
    longest = max(longest, time.perf_counter() - begun)
print(json.dumps([ran, longest]))
"""


def _passed(queries: list[str]) -> list[tuple[str, dict[str, object]]]:
    passed = []
    for query in queries:
        try:
            one = guard_query(query, {"p": 1})
        except QueryError:
            continue
        passed.append((one.text, dict(one.parameters)))
    return passed


@pytest.mark.parametrize("number", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_fuzzed_queries_do_no_harm(number: int, coast: Path, tmp_path: Path) -> None:
    file = graph_of(Warehouse(), "coast")
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    there = sorted(path.name for path in file.parent.iterdir())
    passed = _passed(list(fuzzed(number, seed=11)))
    assert number // 10 < len(passed) < number * 9 // 10
    work = tmp_path / "work"
    work.mkdir()
    ended = subprocess.run(
        [sys.executable, "-P", "-c", _MANY],
        input=json.dumps({"file": str(file), "queries": passed}),
        capture_output=True,
        text=True,
        cwd=work,
        timeout=400,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    ran, _ = json.loads(ended.stdout)
    assert ran > number // 20
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    assert sorted(path.name for path in file.parent.iterdir()) == there
    assert not list(work.iterdir())


def test_the_process_itself_lets_no_attack_write_or_read_a_file(coast: Path, tmp_path: Path) -> None:
    file = graph_of(Warehouse(), "coast")
    before = file.read_bytes()
    slow = ("range(", "repeat(", "\x00", "\ud800")
    attacks = [one for one in REFUSED if not any(part in one for part in slow)]
    (tmp_path / "secret.csv").write_text("root:secret\n", encoding="utf-8")
    attacks += [
        "LOAD FROM 'secret.csv' (header=false) RETURN *",
        "COPY (MATCH (n) RETURN n.title) TO 'out.csv'",
    ]
    request = {"file": str(file), "queries": [(one, {}) for one in attacks]}
    ended = subprocess.run(
        [sys.executable, "-P", "-c", _MANY],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=400,
        check=False,
    )
    assert "secret" not in ended.stdout + ended.stderr
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name != "secret.csv" and path.is_file()] == []


def test_the_program_answers_one_request_and_ends(coast: Path) -> None:
    program = Path(cypher_process.__file__)
    request = {
        "file": str(graph_of(Warehouse(), "coast")),
        "query": "MATCH (a:Entity) RETURN a.title, 1.0 / 0.0, CAST(null AS STRING), a",
        "parameters": {},
        "rows": 2,
        "seconds": 5,
        "megabytes": 500,
    }
    ended = subprocess.run(
        [sys.executable, "-P", str(program)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
    )
    columns, *rows = map(json.loads, ended.stdout.splitlines())
    assert columns[0] == "a.title"
    assert len(rows) == 2
    assert rows[0][1:3] == ["inf", None]
    assert rows[0][3]["label"] == "Entity"
    assert "_ID" not in rows[0][3]
