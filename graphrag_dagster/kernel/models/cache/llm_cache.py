"""The LLM cache: replies, vectors and endpoint capabilities, and which assets of which corpora used them."""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from graphrag_dagster.kernel.common.resource import Resource
from graphrag_dagster.kernel.models.cache.cache_database import Database, database_at, own_database
from graphrag_dagster.kernel.models.cache.cache_schema import rows_of_keys
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog
from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest
from graphrag_dagster.kernel.models.endpoint.request_bodies import Capabilities, strict_schema_text
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.settings.model_settings import DECIDING_REPLIES, ModelSettings
from graphrag_dagster.kernel.storage.home import cache_location

#: What keys are the hash of; made once, since to make it takes as long as to write what has a vector.
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


#: What stays of a reply that is replaced.
_FIXED = frozenset({"key", "task", "model"})


@dataclass(frozen=True, slots=True)
class User:
    """User of a reply: an asset of a corpus, in a run."""

    corpus: str
    asset: str
    run_id: str


def reply_key(settings: ModelSettings, request: ChatRequest, *, documented: bool = False) -> bytes:
    """Return the hash of all that determines a usable reply.

    The limit of its length does not: a complete reply is the same under any. Neither does the way in which
    the endpoint is made to keep to the schema, nor where the endpoint is, nor the docstrings of the schema.

    Args:
        settings: of the model.
        request: what is asked.
        documented: as in 0.1.0, with the docstrings; what was paid for then is found under such a key.
    """
    # Loaded where a model is asked: all shapes of replies are models of pydantic.
    from graphrag_dagster.kernel.models.chat.reply_schemas import schema_text

    text = schema_text if documented else strict_schema_text
    decided = {key: getattr(settings, key) for key in DECIDING_REPLIES}
    parts: dict[str, Any] = {
        "model": decided.pop("name"),
        **decided,
        "messages": [[message.role, message.content] for message in request.messages],
        "schema": text(request.schema) if request.schema else None,
        "forced": list(request.forced_tokens),
    }
    if request.temperature is not None:
        parts["temperature"] = request.temperature
    if request.replicate:
        parts["replicate"] = request.replicate
    return _hash(parts)


def reply_keys(settings: ModelSettings, request: ChatRequest) -> tuple[bytes, ...]:
    """Return the keys under which a reply may be: that of today, and that of a schema with its docstrings."""
    key = reply_key(settings, request)
    return (key, reply_key(settings, request, documented=True)) if request.schema else (key,)


def vector_key(model: str, namespace: str, text: str) -> bytes:
    """Return the hash of an embedding model and a text."""
    return _hash({"embedder": model, "namespace": namespace, "text": text})


