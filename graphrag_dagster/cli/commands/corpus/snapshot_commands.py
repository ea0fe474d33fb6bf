"""``graphrag-dagster snapshots`` and ``rollback``."""

from dataclasses import asdict, replace
from typing import Any

from rich.markup import escape

from graphrag_dagster.apps.explorer.open_snapshots import Snapshot, list_snapshots, snapshot_of
from graphrag_dagster.cli.console import OUT, number, print_json, table_of
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.published import folder_of, published, rollback
from graphrag_dagster.kernel.storage.published.shared_snapshots import shared_snapshots
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_COUNTED = ("documents", "entities", "reports")


def show_snapshots(name: str, *, as_json: bool) -> None:
    """Print the kept snapshots of a corpus, newest first.

    Raises:
        WarehouseError: nothing of it has been published.
    """
    warehouse = Warehouse()
    shared = shared_snapshots(warehouse, name)
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
    if as_json:
        print_json({"corpus": name, "snapshots": rows})
        return
    columns, numbers = ("", "version", "published, UTC", "run"), (*_COUNTED, "MB")
    # What rollback is to be told must be whole however narrow the terminal is.
    table = table_of(*columns, *numbers, numbers=numbers, no_wrap=True, box=None, padding=(0, 1, 0, 0))
    for row in rows:
        table.add_row(
            "*" if row["current"] else "",
            row["version"],
            row["published"][:16].replace("T", " "),
            (row["run"] or "")[:8],
            *(number(row[column]) for column in _COUNTED),
            f"{row['bytes'] / 1e6:,.1f}",
        )
    OUT.print(table)
    OUT.say(f"* is read. Files: {escape(str(folder_of(warehouse, name)))}")
    for row in rows:
        if row.get("url"):
            OUT.say(f"{row['version']}: {escape(row['url'])}", highlight=False)


def roll_back(name: str, version: str | None, *, as_json: bool) -> None:
    """Make an older snapshot the current one, and say which.

    Raises:
        WarehouseError: there is no such snapshot.
    """
    warehouse = Warehouse()
    before = published(warehouse, name)
    made = rollback(warehouse, name, version)
    if as_json:
        print_json({"corpus": name, "version": made.version, "before": before.version if before else None})
        return
    OUT.say(
        f"{escape(name)} is read as of {made.published[:19]}Z (snapshot {made.version}), until "
        f"'graphrag-dagster index {escape(name)}' publishes the newest state"
    )


def _row(one: Snapshot) -> dict[str, Any]:
    return {"run" if name == "run_id" else name: value for name, value in asdict(one).items()}
