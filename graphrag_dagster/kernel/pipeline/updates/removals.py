"""Guard against a folder that lost nearly all its files: probably an unmounted disk, not an intended
deletion.
"""

import shlex

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.pipeline.updates.differences import changed_files
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse

#: The share of the published files that has to be gone, and most that there may be now in proportion to them.
_GONE, _LEFT = 0.8, 0.2


def check_removals(corpora: CorpusStore, warehouse: Warehouse, corpus: str) -> None:
    """Refuse to index a folder that has lost all or nearly all files since it was published.

    Files that were renamed are not gone. Nothing is refused where nothing is published, nor where
    ``corpora.accept_removals`` says that it is meant.

    Raises:
        CorpusError: too much is gone.
        SettingsError: the settings cannot be used.
    """
    snapshot = published(warehouse, corpus)
    if snapshot is None or corpora.accept_removals:
        return
    before = {file["path"] for file in snapshot.manifest.get("files") or ()}
    now = {file.path for file in corpora.found(corpus)}
    if not _suspicious(len(before), len(before - now), len(now)):
        return
    # Only now are they hashed, which tells what was renamed.
    removed = len(changed_files(corpora, corpus, snapshot).removed)
    if not _suspicious(len(before), removed, len(now)):
        return
    folder = corpora.folder(corpus)
    left = f"{removed:,} of the {counted(len(before), 'file')} that corpus {corpus!r} was published with"
    raise CorpusError(
        f"{left} are gone from {folder}, which contains {counted(len(now), 'file')} now; the published "
        "snapshots are unchanged. If its disk is not mounted, mount it, and run again; if they were "
        f"deleted on purpose, run: graphrag-dagster index {shlex.quote(corpus)} --accept-removals (in "
        "Dagster: accept_removals: true in the config of the resource corpora)"
    )


def _suspicious(before: int, gone: int, now: int) -> bool:
    return before > 0 and gone >= _GONE * before and now <= _LEFT * before
