"""Ten processes write to one new file: nothing is lost, nothing is there twice, nobody is refused."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.llm_cache import Replies
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog

PROCESSES, REPLIES = 10, 200

WRITER = f"""
import sys, time
from pathlib import Path
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.llm_cache import Replies, User
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog

path, number, start = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
Path(f"{{start}}.{{number}}").touch()
while not start.exists():
    time.sleep(0.001)
database = Database(path)
replies, log = Replies(database), UsageLog(database)
user = User("c", "a", "r1")
for n in range({REPLIES}):
    name = f"shared {{n}}" if n % 2 else f"{{number}} {{n}}"
    key = name.encode().ljust(32, b"-")
    log.add(user, "extract", "m", ModelUse(calls=1, input_tokens=n, usd=0.25))
    replies.keep(key, "extract", "m", ChatReply(name * 20, "stop", n, 1), 0.1, user)
    replies.touch([key], User("c", f"a{{number}}", "r1"))
    found = replies.cached_reply_for_display(key)
    assert found is not None and found.text == name * 20
"""


def test_ten_processes_write_to_one_new_file(tmp_path: Path) -> None:
    path, start = tmp_path / "m.db", tmp_path / "start"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(number), str(start)], stderr=subprocess.PIPE
        )
        for number in range(PROCESSES)
    ]
    while len(list(tmp_path.glob("start.*"))) < PROCESSES and all(one.poll() is None for one in writers):
        time.sleep(0.01)
    start.touch()
    said = [one.communicate(timeout=60)[1].decode() for one in writers]
    assert said == [""] * PROCESSES
    assert [one.returncode for one in writers] == [0] * PROCESSES
    database = Database(path)
    used = UsageLog(database).of_run("c", "r1")
    assert used.calls == PROCESSES * REPLIES
    assert used.input_tokens == PROCESSES * sum(range(REPLIES))
    assert used.usd == 0.25 * PROCESSES * REPLIES
    _check(database)
    database.close()


def _check(database: Database) -> None:
    half = REPLIES // 2
    with database.reading() as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        assert connection.execute("select count(*) from replies").fetchone() == (half * PROCESSES + half,)
        by_asset: dict[str, Any] = dict(
            connection.execute("select asset, count(*) from uses group by asset").fetchall()
        )
    assert by_asset == {"a": half * PROCESSES + half, **{f"a{n}": REPLIES for n in range(PROCESSES)}}
    reply = Replies(database).cached_reply_for_display(b"shared 1".ljust(32, b"-"))
    assert reply is not None
    assert reply.text == "shared 1" * 20


def test_many_open_a_new_file_at_the_same_moment(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def open_all(_: int) -> None:
        for number in range(25):
            barrier.wait(60)
            try:
                Database(tmp_path / f"{number}.db").close()
            except BaseException:
                barrier.abort()
                raise

    with ThreadPoolExecutor(8) as pool:
        errors = [one.exception() for one in [pool.submit(open_all, n) for n in range(8)]]
    assert [
        error for error in errors if not isinstance(error, (threading.BrokenBarrierError, type(None)))
    ] == []
    assert errors == [None] * 8
