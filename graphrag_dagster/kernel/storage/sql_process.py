"""Runs one read-only query over a DuckDB file; a separate program, see ``sql_sandbox``.

It reads a request as JSON from standard input, and writes one line of JSON for the columns and one for each
row, or one that names the error. Some of what a query can ask for (a text of a gigabyte) DuckDB neither
counts as memory nor interrupts: so the process has limits of its own, and whoever started it can kill it.
"""

import json
import math
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import duckdb

_CONFIG: dict[str, Any] = {
    "python_enable_replacements": False,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",
    "lock_configuration": True,
}
_ALLOWED = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
_INTEGERS = {"tinyint", "smallint", "integer", "bigint", "hugeint"}
_NUMBERS = _INTEGERS | {f"u{name}" for name in _INTEGERS} | {"float", "double"}
_NESTED = {"list", "array", "struct", "map", "union", "variant"}
#: Functions that give a table of their arguments alone.
_HARMLESS = {"unnest", "range", "generate_series"}
_ROWS = 500
_MEGABYTE = 1_000_000
#: What Python and DuckDB take before a query begins.
_AT_LEAST = 400


def main() -> None:
    """Answer the request."""
    request = json.loads(sys.stdin.read())
    _limit(request["megabytes"], request["seconds"])
    try:
        for line in _answered(request):
            sys.stdout.write(json.dumps(line, default=str) + "\n")
        sys.stdout.flush()
    except (duckdb.OutOfMemoryException, MemoryError):
        _tell("memory", "")
    except duckdb.Error as error:
        _tell("query", str(error))
    # Whatever a library makes of a value: the user is told in a line, not by a traceback that nobody reads.
    except Exception as error:
        _tell("query", f"{type(error).__name__}: {error}")


def _answered(request: dict[str, Any]) -> Iterator[Any]:
    config = {**_CONFIG, "memory_limit": f"{request['megabytes']}MB", "threads": min(4, os.cpu_count() or 1)}
    connection = duckdb.connect(request["file"], read_only=True, config=config)
    statements = connection.extract_statements(request["query"])
    if len(statements) != 1 or statements[0].type not in _ALLOWED:
        _tell("refused", "")
        return
    if request["tables"] is not None and (foreign := _foreign(connection, request)):
        _tell("query", f"Only these tables can be read: {', '.join(request['tables'])}; not {foreign}")
        return
    if request["parameters"] is not None:
        yield from _with_parameters(connection, statements[0], request)
        return
    found: Any = connection.sql(_without_end(request["query"]))
    if found is None:
        _tell("refused", "")
        return
    kinds = [str(kind.id) for kind in found.types]
    numeric = [kind in _NUMBERS or kind == "decimal" for kind in kinds]
    yield [found.columns, numeric, [request["values"] and kind in _NESTED for kind in kinds]]
    if statements[0].type == duckdb.StatementType.EXPLAIN:
        rows: Any = connection.execute(statements[0])
    else:
        # As SQL again, it comes in pieces instead of being held as a whole.
        shown = ", ".join(_shown(request, place, kind) for place, kind in enumerate(kinds, start=1))
        rows = connection.execute(found.project(shown).sql_query())
    left = request["rows"]
    while left != 0 and (some := rows.fetchmany(_ROWS if left is None else min(_ROWS, left))):
        yield from some
        left = None if left is None else left - len(some)


def _without_end(query: str) -> str:
    """A single statement without its semicolon and what follows, which DuckDB 2 keeps within a relation."""
    encoded = query.encode()
    places = (place for place, _ in duckdb.tokenize(query))
    end = next((place for place in places if encoded[place : place + 1] == b";"), len(encoded))
    return encoded[:end].decode()


def _with_parameters(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement, request: dict[str, Any]
) -> Iterator[Any]:
    """The columns and rows of a statement with parameters, values as JSON has a form for them."""
    found = connection.execute(statement, request["parameters"])
    kinds = [str(column[1]).lower() for column in found.description]
    yield [
        [column[0] for column in found.description],
        [kind in _NUMBERS or kind.startswith("decimal") for kind in kinds],
        [False] * len(kinds),
    ]
    for row in found.fetchmany(request["rows"]):
        yield [value[: request["characters"]] if isinstance(value, str) else value for value in row]


def _foreign(connection: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> str:
    """Tables that a query reads but may not; empty if there are none."""
    found = connection.execute("select json_serialize_sql($1)", [request["query"]]).fetchall()
    told = json.loads(found[0][0] if found else "{}")
    # DuckDB can tell of every plain select how it reads it; what it cannot tell of is not run.
    if told.get("error", True):
        return str(told.get("error_message", "a statement of another kind"))
    nodes = list(_nodes(told))
    named = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    allowed = named.union(request["tables"])
    return next((one for one in map(_read, nodes) if one and one not in allowed), "")


def _nodes(told: Any) -> Iterator[dict[str, Any]]:
    if isinstance(told, dict):
        yield told
    for one in told.values() if isinstance(told, dict) else told if isinstance(told, list) else ():
        yield from _nodes(one)


def _read(node: dict[str, Any]) -> str:
    """The table or function that a part of a query reads; empty where it reads none, or values alone."""
    match node.get("type"):
        case "BASE_TABLE":
            return ".".join(filter(None, (node["schema_name"], node["table_name"]))).lower()
        case "TABLE_FUNCTION":
            name = str(node["function"]["function_name"])
            return "" if name in _HARMLESS else name
        case "SHOW_REF":
            return "the list of tables"
    return ""


def _shown(request: dict[str, Any], place: int, kind: str) -> str:
    """A column as it is told: a text, or where values are wanted what JSON has a form for."""
    if request["values"] and (kind in _NUMBERS or kind == "boolean"):
        return f"#{place} as c{place}"
    text = f"to_json(#{place})::varchar" if request["values"] and kind in _NESTED else f"#{place}::varchar"
    return (
        f"left({text}, {request['characters']}) as c{place}"
        if request["characters"]
        else f"{text} as c{place}"
    )


def _tell(kind: str, text: str) -> None:
    sys.stdout.write(json.dumps({"error": kind, "text": text}) + "\n")
    sys.stdout.flush()


def _limit(megabytes: int, seconds: float) -> None:
    try:
        import resource

        # Whoever started this may be gone.
        signal.alarm(math.ceil(seconds) + 5)

        most = (megabytes + _AT_LEAST) * _MEGABYTE
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, AttributeError, ValueError, OSError):
        # Where there are no such limits, DuckDB's own holds for what it counts.
        return


if __name__ == "__main__":
    main()
