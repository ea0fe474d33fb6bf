"""What calls have to write stands in the file at once."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster.kernel.models.cache.llm_cache import User
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.model_costs import ModelUse

USER = User("c", "a", "r1")
KEY, OTHER = b"k" * 32, b"o" * 32

ENDS_AT_ONCE = """
import sys
from pathlib import Path
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.cache.cache_database import database_at
from graphrag_dagster.kernel.models.cache.llm_cache import User
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog

log = UsageLog(database_at(Path(sys.argv[1])))

async def books():
    log.add(User("c", "a", "r1"), "extract", "m", ModelUse(calls=1))

run_one(books())
"""


def on_the_loop(work: Callable[[], Any]) -> Any:
    async def whole() -> Any:
        return work()

    return run_one(whole())


def book(memory: Any, calls: int = 1) -> None:
    memory.log.add(USER, "extract", "m", ModelUse(calls=calls))


def seen_by_others(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("select coalesce(sum(calls), 0) from usage").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.parametrize("whence", [on_the_loop, lambda work: work()])
def test_what_is_booked_stands_in_the_file(memory: Any, whence: Callable[..., Any]) -> None:
    whence(lambda: book(memory))
    assert seen_by_others(memory.path) == 1


def test_a_reply_is_found_at_once(memory: Any) -> None:
    def look() -> Any:
        memory.replies.keep(KEY, "extract", "m", ChatReply("all"), 0.1, USER)
        return memory.replies.cached_reply_for_display(KEY)

    assert on_the_loop(look) == ChatReply("all")


def test_what_could_not_be_written_is_told_and_harms_nothing_else(memory: Any) -> None:
    trigger = "create trigger no before insert on usage begin select raise(abort, 'no'); end"
    memory.database.write(lambda connection: connection.execute(trigger))
    with pytest.raises(sqlite3.IntegrityError):
        on_the_loop(lambda: book(memory, 1))
    memory.database.backend.connection.execute("drop trigger no")
    on_the_loop(lambda: book(memory, 100))
    assert memory.used().calls == 100


def test_a_process_that_ends_at_once_has_written(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    subprocess.run([sys.executable, "-c", ENDS_AT_ONCE, str(path)], check=True)
    assert seen_by_others(path) == 1
