"""Which cached replies count as used once documents are gone."""

import time
from pathlib import Path

import pytest

from graphrag_dagster.kernel.catalogue.registry import users_of_stages
from graphrag_dagster.kernel.models.batch_api import LineResult, RemoteBatch
from graphrag_dagster.kernel.models.batch_store import BatchStore, RequestBatch
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cache_maintenance import CacheMaintenance
from graphrag_dagster.kernel.models.cache.llm_cache import Replies, User
from graphrag_dagster.kernel.models.cache.usage_account import UsageAccount, UsageLog
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply
from graphrag_dagster.kernel.models.model_costs import Budget, ModelUse


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "replies.sqlite")


def key(name: str) -> bytes:
    return name.encode().ljust(32, b"-")


def account(database: Database, asset: str, run: str, corpus: str = "coast") -> UsageAccount:
    user = User(corpus, asset, run)
    return UsageAccount(user, Replies(database), UsageLog(database), Budget())


def use(database: Database, asset: str, *names: str, corpus: str = "coast") -> None:
    made = account(database, asset, "r1", corpus)
    for name in names:
        reply = ChatReply(f"the secret of {name}", "stop", 10, 5)
        made.replies.keep(key(name), "extract", "m", reply, 0.5, made.user)
    made.book("extract", "m", ModelUse(calls=1))
    made.finish()


def left(database: Database) -> set[str]:
    files = sorted(Path(database.place).parent.glob("replies.sqlite*"))
    data = b"".join(file.read_bytes() for file in files)
    return {
        name for name in ("unit", "answer", "asked", "shared", "batched") if f"of {name}".encode() in data
    }


def test_what_answers_and_questions_used_goes_even_though_it_was_finished(database: Database) -> None:
    use(database, "extraction", "unit")
    use(database, "answers", "answer", "shared")
    use(database, "ask", "asked")
    use(database, "answers", "shared", corpus="moor")
    assert left(database) == {"unit", "answer", "asked", "shared"}
    CacheMaintenance(database).prune("coast")
    assert left(database) == {"unit", "answer", "asked", "shared"}
    CacheMaintenance(database).prune("coast", assets=users_of_stages("index"))
    assert left(database) == {"unit", "shared"}


def test_an_asset_that_needs_nothing_any_more_is_noted_as_finished(database: Database) -> None:
    use(database, "relationships", "unit")
    time.sleep(0.01)
    account(database, "relationships", "r2").finish()
    CacheMaintenance(database).prune("coast", assets=users_of_stages("index"))
    assert left(database) == set()


def test_what_is_in_use_without_being_asked_for_stays(database: Database) -> None:
    use(database, "extraction", "unit", "shared")
    time.sleep(0.01)
    later = account(database, "extraction", "r2")
    later.replies.touch([key("unit"), key("nobody knows it")], later.user)
    later.finish()
    CacheMaintenance(database).prune("coast", assets=users_of_stages("index"))
    assert left(database) == {"unit"}


def test_a_batch_under_way_brings_nothing_back(database: Database) -> None:
    store = BatchStore(database)
    batch = RequestBatch("b1", "u", "V", "m", "coast", "extraction", "r1", "in_progress", 1, 0, time.time())
    store.record(batch, {key("batched"): "extract"})
    CacheMaintenance(database).prune("coast", assets=users_of_stages("index"))
    came = LineResult(key("batched"), ChatReply("the secret of batched", "stop", 10, 5))
    store.close(RemoteBatch("b1", "completed"), [came])
    assert left(database) == set()
    assert store.take([key("batched")], "r2") == {}
    assert store.batches("coast", open_only=True) == []
