"""``graphrag-dagster snapshots`` and ``rollback``."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from graphrag_dagster.apps.explorer.open_snapshots import Snapshot, list_snapshots, snapshot_of
from graphrag_dagster.cli.options import Name
from graphrag_dagster.cli.result import Frame, Result
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.published import folder_of, published, rollback
from graphrag_dagster.kernel.storage.published.shared_snapshots import SharedSnapshots
from graphrag_dagster.kernel.storage.warehouse import Warehouse


def show_snapshots(name: Name) -> Result:
    """Show the kept snapshots of a corpus, newest first.

    Raises:
        WarehouseError: nothing of it has been published.
    """
    warehouse = Warehouse()
    shared = SharedSnapshots.of(warehouse, name)
    there = {one.version: (one, size) for one, size in shared.manifests()} if shared else {}
    kept = list_snapshots(warehouse, name)
    here = {one.version for one in kept}
    kept += [
        replace(snapshot_of(one, None), bytes=size) for one, size in there.values() if one.version not in here
    ]
    if not kept:
        raise WarehouseError(
            f"nothing of corpus {name!r} has been published; run 'graphrag-dagster index {name}'"
        )
    rows = [_row(one) for one in sorted(kept, key=lambda one: one.published, reverse=True)]
    if shared:
        for row in rows:
            found = there.get(row["version"])
            row["url"] = shared.url_of(found[0]) if found else None
    return Result({"corpus": name, "snapshots": rows}, _shown(rows, folder_of(warehouse, name)))


def _shown(rows: list[dict[str, Any]], folder: Path) -> Iterator[str | Frame]:
    # What rollback is to be told must be whole however narrow the terminal is.
    yield Frame(pl.DataFrame([_cells(row) for row in rows]), bare=True)
    yield f"* is read. Files: {folder}"
    for row in rows:
        if row.get("url"):
            yield f"{row['version']}: {row['url']}"


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "": "*" if row["current"] else "",
        "version": row["version"],
        "published, UTC": row["published"][:16].replace("T", " "),
        "run": (row["run"] or "")[:8],
        **{name: row[name] for name in ("documents", "entities", "reports")},
        "MB": row["bytes"] / 1e6,
    }


def roll_back(
    name: Name,
    version: Annotated[
        str | None, typer.Argument(help="Snapshot version; default: the previous one.")
    ] = None,
) -> Result:
    """Make an older snapshot the current one.

    Raises:
        WarehouseError: there is no such snapshot.
    """
    warehouse = Warehouse()
    before = published(warehouse, name)
    made = rollback(warehouse, name, version)
    text = (
        f"{name} is read as of {made.published[:19]}Z (snapshot {made.version}), until "
        f"'graphrag-dagster index {name}' publishes the newest state"
    )
    facts = {"corpus": name, "version": made.version, "before": before.version if before else None}
    return Result(facts, [text])


def _row(one: Snapshot) -> dict[str, Any]:
    return {"run" if name == "run_id" else name: value for name, value in asdict(one).items()}
