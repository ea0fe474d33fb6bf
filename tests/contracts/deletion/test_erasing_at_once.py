"""Replies are forgotten while the tables are written anew: neither waits for the other, nor stops it."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cache_schema import CacheFileError
from graphrag_dagster.kernel.models.cache.llm_cache import Replies, User
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply
from graphrag_dagster.kernel.pipeline.erasure import deleted_documents, erase, note_file
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables

WORD = b"Zentholm"
KEY = b"key".ljust(32, b"-")


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """Of a document that is gone, words are left in a block that is free."""
    made = Warehouse(path=str(tmp_path / "{corpus}.duckdb"), lock_timeout_seconds=0.1)
    made.write(tables.DOCUMENTS, "coast", tables.DOCUMENTS.empty())
    with made.connect("coast") as connection:
        connection.execute("create table main.going as select 'Zentholm ' || random() as w from range(5000)")
    with made.connect("coast") as connection:
        connection.execute("drop table main.going")
    note_file(made, "coast").write_text(json.dumps({"gone": ["dossier"]}))
    assert WORD in made.file("coast").read_bytes()
    return made


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Database]:
    """With a reply that an older answer used."""
    database = Database(tmp_path / "replies.sqlite")
    reply = ChatReply("It was Zentholm.", "stop", 10, 5)
    Replies(database).keep(KEY, "answer", "m", reply, 0.5, User("coast", "answers", "r1"))
    assert WORD in of_memory(tmp_path)
    yield database
    database.close()


def of_memory(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in folder.glob("replies.sqlite*"))


def test_both_are_done(warehouse: Warehouse, memory: Database, tmp_path: Path) -> None:
    erased = erase(warehouse, "coast", memory)
    assert erased is not None
    assert (erased.documents, erased.memory.replies) == (1, 1)
    assert WORD not in warehouse.file("coast").read_bytes()
    assert WORD not in of_memory(tmp_path)


def test_replies_that_are_read_elsewhere_are_told_of_and_stay_to_be_erased(
    warehouse: Warehouse, memory: Database, tmp_path: Path
) -> None:
    with memory.reading() as connection:
        connection.execute("pragma busy_timeout = 50")
    reader = sqlite3.connect(memory.place, isolation_level=None)
    reader.execute("begin")
    assert reader.execute("select count(*) from replies").fetchone() == (1,)
    with pytest.raises(CacheFileError, match="prune again"):
        erase(warehouse, "coast", memory)
    assert WORD not in warehouse.file("coast").read_bytes()
    assert deleted_documents(warehouse, "coast") == {"dossier"}
    reader.close()
    assert erase(warehouse, "coast", memory) is not None
    assert WORD not in of_memory(tmp_path)


def test_a_file_that_is_held_is_told_of_and_stays_to_be_erased(
    warehouse: Warehouse, memory: Database, tmp_path: Path
) -> None:
    with warehouse.connect("coast"), pytest.raises(WarehouseError, match="in use by"):
        erase(warehouse, "coast", memory)
    assert WORD not in of_memory(tmp_path)
    assert WORD in warehouse.file("coast").read_bytes()
    assert deleted_documents(warehouse, "coast") == {"dossier"}
    assert erase(warehouse, "coast", memory) is not None
    assert WORD not in warehouse.file("coast").read_bytes()
