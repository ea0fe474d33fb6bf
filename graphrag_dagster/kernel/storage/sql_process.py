"""Runs one read-only query over a DuckDB file; a separate program, see ``sql_sandbox``.

It reads a JSON request from standard input, and writes one line of JSON for the columns and one per row, or
one for an error. DuckDB neither counts nor interrupts some queries (such as for a text of a gigabyte). So the
process has its own limits, and its parent can kill it.
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
#: Table functions that only use their arguments.
_HARMLESS = {"unnest", "range", "generate_series"}
_ROWS = 500
_MEGABYTE = 1_000_000
#: Megabytes that Python and DuckDB take before a query starts.
_AT_LEAST = 400


def main() -> None:
    """Answer the request."""
    request = json.loads(sys.stdin.read())
    _limit(request["megabytes"], request["seconds"])
    try:
        for line in _run_query(request):
            sys.stdout.write(json.dumps(line, default=str) + "\n")
        sys.stdout.flush()
    except (duckdb.OutOfMemoryException, MemoryError):
        _send("memory", "")
    except duckdb.Error as error:
        _send("query", str(error))
    # A library may raise anything. Report it in one line, because nobody sees a traceback.
    except Exception as error:
        _send("query", f"{type(error).__name__}: {error}")


def _run_query(request: dict[str, Any]) -> Iterator[Any]:
    config = {**_CONFIG, "memory_limit": f"{request['megabytes']}MB", "threads": min(4, os.cpu_count() or 1)}
    connection = duckdb.connect(request["file"], read_only=True, config=config)
    statements = connection.extract_statements(request["query"])
    if len(statements) != 1 or statements[0].type not in _ALLOWED:
        _send("refused", "")
        return
    if request["tables"] is not None and (foreign := _foreign_tables(connection, request)):
        _send("query", f"Only these tables can be read: {', '.join(request['tables'])}; not {foreign}")
        return
    query, parameters = _without_end(request["query"]), request["parameters"]
    rows: Any = connection.sql(query, params=parameters)
    if rows is None:
        _send("refused", "")
        return
    kinds = [str(kind.id) for kind in rows.types]
    numeric = [kind in _NUMBERS or kind == "decimal" for kind in kinds]
    yield [rows.columns, numeric, [kind in _NESTED for kind in kinds]]
    if statements[0].type != duckdb.StatementType.EXPLAIN:
        shown = ", ".join(
            _column(position, kind, request["characters"]) for position, kind in enumerate(kinds, 1)
        )
        # Executed as SQL, the result is streamed instead of materialised.
        rows = connection.execute(f"select {shown} from ({query}\n)", parameters)
    remaining = request["rows"]
    while remaining != 0 and (batch := rows.fetchmany(_ROWS if remaining is None else min(_ROWS, remaining))):
        yield from batch
        remaining = None if remaining is None else remaining - len(batch)


def _without_end(query: str) -> str:
    """Strip the semicolon of a single statement and what follows, which DuckDB 2 keeps within a relation."""
    encoded = query.encode()
    positions = (position for position, _ in duckdb.tokenize(query))
    end = next((position for position in positions if encoded[position : position + 1] == b";"), len(encoded))
    return encoded[:end].decode()


def _foreign_tables(connection: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> str:
    """Return a table that the query reads but must not; blank if there is none."""
    serialised = connection.execute("select json_serialize_sql($1)", [request["query"]]).fetchall()
    plan = json.loads(serialised[0][0] if serialised else "{}")
    # DuckDB can serialise every plain select; any other statement is refused.
    if plan.get("error", True):
        return str(plan.get("error_message", "a statement of another kind"))
    nodes = list(_nodes(plan))
    ctes = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    allowed = ctes.union(request["tables"])
    return next((table for table in map(_read, nodes) if table and table not in allowed), "")


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(child)


def _read(node: dict[str, Any]) -> str:
    """Return the table or function that a node reads; blank if it reads none, or only values."""
    match node.get("type"):
        case "BASE_TABLE":
            return ".".join(filter(None, (node["schema_name"], node["table_name"]))).lower()
        case "TABLE_FUNCTION":
            name = str(node["function"]["function_name"])
            return "" if name in _HARMLESS else name
        case "SHOW_REF":
            return "the list of tables"
    return ""


def _column(position: int, kind: str, characters: int | None) -> str:
    """Return a column as SQL: as a value if JSON has a form for it, else as a text."""
    if kind in _NUMBERS or kind == "boolean":
        # A float by its own digits, not by those of the nearest double.
        return f"#{position}{'::varchar::double' if kind == 'float' else ''} as c{position}"
    text = f"to_json(#{position})::varchar" if kind in _NESTED else f"#{position}::varchar"
    return f"left({text}, {characters}) as c{position}" if characters else f"{text} as c{position}"


def _send(kind: str, text: str) -> None:
    sys.stdout.write(json.dumps({"error": kind, "text": text}) + "\n")
    sys.stdout.flush()


def _limit(megabytes: int, seconds: float) -> None:
    try:
        import resource

        # The parent process may be gone.
        signal.alarm(math.ceil(seconds) + 5)

        most = (megabytes + _AT_LEAST) * _MEGABYTE
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, AttributeError, ValueError, OSError):
        # Without such limits, DuckDB's own memory limit applies.
        return


if __name__ == "__main__":
    main()
