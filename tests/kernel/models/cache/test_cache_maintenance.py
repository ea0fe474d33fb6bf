"""Pruning leaves no trace, export loses nothing, and a file that cannot be used is told."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrag_dagster.kernel.models.cache.cache_database import Database, database_at
from graphrag_dagster.kernel.models.cache.cache_maintenance import CacheMaintenance, Pruned
from graphrag_dagster.kernel.models.cache.cache_schema import CacheFileError
from graphrag_dagster.kernel.models.cache.llm_cache import User
from graphrag_dagster.kernel.models.cache.usage_account import UsageAccount, UsageLog
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply
from graphrag_dagster.kernel.models.model_costs import ModelUse
from support.disks import files_of_at_most


def key(name: str) -> bytes:
    return name.encode().ljust(32, b"-")


def secret(name: str) -> str:
    return f"the secret of {name} " * 40


def keep(memory: Any, name: str, user: User) -> None:
    memory.replies.keep(key(name), "extract", "m", ChatReply(secret(name), "stop", 10, 5), 0.5, user)


def finish(account: UsageAccount) -> None:
    account.book("extract", "m", ModelUse(calls=1))
    account.finish()


def raw(path: Path) -> bytes:
    """All bytes of the file and of those beside it."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.glob(path.name + "*")))


def kept(memory: Any) -> set[str]:
    return {json.loads(line)["text"].split()[3] for line in memory.maintenance.export()}


def test_what_the_last_finished_run_did_not_use_goes_without_a_trace(memory: Any) -> None:
    first, second = User("c", "a", "r1"), User("c", "a", "r2")
    account = memory.account("c", "a", "r1")
    for name in ("stale", "both", "shared"):
        keep(memory, name, first)
    memory.replies.keep_vectors("e", {key("vector"): np.full(4, 0.123456789, np.float32)}, 4, first)
    finish(account)
    assert memory.maintenance.prune("c") == Pruned(0, 0, 4)
    memory.replies.touch([key("shared")], User("d", "a", "r9"))
    account = memory.account("c", "a", "r2")
    for name in ("both", "fresh"):
        keep(memory, name, second)
    finish(account)
    assert secret("stale").encode() in raw(memory.path)
    assert memory.maintenance.prune("c") == Pruned(replies=1, vectors=1, kept=2)
    assert kept(memory) == {"both", "shared", "fresh"}
    left = raw(memory.path)
    assert b"secret of stale" not in left
    assert np.float32(0.123456789).tobytes() not in left
    assert b"secret of both" in left


def test_an_asset_of_another_name_keeps_what_it_used(memory: Any) -> None:
    accounts = [memory.account("c", asset, "r1") for asset in "ab"]
    keep(memory, "one", User("c", "a", "r1"))
    keep(memory, "one", User("c", "b", "r1"))
    keep(memory, "two", User("c", "b", "r1"))
    for account in accounts:
        finish(account)
    finish(memory.account("c", "a", "r2"))
    assert memory.maintenance.prune("c") == Pruned(replies=0, vectors=0, kept=2)


def test_a_run_that_did_not_finish_makes_nothing_stale(memory: Any) -> None:
    account = memory.account("c", "a", "r1")
    keep(memory, "one", User("c", "a", "r1"))
    keep(memory, "two", User("c", "a", "r1"))
    finish(account)
    memory.replies.touch([key("one")], User("c", "a", "r2"))
    assert memory.maintenance.prune("c") == Pruned(replies=0, vectors=0, kept=2)
    assert kept(memory) == {"one", "two"}


def test_answers_to_questions_go(memory: Any) -> None:
    keep(memory, "answer", User("c", "question", "q1"))
    memory.account("c", "question", "q1").book("answer", "m", ModelUse(calls=1))
    assert memory.maintenance.prune("c").replies == 1
    assert b"secret of answer" not in raw(memory.path)


def test_everything_of_a_corpus_goes_and_others_stay(memory: Any) -> None:
    for corpus in "cd":
        keep(memory, f"own-{corpus}", User(corpus, "a", "r1"))
        keep(memory, "common", User(corpus, "a", "r1"))
        finish(memory.account(corpus, "a", "r1"))
    # As an earlier version left it.
    memory.database.write(
        lambda connection: connection.execute("create table reservations as select 'own-c' as corpus")
    )
    assert memory.maintenance.prune("c", everything=True) == Pruned(replies=1, vectors=0, kept=0)
    assert kept(memory) == {"own-d", "common"}
    assert b"own-c" not in raw(memory.path)
    assert memory.log.table("c").height == 0
    assert memory.log.table("d").height == 1
    assert memory.maintenance.prune("d", everything=True) == Pruned(replies=2, vectors=0, kept=0)
    assert b"secret of" not in raw(memory.path)
    tables = ("replies", "uses", "finished", "usage")
    assert [memory.count(table) for table in tables] == [0] * 4


def test_pruning_leaves_no_trace_while_others_have_the_file_open(memory: Any) -> None:
    other = Database(memory.path)
    keep(memory, "stale", User("c", "a", "r1"))
    with other.reading() as connection:
        assert connection.execute("select count(*) from replies").fetchone() == (1,)
    memory.maintenance.prune("c", everything=True)
    assert b"secret of stale" not in raw(memory.path)
    other.close()


def test_pruning_tells_where_a_reader_keeps_it_from_clearing_the_log(memory: Any) -> None:
    keep(memory, "stale", User("c", "a", "r1"))
    with memory.database.reading() as connection:
        connection.execute("pragma busy_timeout = 50")
    reader = sqlite3.connect(memory.path, isolation_level=None)
    reader.execute("begin")
    assert reader.execute("select count(*) from replies").fetchone() == (1,)
    with pytest.raises(CacheFileError, match="prune again"):
        memory.maintenance.prune("c", everything=True)
    reader.execute("rollback")
    reader.close()
    memory.maintenance.prune("c", everything=True)
    assert b"secret of stale" not in raw(memory.path)


