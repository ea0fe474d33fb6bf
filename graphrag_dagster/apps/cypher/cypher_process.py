"""Runs one query over a property graph that is only read; a program of its own, see ``cypher_sandbox``.

It reads a request as JSON from standard input, and writes one line of JSON for the columns and one for each
row, or one that names the error. The guard has read the query before; what holds here holds even if it had
not: once the graph is open, the process opens no file, writes none, and gets no more memory than it may.
"""

# Loaded by the engine when a value needs them, which is too late for a process that opens no file any more.
import datetime  # noqa: F401
import decimal
import json
import math
import os
import signal
import sys
import uuid  # noqa: F401
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import ladybug

_MEGABYTE = 1_000_000
#: Of the memory, what pages of the graph may take; the rest is for everything else.
_PAGES = 0.6
#: The engine reserves addresses for a graph that grows; none does here.
_LEAST_ADDRESSES = 30
_LONGEST_TEXT, _LONGEST_LIST = 10_000, 1_000


def main() -> None:
    """Answer the request."""
    request = json.loads(sys.stdin.read())
    try:
        for line in _run_query(request):
            sys.stdout.write(json.dumps(line, default=str) + "\n")
        sys.stdout.flush()
    except MemoryError:
        _send("memory", "")
    # Whatever the engine makes of a query: the user is told in a line, not by a traceback that nobody reads.
    except Exception as error:
        text = str(error)
        kind = "memory" if "bad_alloc" in text or "Buffer manager" in text else "query"
        _send("late" if text == "Interrupted." else kind, text)


def _run_query(request: dict[str, Any]) -> Iterator[Any]:
    file, most = request["file"], request["megabytes"] * _MEGABYTE
    addresses = max(_LEAST_ADDRESSES, (2 * Path(file).stat().st_size).bit_length())
    database = ladybug.Database(
        file,
        read_only=True,
        buffer_pool_size=int(most * _PAGES),
        max_db_size=1 << addresses,
        max_num_threads=min(4, os.cpu_count() or 1),
    )
    connection = ladybug.Connection(database)
    connection.set_query_timeout(math.ceil(request["seconds"] * 1000))
    _set_limits(request["seconds"], int(most * (1 - _PAGES)))
    found = connection.execute(request["query"], request["parameters"])
    if isinstance(found, list):
        raise TypeError("more than one query")
    yield found.get_column_names()
    for _ in range(request["rows"]):
        if not found.has_next():
            return
        yield [_plain(value) for value in found.get_next()]


def _plain(value: Any) -> Any:
    """A value as JSON has a form for it; nodes and relations by label and properties, paths by these."""
    if isinstance(value, str):
        return value[:_LONGEST_TEXT]
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_plain(one) for one in value[:_LONGEST_LIST]]
    if isinstance(value, dict):
        if "_NODES" in value:
            return {"nodes": _plain(value["_NODES"]), "relationships": _plain(value["_RELS"])}
        # A relation over several tables has the properties of all, those of the others as null.
        relation = "_SRC" in value
        named = {"label": value["_LABEL"]} if "_LABEL" in value else {}
        own = {k: _plain(v) for k, v in value.items() if k not in {"_ID", "_LABEL", "_SRC", "_DST"}}
        return {**named, **{k: v for k, v in own.items() if v is not None or not relation}}
    return value


def _send(kind: str, text: str) -> None:
    sys.stdout.write(json.dumps({"error": kind, "text": text}) + "\n")
    sys.stdout.flush()


def _set_limits(seconds: float, more: int) -> None:
    """Take what a process may not: files, and more memory than it has now and is given."""
    try:
        import resource

        # Whoever started this may be gone.
        signal.alarm(math.ceil(seconds) + 5)
        for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
            resource.setrlimit(what, (0, 0))
        if held := _bytes_reserved():
            resource.setrlimit(resource.RLIMIT_DATA, (held + more, held + more))
    except (ImportError, AttributeError, ValueError, OSError):
        # Where there are no such limits, the guard and the engine's own hold.
        return


def _bytes_reserved() -> int:
    """Bytes that the process has reserved to write; 0 where the system does not tell."""
    status = ""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmData:")]
    return int(found[0]) * 1024 if found else 0


if __name__ == "__main__":
    main()
