"""Dagster's servers as benchmarks start them."""

import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.request import urlopen

MODULE = "graphrag_dagster.definitions"


def started(
    program: Sequence[str], environment: Mapping[str, str], folder: Path
) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server in a session of its own; gives it, once it answers, with its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [*program, "-h", "127.0.0.1", "-p", str(port), "-m", MODULE],
        env=dict(environment),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    address, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 120
    while True:
        try:
            urlopen(f"{address}/server_info").read()
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                sys.exit(f"{program[0]} does not start")
            time.sleep(0.1)
        else:
            return server, address
