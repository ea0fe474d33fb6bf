"""``graphrag-dagster cache``: inspects, prunes and exports the LLM cache."""

import os
from dataclasses import asdict
from pathlib import Path

import polars as pl
from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.output.console import OUT, number, print_json
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.models.cache.database import database_at
from graphrag_dagster.kernel.models.cache.upkeep import Upkeep
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.corpus_names import check_name
from graphrag_dagster.kernel.storage.home import memory_file
from graphrag_dagster.kernel.storage.warehouse import Warehouse


def upkeep() -> Upkeep:
    """The LLM cache of this home."""
    return Upkeep(database_at(memory_file()))


def show_stats(*, as_json: bool) -> None:
    """Print the size of the LLM cache."""
    stats = upkeep().stats()
    if as_json:
        print_json(stats)
        return
    OUT.print(f"{escape(stats['file'])}: {counted(stats['bytes'], 'byte')}", soft_wrap=True)
    if not (stats["replies"] or stats["vectors"]):
        OUT.print("the LLM cache is empty")
        return
    replies = RichTable(title="cached replies", title_justify="left")
    for column in ("task", "model", "replies", "tokens in", "tokens out"):
        replies.add_column(column, justify="left" if column in {"task", "model"} else "right")
    for row in stats["replies"]:
        counts = (number(row[name]) for name in ("replies", "input_tokens", "output_tokens"))
        replies.add_row(row["task"], escape(row["model"]), *counts)
    for row in stats["vectors"]:
        tokens = number(round(row["tokens"]))
        replies.add_row("embed", escape(row["model"]), number(row["vectors"]), tokens, "")
    OUT.print(replies)
    uses = RichTable(title="used by", title_justify="left")
    for column in ("corpus", "asset", "replies", "last used (UTC)"):
        uses.add_column(column, justify="right" if column == "replies" else "left")
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
        _refuse_changed(corpus)
    pruned = upkeep().prune(corpus, everything=everything)
    if as_json:
        print_json({"corpus": corpus, **asdict(pruned)})
        return
    OUT.print(
        f"{escape(corpus)}: deleted {counted(pruned.replies, 'reply', 'replies')} and "
        f"{counted(pruned.vectors, 'vector')}; "
        f"{pruned.kept:,} are in use"
    )


def export(path: Path, corpus: str | None) -> None:
    """Write every cached reply to a JSON Lines file, atomically."""
    partial = path.with_name(path.name + ".part")
    count = 0
    with partial.open("w", encoding="utf-8") as file:
        for line in upkeep().export(corpus):
            file.write(line + "\n")
            count += 1
    partial.replace(path)
    OUT.print(f"wrote {counted(count, 'reply', 'replies')} to {escape(os.fspath(path))}", soft_wrap=True)


def _refuse_changed(corpus: str) -> None:
    """What deleted documents left behind is only known once an index has seen that they are gone."""
    store, warehouse = CorpusStore(), Warehouse()
    if corpus not in store.names():
        raise CorpusError(f"there is no corpus {corpus!r} any more; to delete all it used, add --everything")
    seen = warehouse.read_if_present(tables.FILES, corpus)
    if seen is None or not _contents(seen).equals(_contents(store.read(corpus).files)):
        raise CorpusError(
            f"the folder of {corpus} has changed since it was indexed; index it first, or add --everything"
        )


def _contents(files: pl.DataFrame) -> pl.DataFrame:
    """Path and hash of the files of a corpus; ignored ones are none of it."""
    return files.filter(pl.col("status") != "ignored").select("path", "sha256").sort("path")
