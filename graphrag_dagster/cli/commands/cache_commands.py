"""``graphrag-dagster cache`` and ``batches``: the LLM cache, and requests in a provider's Batch API."""

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
from rich.markup import escape

from graphrag_dagster.cli.console import ERR, OUT, number, print_json, table_of
from graphrag_dagster.errors import CorpusError, EndpointError, SettingsError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.documents.documents import read_corpus
from graphrag_dagster.kernel.models.batch_store import BatchStore, RequestBatch, api_of, refresh_all
from graphrag_dagster.kernel.models.cache.cache_database import (
    database_at,
    own_database,
    own_database_if_made,
)
from graphrag_dagster.kernel.models.cache.cache_maintenance import Upkeep, copy_cache
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.storage.corpus_names import check_name
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore, models_of
from graphrag_dagster.kernel.storage.home import cache_location, cache_place
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables


def upkeep() -> Upkeep:
    """The LLM cache of this home."""
    return Upkeep(own_database())


def show_stats(*, as_json: bool) -> None:
    """Print the size of the LLM cache."""
    stats = upkeep().stats()
    if as_json:
        print_json(stats)
        return
    OUT.say(f"{escape(stats['file'])}: {plural(stats['bytes'], 'byte')}")
    if not (stats["replies"] or stats["vectors"]):
        OUT.print("the LLM cache is empty")
        return
    numbers = ("replies", "tokens in", "tokens out")
    replies = table_of("task", "model", *numbers, numbers=numbers, title="cached replies")
    for row in stats["replies"]:
        counts = (number(row[name]) for name in ("replies", "input_tokens", "output_tokens"))
        replies.add_row(row["task"], escape(row["model"]), *counts)
    for row in stats["vectors"]:
        tokens = number(round(row["tokens"]))
        replies.add_row("embed", escape(row["model"]), number(row["vectors"]), tokens, "")
    OUT.print(replies)
    columns = ("corpus", "asset", "replies", "last used (UTC)")
    uses = table_of(*columns, numbers=("replies",), title="used by")
    for row in stats["uses"]:
        uses.add_row(escape(row["corpus"]), row["asset"], number(row["replies"]), row["last_used"])
    OUT.print(uses)


def prune(corpus: str, *, everything: bool, as_json: bool) -> None:
    """Delete cached replies that a corpus no longer uses.

    Raises:
        CorpusError: the folder has changed since the last index, so that what is in use is not known.
    """
    check_name(corpus)
    if not everything:
        _check_unchanged(corpus)
    pruned = upkeep().prune(corpus, everything=everything)
    if as_json:
        print_json({"corpus": corpus, **asdict(pruned)})
        return
    OUT.print(
        f"{escape(corpus)}: deleted {plural(pruned.replies, 'reply', 'replies')} and "
        f"{plural(pruned.vectors, 'vector')}; "
        f"{pruned.kept:,} are in use"
    )


def export(path: Path, corpus: str | None) -> None:
    """Write every cached reply to a JSON Lines file, atomically."""
    partial = path.with_name(f".{uuid4().hex}.part")
    count = 0
    try:
        with partial.open("x", encoding="utf-8") as file:
            for line in upkeep().export(corpus):
                file.write(line + "\n")
                count += 1
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    OUT.say(f"wrote {plural(count, 'reply', 'replies')} to {escape(os.fspath(path))}")


def copy(to: str, *, as_json: bool) -> None:
    """Copy the LLM cache into another.

    Raises:
        SettingsError: they are the same.
    """
    place = cache_location(to)
    if place == cache_place():
        raise SettingsError(
            "--to is the cache in use: name another, or set GRAPHRAG_DAGSTER_CACHE to that which is copied"
        )
    target = database_at(place)
    counts = copy_cache(own_database(), target)
    if as_json:
        copied = {table: {"copied": new, "there": old} for table, (new, old) in counts.items()}
        print_json({"to": target.backend.shown, "tables": copied})
        return
    others = sum(new for table, (new, _) in counts.items() if table not in {"replies", "vectors"})
    OUT.say(
        f"{escape(target.backend.shown)}: copied {plural(counts['replies'][0], 'reply', 'replies')}, "
        f"{plural(counts['vectors'][0], 'vector')} and {plural(others, 'other row')}; "
        f"{plural(sum(old for _, old in counts.values()), 'row')} were there"
    )


def _check_unchanged(corpus: str) -> None:
    """What deleted documents left behind is only known once an index has seen that they are gone."""
    store, warehouse = CorpusStore(), Warehouse()
    if corpus not in store.names():
        raise CorpusError(f"there is no corpus {corpus!r} any more; to delete all it used, add --everything")
    seen = warehouse.read_if_present(tables.FILES, corpus)
    if seen is None or not _contents(seen).equals(_contents(read_corpus(store, corpus).files)):
        raise CorpusError(
            f"the folder of {corpus} has changed since it was indexed; index it first, or add --everything"
        )


def _contents(files: pl.DataFrame) -> pl.DataFrame:
    """Path and hash of the files of a corpus; ignored ones are none of it."""
    return files.filter(pl.col("status") != "ignored").select("path", "sha256").sort("path")


_COLUMNS = ("batch", "corpus", "model", "status", "done", "of", "hours old")


def list_batches(name: str | None, *, as_json: bool) -> None:
    """Ask how far the batches are, collect what is done, and print them all, the oldest first."""
    database = own_database_if_made()
    rows: list[dict[str, Any]] = []
    if database is not None:
        for problem in refresh_all(database, models_of, name):
            ERR.say(f"not up to date: {escape(problem)}")
        rows = [_row(batch) for batch in BatchStore(database).batches(name)]
    if as_json:
        print_json(rows)
    elif not rows:
        OUT.print("there are no batches")
    else:
        _print(rows)


def cancel_batch(name: str) -> None:
    """Ask the provider to stop a batch; what is answered by then is kept, the rest is asked again.

    Raises:
        EndpointError: there is no such batch, or it is over.
    """
    database = own_database_if_made()
    store = BatchStore(database) if database else None
    batch = next((one for one in (store.batches() if store else ()) if one.id == name), None)
    if store is None or batch is None:
        raise EndpointError(f"there is no batch {name}; `graphrag-dagster batches` lists those there are")
    if batch.closed is not None:
        raise EndpointError(f"batch {name} is over: {batch.status}")
    remote = run_one(api_of(batch, models_of).cancel(name))
    store.progress(remote)
    OUT.print(f"{escape(name)}: {escape(remote.status)}")


def _row(batch: RequestBatch) -> dict[str, Any]:
    return {
        "batch": batch.id,
        "corpus": batch.corpus,
        "asset": batch.asset,
        "run_id": batch.run_id,
        "model": batch.model,
        "url": batch.url,
        "status": batch.status,
        "done": batch.done,
        "of": batch.requests,
        "hours old": round((time.time() - batch.created) / 3600, 1),
        "problem": batch.problem,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    table = table_of(*_COLUMNS, numbers=("done", "of", "hours old"), title="batches")
    for row in rows:
        cells = (number(row[c]) if c in {"done", "of"} else escape(str(row[c])) for c in _COLUMNS)
        table.add_row(*cells)
    OUT.print(table)
    for row in rows:
        if row["problem"]:
            OUT.say(f"{escape(row['batch'])}: {escape(row['problem'])}")
