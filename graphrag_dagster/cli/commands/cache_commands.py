"""``graphrag-dagster cache`` and ``batches``: the LLM cache, and requests in a provider's Batch API."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from graphrag_dagster.cli.console import ERR
from graphrag_dagster.cli.result import Frame, Part, Result
from graphrag_dagster.errors import CorpusError, EndpointError, SettingsError
from graphrag_dagster.kernel.common.atomic_files import replacing
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.models.batch_store import BatchStore, RequestBatch, api_of, refresh_all
from graphrag_dagster.kernel.models.cache.cache_database import (
    database_at,
    own_database,
    own_database_if_made,
)
from graphrag_dagster.kernel.models.cache.cache_maintenance import CacheMaintenance, copy_cache
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.pipeline.corpus_changes import changed_files
from graphrag_dagster.kernel.storage.corpus_names import check_name
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore, models_of
from graphrag_dagster.kernel.storage.home import cache_location, cache_place
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse


def maintenance() -> CacheMaintenance:
    """The LLM cache of this home."""
    return CacheMaintenance(own_database())


def show_stats() -> Result:
    """Show the size of the LLM cache and what uses it."""
    stats = maintenance().stats()
    shown: list[Part] = [f"{stats['file']}: {plural(stats['bytes'], 'byte')}"]
    if not (stats["replies"] or stats["vectors"]):
        return Result(stats, [*shown, "the LLM cache is empty"])
    columns = ("task", "model", "replies", "input_tokens", "output_tokens")
    vectors = [
        {
            "task": "embed",
            "model": row["model"],
            "replies": row["vectors"],
            "input_tokens": round(row["tokens"]),
        }
        for row in stats["vectors"]
    ]
    replies = pl.DataFrame([*stats["replies"], *vectors], infer_schema_length=None)
    names = {"input_tokens": "tokens in", "output_tokens": "tokens out", "last_used": "last used (UTC)"}
    shown.append(
        Frame(replies.select(one for one in columns if one in replies.columns), "cached replies", names)
    )
    if stats["uses"]:
        shown.append(Frame(pl.DataFrame(stats["uses"], infer_schema_length=None), "used by", names))
    return Result(stats, shown)


def prune(
    corpus: Annotated[str, typer.Option(help="The corpus to prune.")],
    everything: Annotated[
        bool, typer.Option("--everything", help="Delete all that only this corpus uses.")
    ] = False,
) -> Result:
    """Delete cached replies that a corpus no longer uses.

    Raises:
        CorpusError: the folder has changed since the last index, so that what is in use is not known.
    """
    check_name(corpus)
    if not everything:
        _check_unchanged(corpus)
    pruned = maintenance().prune(corpus, everything=everything)
    text = (
        f"{corpus}: deleted {plural(pruned.replies, 'reply', 'replies')} and "
        f"{plural(pruned.vectors, 'vector')}; {pruned.kept:,} are in use"
    )
    return Result({"corpus": corpus, **asdict(pruned)}, [text])


def export(
    file: Annotated[Path, typer.Argument(help="File of JSON lines to write.")],
    corpus: Annotated[str | None, typer.Option(help="Only what this corpus uses.")] = None,
) -> Result:
    """Write every cached reply to a JSON Lines file, atomically."""
    count = 0
    with replacing(file) as stream:
        for line in maintenance().export(corpus):
            stream.write(line + "\n")
            count += 1
    text = f"wrote {plural(count, 'reply', 'replies')} to {file}"
    return Result({"file": file, "replies": count}, [text])


def copy(
    to: Annotated[str, typer.Option(help="A file, or postgresql://user@host/database.", metavar="CACHE")],
) -> Result:
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
    copied = {
        table: {"copied": new, "there": old}
        for table, (new, old) in copy_cache(own_database(), target).items()
    }
    rows = pl.DataFrame([{"table": table, **counts} for table, counts in copied.items()])
    return Result({"to": target.backend.shown, "tables": copied}, [Frame(rows, target.backend.shown)])


def _check_unchanged(corpus: str) -> None:
    """What deleted documents left behind is only known once an index has seen that they are gone."""
    store = CorpusStore()
    if corpus not in store.names():
        raise CorpusError(f"there is no corpus {corpus!r} any more; to delete all it used, add --everything")
    if changed_files(store, corpus, published(Warehouse(), corpus)):
        raise CorpusError(
            f"the folder of {corpus} has changed since it was indexed; index it first, or add --everything"
        )


_COLUMNS = ("batch", "corpus", "model", "status", "done", "of", "hours old")


def batches(
    name: Annotated[str | None, typer.Argument(help="Only those of this corpus.")] = None,
    cancel: Annotated[str | None, typer.Option(help="Stop the batch of this id.", metavar="ID")] = None,
) -> Result:
    """Ask how far the batches are, collect what is done, and list them all, the oldest first.

    Raises:
        EndpointError: there is no batch that could be stopped.
    """
    stopped = [cancel_batch(cancel)] if cancel else []
    database = own_database_if_made()
    rows: list[dict[str, Any]] = []
    if database is not None:
        for problem in refresh_all(database, models_of, name):
            ERR.say(f"not up to date: {problem}", markup=False)
        rows = [_row(batch) for batch in BatchStore(database).batches(name)]
    if not rows:
        return Result(rows, [*stopped, "there are no batches"])
    problems = [f"{row['batch']}: {row['problem']}" for row in rows if row["problem"]]
    listed = Frame(pl.DataFrame(rows, infer_schema_length=None).select(_COLUMNS), "batches")
    return Result(rows, [*stopped, listed, *problems])


def cancel_batch(name: str) -> str:
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
    return f"{name}: {remote.status}"


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