def _hash(parts: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(_CANONICAL.encode(parts).encode("utf-8", "surrogatepass")).digest()


class Replies:
    """Cached replies and vectors of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def find(self, keys: Sequence[bytes], user: User) -> ChatReply | None:
        """Return the reply for the first of these keys that has one, and record its user; else None."""
        found = await self.database.ask(lambda: self._found(keys))
        key = next((key for key in keys if key in found), None)
        if key is None:
            return None
        self.database.write_soon(lambda connection: _record_use(connection, [key], user))
        return found[key]

    def cached_reply_for_display(self, key: bytes) -> ChatReply | None:
        """Return the reply of that key, of which nobody makes use; None where there is none."""
        return self._found([key]).get(key)

    def _found(self, keys: Sequence[bytes]) -> dict[bytes, ChatReply]:
        query = (
            "select key, text, finish_reason, input_tokens, output_tokens, note, cached_input_tokens "
            "from replies where key in ({keys})"
        )
        with self.database.reading() as connection:
            return {row[0]: ChatReply(*row[1:]) for row in rows_of_keys(connection, query, keys)}

    def has(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return those of the keys under which there is a reply or a vector."""
        queries = [f"select key from {table} where key in ({{keys}})" for table in ("replies", "vectors")]
        with self.database.reading() as connection:
            return {key for query in queries for (key,) in rows_of_keys(connection, query, keys)}

    def keep(self, key: bytes, task: str, model: str, reply: ChatReply, seconds: float, user: User) -> None:
        """Cache a reply that proved usable, replacing one that no longer does."""
        columns = {
            "key": key,
            "task": task,
            "model": model,
            **asdict(reply),
            "seconds": seconds,
            "created": time.time(),
        }
        changed = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in _FIXED)
        statement = (
            f"insert into replies ({', '.join(columns)}) values ({', '.join('?' * len(columns))}) "
            f"on conflict (key) do update set {changed} where excluded.text <> replies.text"
        )

        def write(connection: Any) -> None:
            connection.execute(statement, tuple(columns.values()))
            _record_use(connection, [key], user)
            connection.execute("delete from held_keys where key = ?", (key,))

        self.database.write_soon(write)

    def vectors(self, keys: Sequence[bytes], user: User) -> dict[bytes, NDArray[np.float32]]:
        """Return the vectors there are of these keys, and note who uses them."""
        query = "select key, vector from vectors where key in ({keys})"
        with self.database.reading() as connection:
            rows = rows_of_keys(connection, query, keys)
            found = {key: np.frombuffer(vector, dtype="<f4") for key, vector in rows}
        if found:
            self.database.write(lambda connection: _record_use(connection, found, user))
        return found

    def keep_vectors(
        self, model: str, vectors: Mapping[bytes, NDArray[np.float32]], tokens: int, user: User
    ) -> None:
        """Cache vectors; ``tokens`` is the total of all their texts."""
        now, each = time.time(), tokens / max(len(vectors), 1)
        rows = [(key, model, vector.astype("<f4").tobytes(), each, now) for key, vector in vectors.items()]

        def write(connection: Any) -> None:
            connection.executemany("insert into vectors values (?,?,?,?,?) on conflict do nothing", rows)
            _record_use(connection, vectors, user)

        self.database.write_soon(write)

    def touch(self, keys: Sequence[bytes], user: User) -> None:
        """Note that what there is under these keys is in use, though nobody asks for it."""
        known = self.has(keys)
        if known:
            self.database.write(lambda connection: _record_use(connection, known, user))

    def tasks(self, keys: Sequence[bytes]) -> dict[tuple[str, str], ModelUse]:
        """Return what it saves not to ask again for the replies of these keys, by task and model."""
        saved: dict[tuple[str, str], ModelUse] = {}
        query = (
            "select task, model, count(*), sum(input_tokens + output_tokens) from replies "
            "where key in ({keys}) group by task, model"
        )
        with self.database.reading() as connection:
            for task, model, count, tokens in rows_of_keys(connection, query, keys):
                use = ModelUse(cached=count, saved_tokens=tokens)
                saved[task, model] = saved.get((task, model), ModelUse()) + use
        return saved

    def used_by(self, user: User) -> bool:
        """Whether the asset has used anything in any run."""
        query = "select 1 from uses where corpus = ? and asset = ? limit 1"
        with self.database.reading() as connection:
            return connection.execute(query, (user.corpus, user.asset)).fetchone() is not None

    def finish(self, user: User, begun: float) -> None:
        """Note that an asset was made from ``begun`` on: what it has not used since then is stale."""
        self.database.write(
            lambda connection: connection.execute(
                "insert into finished values (?,?,?,?) on conflict (corpus, asset) do update set "
                "run_id = excluded.run_id, begun = excluded.begun",
                (user.corpus, user.asset, user.run_id, begun),
            )
        )


def _record_use(connection: Any, keys: Iterable[bytes], user: User) -> None:
    now = time.time()
    connection.executemany(
        "insert into uses values (?,?,?,?,?) on conflict (key, corpus, asset) do update set "
        "run_id = excluded.run_id, last_used = excluded.last_used",
        [(key, user.corpus, user.asset, user.run_id, now) for key in keys],
    )


_KEPT_SECONDS = 86_400.0
_READ = TypeAdapter(Capabilities)


class CapabilityStore:
    """Capabilities by URL and model in the LLM cache; no URL has credentials.

    Args:
        database: the LLM cache.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, url: str, model: str) -> Capabilities | None:
        """Return what was found out within the last day, else None; ``url`` is without credentials."""
        with self._database.reading() as connection:
            row = connection.execute(
                "select capabilities from capabilities where url = ? and model = ? and at > ?",
                (url, model, time.time() - _KEPT_SECONDS),
            ).fetchone()
        try:
            return _READ.validate_json(row[0]) if row else None
        except ValidationError:
            # Of another version of this program: found out anew.
            return None

    def put(self, url: str, model: str, capabilities: Capabilities) -> None:
        """Keep what was found out now; ``url`` is without credentials."""
        row = (url, model, json.dumps(asdict(capabilities)), time.time())
        self._database.write(
            lambda connection: connection.execute(
                "insert into capabilities values (?, ?, ?, ?) on conflict (url, model) do update "
                "set capabilities = excluded.capabilities, at = excluded.at",
                row,
            )
        )


class LLMCache(Resource):
    """The LLM cache, and the usage of every run."""

    file: str = Field(
        default="",
        repr=False,
        description="SQLite file, or postgresql://user@host/database; default: set by the environment",
    )

    def database(self) -> Database:
        """The database, opened once in a process."""
        return database_at(cache_location(self.file)) if self.file else own_database()

    def usage_log(self) -> UsageLog:
        """The accounts of all runs."""
        return UsageLog(self.database())
