"""``graphrag-dagster batches``: what was sent through a provider's Batch API, and how far it is."""

import time
from typing import Any

from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.output.console import ERR, OUT, number, print_json
from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.batches.batch_refresh import api_of, refresh_all
from graphrag_dagster.kernel.models.batches.batch_store import Batch, BatchStore
from graphrag_dagster.kernel.models.cache.database import database_at
from graphrag_dagster.kernel.models.chat.loop import run_one
from graphrag_dagster.kernel.storage.corpora import models_of
from graphrag_dagster.kernel.storage.home import memory_file

_COLUMNS = ("batch", "corpus", "model", "status", "done", "of", "hours old")
_NUMBERS = frozenset({"done", "of", "hours old"})


def list_batches(name: str | None, *, as_json: bool) -> None:
    """Ask how far the batches are, collect what is done, and print them all, the oldest first.

    Args:
        name: only the batches of this corpus.
        as_json: print a JSON document.
    """
    path = memory_file()
    rows: list[dict[str, Any]] = []
    if path.exists():
        database = database_at(path)
        for problem in refresh_all(database, models_of, name):
            ERR.print(f"not up to date: {escape(problem)}", soft_wrap=True)
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
    path = memory_file()
    store = BatchStore(database_at(path)) if path.exists() else None
    batch = next((one for one in (store.batches() if store else ()) if one.id == name), None)
    if store is None or batch is None:
        raise EndpointError(f"there is no batch {name}; `graphrag-dagster batches` lists those there are")
    if batch.closed is not None:
        raise EndpointError(f"batch {name} is over: {batch.status}")
    remote = run_one(api_of(batch, models_of).cancel(name))
    store.progress(remote)
    OUT.print(f"{escape(name)}: {escape(remote.status)}")


def _row(batch: Batch) -> dict[str, Any]:
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
    table = RichTable(title="batches", title_justify="left")
    for column in _COLUMNS:
        table.add_column(column, justify="right" if column in _NUMBERS else "left")
    for row in rows:
        cells = (number(row[c]) if c in {"done", "of"} else escape(str(row[c])) for c in _COLUMNS)
        table.add_row(*cells)
    OUT.print(table)
    for row in rows:
        if row["problem"]:
            OUT.print(f"{escape(row['batch'])}: {escape(row['problem'])}", soft_wrap=True)
