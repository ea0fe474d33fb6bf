"""Makes a graph file of Parquet files; a program of its own, see ``making``.

It reads from standard input, as JSON, the name of the file and the statements to run over it, and writes
nothing but the error that ends it. The engine is native code with an allocator of its own, which is not for
the process of who asks.
"""

import json
import sys

import ladybug


def main() -> int:
    """Run the statements; returns the exit status."""
    request = json.load(sys.stdin)
    try:
        with (
            ladybug.Database(request["file"], buffer_pool_size=request["bytes"]) as database,
            ladybug.Connection(database) as connection,
        ):
            for statement in request["statements"]:
                connection.execute(statement)
    except (RuntimeError, MemoryError) as error:
        sys.stdout.write(f"{type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
