"""Maintenance of the LLM cache: inspect, prune, export, copy."""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cache_schema import TABLES

_STALE = (
    "corpus = :corpus and not exists (select 1 from finished f where f.corpus = uses.corpus "
    "and f.asset = uses.asset and uses.last_used >= f.begun)"
)
_BY_TASK = ("task", "model", "replies", "input_tokens", "output_tokens", "bytes")
_EXPORTED = "key, task, model, text, finish_reason, note, input_tokens, cached_input_tokens, output_tokens"

_SOME = 500
_TABLE = re.compile(r"create table if not exists (\w+) \((.*?)\n\)", re.DOTALL)
_KEY = re.compile(r"primary key \(([^)]*)\)|(\w+) \w+ primary key")
#: The tables, and the columns that their rows are known by.
_KEYS = {
    name: "".join(_KEY.findall(body)[0]).split(", ")
    for name, body in _TABLE.findall(TABLES)
    if name != "held_keys"
}


def _shown(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _forget_others(connection: Any, corpus: str, assets: Collection[str]) -> None:
    marks = ", ".join("?" * len(assets))
    for table in ("uses", "finished"):
        connection.execute(
            f"delete from {table} where corpus = ? and asset not in ({marks})",
            (corpus, *sorted(assets)),
        )
    connection.execute(
        "delete from batch_lines where batch in (select id from batches where corpus = ?)", (corpus,)
    )


@dataclass(frozen=True, slots=True)
class Pruned:
    """Entries that a pruning removed, and those it kept for the corpus."""

    replies: int
    vectors: int
    kept: int


class CacheMaintenance:
    """Statistics, pruning and export of one LLM cache."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stats(self) -> dict[str, Any]:
        """Return how much is cached, by task and model and by corpus, and its size on disk."""
        with self._database.reading() as connection:
            tasks = connection.execute(
                "select task, model, count(*), sum(input_tokens), sum(output_tokens), sum(length(text)) "
                "from replies group by task, model order by task, model"
            ).fetchall()
            vectors = connection.execute(
                "select model, count(*), sum(tokens) from vectors group by model order by model"
            ).fetchall()
            corpora = connection.execute(
                "select corpus, asset, count(*), max(last_used) from uses "
                "group by corpus, asset order by corpus, asset"
            ).fetchall()
            size = self._database.backend.size()
        return {
            "file": self._database.backend.shown,
            "bytes": size,
            "replies": [dict(zip(_BY_TASK, row, strict=True)) for row in tasks],
            "vectors": [dict(zip(("model", "vectors", "tokens"), row, strict=True)) for row in vectors],
            "uses": [
                {"corpus": corpus, "asset": asset, "replies": replies, "last_used": _shown(last_used)}
                for corpus, asset, replies, last_used in corpora
            ],
        }

    def prune(
        self, corpus: str, *, everything: bool = False, assets: Collection[str] | None = None
    ) -> Pruned:
        """Forget what a corpus no longer uses: what the last finished run of each of its assets did not use.

        Answers to questions go too, since they may speak of documents that are gone, and so do replies of
        batches that are over. A reply stays while another corpus uses it. The room is given back at once, so
        that no text stays in the tables.

        Args:
            corpus: its name.
            everything: forget all that only this corpus uses, and its accounts.
            assets: those that are made from the documents there are now, so that nothing waits for a batch
                any more: what others of the corpus have used goes, and so do the results of batches under
                way, which may yet tell of documents that are gone. Default: whatever was finished counts.
        """
        which = "corpus = :corpus" if everything else _STALE

        def delete(connection: Any) -> Pruned:
            connection.execute(f"delete from uses where {which}", {"corpus": corpus})
            if assets is not None:
                _forget_others(connection, corpus, assets)
            counts = [
                connection.execute(f"delete from {table} where key not in (select key from uses)").rowcount
                for table in ("replies", "vectors")
            ]
            connection.execute(
                "delete from batch_lines where batch in "
                "(select id from batches where corpus = ? and closed is not null)",
                (corpus,),
            )
            if everything:
                for table in ("finished", "usage", "batches"):
                    connection.execute(f"delete from {table} where corpus = ?", (corpus,))
                # Earlier versions made them, with names of corpora in them.
                for table in ("unread_prompts", "reservations", "leases", "holders", "indexings"):
                    connection.execute(f"drop table if exists {table}")
                connection.execute("delete from batch_lines where batch not in (select id from batches)")
            kept = connection.execute("select count(*) from uses where corpus = ?", (corpus,)).fetchone()[0]
            return Pruned(replies=counts[0], vectors=counts[1], kept=kept)

        pruned = self._database.write(delete)
        self._database.shrink()
        return pruned

    def export(self, corpus: str | None = None) -> Iterator[str]:
        """Yield every cached reply as a line of JSON, in the order of task and key; no prompts are kept.

        Args:
            corpus: only what this corpus uses.
        """
        chosen = "where key in (select key from uses where corpus = ?)" if corpus else ""
        query = f"select {_EXPORTED}, seconds, created from replies {chosen} order by task, key"
        columns = (*_EXPORTED.split(", "), "seconds", "created")
        with self._database.reading() as connection:
            users = connection.execute("select key, corpus, asset from uses order by 2, 3").fetchall()
            rows = connection.execute(query, (corpus,) if corpus else ()).fetchall()
        used: dict[bytes, list[str]] = {}
        for key, name, asset in users:
            used.setdefault(key, []).append(f"{name}/{asset}")
        for row in rows:
            line = dict(zip(columns, row, strict=True))
            line["used_by"] = used.get(line["key"], [])
            line["key"] = line["key"].hex()
            line["created"] = _shown(line["created"])
            yield json.dumps(line, ensure_ascii=False)


def copy_cache(source: Database, target: Database) -> dict[str, tuple[int, int]]:
    """Copy what the target has not; what it has stays as it is.

    Returns:
        Table → rows that were copied, and rows that were there.

    Raises:
        CacheFileError: one of them cannot be used. What was copied stays; the copy can be begun again.
    """
    return {table: _copy(source, target, table, key) for table, key in _KEYS.items()}


def _copy(source: Database, target: Database, table: str, key: list[str]) -> tuple[int, int]:
    order, last, copied, seen = ", ".join(key), tuple[Any, ...](), 0, 0
    while True:
        after = f"where ({order}) > ({', '.join('?' * len(key))})" if last else ""
        query = f"select * from {table} {after} order by {order} limit {_SOME}"
        with source.reading() as connection:
            found = connection.execute(query, last)
            names, rows = [column[0] for column in found.description], found.fetchall()
        if not rows:
            return copied, seen - copied
        insert = (
            f"insert into {table} ({', '.join(names)}) values ({', '.join('?' * len(names))}) "
            "on conflict do nothing"
        )
        copied += _inserted(target, insert, rows)
        seen += len(rows)
        last = tuple(rows[-1][names.index(name)] for name in key)


def _inserted(target: Database, insert: str, rows: list[Any]) -> int:
    return target.write(lambda connection: int(connection.executemany(insert, rows).rowcount))