def test_every_reply_is_exported_with_who_uses_it(memory: Any) -> None:
    odd = 'naïve 北京 \u2028 "quoted"\n\U0001f600'
    memory.replies.keep(
        key("odd"), "report", "m", ChatReply(odd, "stop", 7, 3, "in halves", 2), 0.25, User("c", "b", "r1")
    )
    for corpus in "dc":
        keep(memory, "common", User(corpus, "a", "r1"))
    lines = [json.loads(line) for line in memory.maintenance.export()]
    assert [line["task"] for line in lines] == ["extract", "report"]
    assert [line["used_by"] for line in lines] == [["c/a", "d/a"], ["c/b"]]
    shown = lines[1]
    assert (shown["text"], shown["note"], shown["key"]) == (odd, "in halves", key("odd").hex())
    assert (shown["input_tokens"], shown["cached_input_tokens"], shown["output_tokens"]) == (7, 2, 3)
    assert [json.loads(line)["key"] for line in memory.maintenance.export("d")] == [key("common").hex()]
    assert list(memory.maintenance.export("nobody")) == []


def test_the_statistics_add_up(memory: Any) -> None:
    for name in ("one", "two"):
        keep(memory, name, User("c", "a", "r1"))
    memory.replies.keep_vectors("e", {key("v"): np.ones(4, np.float32)}, 4, User("c", "b", "r1"))
    stats = memory.maintenance.stats()
    size = 2 * len(secret("one"))
    [replies] = stats["replies"]
    assert (replies["replies"], replies["input_tokens"], replies["bytes"]) == (2, 20, size)
    assert stats["vectors"] == [{"model": "e", "vectors": 1, "tokens": 4.0}]
    assert [(use["asset"], use["replies"]) for use in stats["uses"]] == [("a", 2), ("b", 1)]
    assert stats["bytes"] == memory.path.stat().st_size


@pytest.mark.parametrize("version", [1, 99])
def test_a_file_of_another_format_is_refused_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    path = tmp_path / "m.db"
    Database(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"pragma user_version = {version}")
    connection.close()
    for _ in range(2):
        with pytest.raises(
            CacheFileError, match=rf"m\.db has format {version}.*install the version that made it"
        ):
            database_at(path)


@pytest.mark.parametrize("content", [b"this is no database, but a text" * 99, b"PAR1" + bytes(4096)])
def test_what_is_no_database_is_told_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.db"
    path.write_bytes(content)
    with pytest.raises(CacheFileError, match=r"m\.db cannot be used.*not a database; move it away"):
        Database(path)
    assert path.read_bytes() == content


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "m.db").mkdir()
    with pytest.raises(CacheFileError, match=r"m\.db cannot be used"):
        Database(tmp_path / "m.db")
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheFileError, match="file"):
        Database(tmp_path / "file" / "m.db")


def test_a_database_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    connection = sqlite3.connect(path)
    connection.execute("create table recipes (name text)")
    connection.commit()
    connection.close()
    with pytest.raises(CacheFileError, match="another program"):
        Database(path)
    connection = sqlite3.connect(path)
    assert connection.execute("select name from sqlite_master").fetchall() == [("recipes",)]
    connection.close()


def test_a_process_has_one_connection_and_a_deleted_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "m.db"
    first = database_at(path)
    assert database_at(path) is first
    for one in path.parent.glob("m.db*"):
        one.unlink()
    second = database_at(path)
    assert second is not first
    assert CacheMaintenance(second).stats()["replies"] == []
    second.close()


def test_what_a_file_holds_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    path, user = tmp_path / "m.db", User("c", "a", "r")
    first = Database(path)
    UsageLog(first).add(user, "extract", "m", ModelUse(calls=3, seconds=1.5))
    first.close()
    later = Database(path)
    log = UsageLog(later)
    assert log.of_run("c", "r") == ModelUse(calls=3, seconds=1.5)
    log.add(user, "extract", "m", ModelUse(retries=1, timeouts=1))
    assert log.of_run("c", "r") == ModelUse(calls=3, retries=1, timeouts=1, seconds=1.5)
    later.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_forked_process_does_not_use_the_connection_it_inherits(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from graphrag_dagster.kernel.models.cache.cache_database import database_at
path = Path(sys.argv[1])
first = database_at(path)
child = os.fork()
if not child:
    os._exit(0 if database_at(path) is not first and database_at(path) is database_at(path) else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "m.db")], check=False).returncode == 0


def test_what_fails_half_way_leaves_nothing(memory: Any) -> None:
    def fail(connection: Any) -> None:
        connection.execute("insert into uses values (x'00', 'c', 'a', 'r', 0)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        memory.database.write(fail)
    assert memory.count("uses") == 0
    keep(memory, "one", User("c", "a", "r1"))
    assert memory.count("uses") == 1


def test_a_full_disk_is_told_and_what_is_remembered_stays(memory: Any) -> None:
    def store(size: int) -> None:
        row = (key(str(size)), "x" * size)
        memory.database.write(
            lambda connection: connection.execute("insert into uses values (?, 'c', ?, 'r', 0)", row)
        )

    store(1)
    with files_of_at_most(300_000), pytest.raises(CacheFileError, match=r"replies\.db cannot be written"):
        store(1_000_000)
    assert memory.count("uses") == 1
    store(1_000_000)
    assert memory.count("uses") == 2
