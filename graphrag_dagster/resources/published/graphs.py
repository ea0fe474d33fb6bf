"""The files of property graphs that were made of snapshots: beside these, and gone with them."""

from collections.abc import Collection
from pathlib import Path

from filelock import FileLock, Timeout

from graphrag_dagster.resources.published.manifest import Published
from graphrag_dagster.tables.property_graph import FORMAT

#: Folder beside the snapshots.
GRAPHS = "graphs"
_LOCK = ".lock"
_DATA = ".lbug"


def graph_file(snapshot: Published) -> Path:
    """Where the graph of a snapshot is, or is put; snapshots that differ in their answers alone share one."""
    return snapshot.file.parent / GRAPHS / f"{snapshot.index}-{FORMAT}{_DATA}"


def graph_lock(folder: Path, seconds: float) -> FileLock:
    """The lock of who makes graphs beside the snapshots of a folder."""
    return FileLock(folder / GRAPHS / _LOCK, timeout=seconds)


def keep_graphs(folder: Path, kept: Collection[Published]) -> None:
    """Delete the graphs of snapshots that are gone, and what a killed process left of one.

    Args:
        folder: of the snapshots of a corpus.
        kept: the snapshots that stay.

    Raises:
        OSError: a graph cannot be deleted.
    """
    if not (folder / GRAPHS).is_dir():
        return
    names = {graph_file(one).name for one in kept}
    for file in (folder / GRAPHS).glob(f"*{_DATA}"):
        if file.name not in names:
            file.unlink(missing_ok=True)
    try:
        with graph_lock(folder, 0):
            remove_unfinished(folder)
    except Timeout:
        # Who makes a graph now clears up behind it, and deletes one of a snapshot that is gone.
        return


def remove_unfinished(folder: Path) -> None:
    """Delete what a killed process left; for who holds the lock."""
    for left in (folder / GRAPHS).glob(".*.tmp"):
        for file in left.iterdir():
            file.unlink(missing_ok=True)
        left.rmdir()
