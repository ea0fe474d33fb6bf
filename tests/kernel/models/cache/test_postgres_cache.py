"""A cache in Postgres: what goes wrong is told with its mend and without the password; copies lose nothing."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cache_maintenance import copy_cache
from graphrag_dagster.kernel.models.cache.cache_schema import CacheFileError
from graphrag_dagster.kernel.models.cache.llm_cache import User
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply
from graphrag_dagster.kernel.models.model_costs import ModelUse
from support.endpoint import ScriptedEndpoint
from support.modelled import write_modelled
from support.postgres_server import PostgresServer

USER = User("c", "a", "r1")


def key(name: str) -> bytes:
    return name.encode().ljust(32, b"-")


def fill(memory: Any, *names: str) -> None:
    for name in names:
        memory.replies.keep(key(name), "extract", "m", ChatReply(f"reply of {name} é"), 0.5, USER)
        memory.log.add(USER, name, "m", ModelUse(calls=2, usd=0.25))
    memory.replies.keep_vectors("e", {key("v"): np.ones(4, np.float32)}, 4, USER)


def test_a_copy_and_its_copy_back_lose_nothing(
    postgres: PostgresServer, memory_at: Callable[[str], Any], tmp_path: Path
) -> None:
    file, far, back = (
        memory_at(place)
        for place in (str(tmp_path / "a.sqlite"), postgres.emptied(), str(tmp_path / "b.sqlite"))
    )
    names = [f"reply {number}" for number in range(1203)]
    fill(file, *names)
    fill(far, names[7])
    counts = copy_cache(file.database, far.database)
    assert (counts["replies"], counts["vectors"]) == ((1202, 1), (0, 1))
    assert (counts["usage"], counts["uses"]) == ((1202, 1), (1202, 2))
    assert set(copy_cache(file.database, far.database).values()) >= {(0, 1203), (0, 1204), (0, 1)}
    copy_cache(far.database, back.database)
    made = list(file.maintenance.export())
    assert [re.sub(r"20\d\d-[^\"]*", "", line) for line in back.maintenance.export()] == [
        re.sub(r"20\d\d-[^\"]*", "", line) for line in made
    ]
    assert back.used() == file.used()
    assert (back.replies.vectors([key("v")], USER)[key("v")] == 1).all()


def test_what_is_written_in_a_thread_is_seen_by_the_next_and_so_is_a_failure(
    postgres: PostgresServer, memory_at: Callable[[str], Any]
) -> None:
    memory = memory_at(postgres.emptied())
    for name in map(str, range(50)):
        fill(memory, name)
    assert (memory.count("replies"), memory.used().calls) == (50, 100)
    memory.database.write_soon(lambda connection: connection.execute("select 1 from nothing"))
    fill(memory, "after")
    with pytest.raises(CacheFileError, match="nothing"):
        memory.count("replies")
    assert memory.count("replies") == 51


def test_erased_text_is_in_no_file_of_the_tables(
    postgres: PostgresServer, memory_at: Callable[[str], Any]
) -> None:
    memory = memory_at(postgres.emptied())
    fill(memory, "secret", "other")
    postgres.run("checkpoint")
    assert b"reply of secret" in postgres.tables()
    memory.maintenance.prune("c", everything=True)
    postgres.run("checkpoint")
    assert b"reply of secret" not in postgres.tables()


@pytest.mark.parametrize("version", [1, 99])
def test_another_format_is_refused(postgres: PostgresServer, version: int) -> None:
    url = postgres.emptied()
    Database(url).close()
    postgres.run(f"update graphrag_dagster_cache.format set version = {version}")
    with pytest.raises(CacheFileError, match=rf"has format {version}.*install the version that made it"):
        Database(url)


def test_the_schema_of_another_program_is_refused(postgres: PostgresServer) -> None:
    url = postgres.emptied()
    postgres.run("create schema graphrag_dagster_cache create table recipes (name text)")
    with pytest.raises(CacheFileError, match="is of another program"):
        Database(url)


def test_a_database_that_is_away_or_refuses_is_told_without_the_password(postgres: PostgresServer) -> None:
    away = f"postgresql://dagster:s3cret@127.0.0.1:1/{postgres.database}"
    wrong = postgres.url.replace("dagster@", "dagster:s3cret@")
    for url, why in (
        (away, "refused"),
        (wrong, "password authentication failed"),
        ("postgres://:s3cret@[", "cannot be understood"),
    ):
        with pytest.raises(CacheFileError, match=why) as raised:
            Database(url)
        assert "s3cret" not in str(raised.value)
        assert raised.value.__cause__ is None
        assert "postgresql://" in str(raised.value)


def test_one_that_goes_away_is_waited_for_and_then_told(
    memory_at: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg")
    server = PostgresServer()
    monkeypatch.setenv("PGPASSWORD", server.password)
    monkeypatch.setattr("graphrag_dagster.kernel.models.cache.postgres_backend.PATIENCE", 0.5)
    memory = memory_at(server.url)
    fill(memory, "before")
    server.close()
    fill(memory, "after")
    with pytest.raises(CacheFileError, match=r"has been away for .*run again"):
        memory.used()
    with pytest.raises(CacheFileError, match="has been away for"):
        memory.replies.cached_reply_for_display(key("before"))


def test_the_extra_that_is_missing_is_named(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from graphrag_dagster.kernel.models.cache.cache_database import own_database\n"
        "from graphrag_dagster.errors import SettingsError\n"
        "try: own_database()\n"
        "except SettingsError as error: print(error)"
    )
    environment = {**os.environ, "GRAPHRAG_DAGSTER_CACHE": "postgresql://u@h/d"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip install 'graphrag-dagster[postgres]'" in done.stdout


@pytest.mark.long
def test_every_command_of_the_cache_works_with_postgres(
    postgres: PostgresServer, home: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.emptied()
    monkeypatch.setenv("GRAPHRAG_DAGSTER_CACHE", url)
    with ScriptedEndpoint() as endpoint:
        write_modelled(home / "corpora", endpoint)
        assert run("index", "coast")[0] == 0
        asked = len(endpoint.requests)
        assert not (home / "cache").exists()
        code, out, _ = run("cache", "copy", "--to", str(home / "copy.sqlite"), "--json")
        copied = json.loads(out)["tables"]["replies"]["copied"]
        assert (code, copied > 5) == (0, True)
        code, out, _ = run("cache", "stats", "--json")
        stats = json.loads(out)
        assert (code, stats["file"], sum(row["replies"] for row in stats["replies"])) == (0, url, copied)
        assert run("cache", "export", str(home / "all.jsonl"))[0] == 0
        assert len((home / "all.jsonl").read_text().splitlines()) == copied
        code, _, err = run("cache", "copy", "--to", url)
        assert (code, "--to is the cache in use" in err) == (1, True)
        assert run("batches")[0] == 0
        assert run("cache", "prune", "--corpus", "coast")[0] == 0
        # From the copy nothing is asked again.
        monkeypatch.setenv("GRAPHRAG_DAGSTER_CACHE", str(home / "copy.sqlite"))
        assert run("index", "coast", "--again")[0] == 0
        assert sum("messages" in one.body for one in endpoint.requests[asked:]) == 0
        monkeypatch.setenv("GRAPHRAG_DAGSTER_CACHE", url)
        assert run("delete", "coast", "--yes")[0] == 0
    code, out, _ = run("cache", "stats", "--json")
    assert json.loads(out)["replies"] == []
