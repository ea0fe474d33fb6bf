"""``graphrag-dagster delete``: removes what was made of a corpus, or only Dagster's records of it."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from graphrag_dagster.cli.console import ERR
from graphrag_dagster.cli.options import Name
from graphrag_dagster.cli.result import Result
from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.pipeline.corpus_deletion import Deleted, delete_derived, derived_paths
from graphrag_dagster.kernel.storage.corpus_names import check_name
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published.shared_snapshots import SharedSnapshots, shared_corpora
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_instance import check_idle, instance
from graphrag_dagster.resources.dagster_keys import CORPUS
from graphrag_dagster.resources.run_history import (
    forget_partition,
    purge_history,
    runs_of,
)


def delete_corpus(
    name: Name,
    history: Annotated[
        bool,
        typer.Option("--history", help="Only delete the runs from Dagster, with events, logs and previews."),
    ] = False,
    keep_last: Annotated[
        bool, typer.Option("--keep-last", help="With --history: keep the last good index and later runs.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> Result:
    """Delete everything made of a corpus, and never its folder; or only Dagster's records of its runs.

    Raises:
        CorpusError: nothing was made of a corpus of that name, a run of it is under way, or nobody agreed.
        DagsterHistoryError: Dagster's files are in use.
        GraphragError: something cannot be deleted.
    """
    check_name(name)
    if keep_last and not history:
        raise typer.BadParameter("--keep-last needs --history")
    return _delete_history(name, keep_last=keep_last, yes=yes) if history else _delete_all(name, yes=yes)


def _delete_all(name: str, *, yes: bool) -> Result:
    store, warehouse = CorpusStore(), Warehouse()
    known = name in store.names()
    folder = store.folder(name) if known else None
    paths, shared = derived_paths(warehouse, name), SharedSnapshots.of(warehouse, name)
    with instance() as dagster_instance:
        runs = runs_of(dagster_instance, name)
        registered = dagster_instance.has_dynamic_partition(str(CORPUS.name), name)
        if not (paths or runs or registered or known or (shared and name in shared_corpora(warehouse))):
            raise CorpusError(f"nothing was made of a corpus {name!r}; 'graphrag-dagster corpora' lists them")
        if not yes:
            every = f"the cached replies and accounts of {name}, and {plural(len(runs), 'run')} of Dagster"
            listed = [*map(str, paths), *([f"{shared.url} (shared by machines)"] if shared else [])]
            _confirm(f"Delete all this, {every}?", listed)
        check_idle(name)
        deleted = delete_derived(warehouse, name)
        purged = purge_history(dagster_instance, name)
        forget_partition(dagster_instance, name)
    store.forget(name)
    facts = {
        "corpus": name,
        "deleted": deleted.paths,
        "shared": deleted.shared,
        "replies": deleted.memory.replies,
        "vectors": deleted.memory.vectors,
        "runs": purged.runs,
        "folder": folder,
    }
    return Result(facts, _deleted(deleted, purged.runs, folder, again=name in store.names()))


def _deleted(deleted: Deleted, runs: int, folder: Path | None, *, again: bool) -> Iterator[str]:
    for path in (*deleted.paths, *([deleted.shared] if deleted.shared else [])):
        yield f"deleted {path}"
    for path in deleted.kept:
        yield f"{path} stays: something else is in it"
    yield (
        f"deleted {plural(deleted.memory.replies, 'reply', 'replies')} and "
        f"{plural(deleted.memory.vectors, 'vector')} that no other corpus uses, and "
        f"{plural(runs, 'run')} of Dagster"
    )
    if folder:
        # A folder elsewhere was a corpus only by its pointer, which is gone.
        anew = "'index', and a sensor that is on, make" if again else "'index' with its path makes"
        yield f"its folder stays: {folder}; {anew} everything anew"


def _delete_history(name: str, *, keep_last: bool, yes: bool) -> Result:
    with instance() as dagster_instance:
        runs = runs_of(dagster_instance, name)
        if not (runs or derived_paths(Warehouse(), name) or name in CorpusStore().names()):
            raise CorpusError(
                f"Dagster keeps nothing of a corpus {name!r}; 'graphrag-dagster corpora' lists what there is"
            )
        if runs and not yes:
            kept = " but for the last index and what ran after it" if keep_last else ""
            _confirm(f"Delete {plural(len(runs), 'run')} of {name} from Dagster's records{kept}?")
        check_idle(name)
        purged = purge_history(dagster_instance, name, keep_last=keep_last)
    text = (
        f"{name}: deleted {plural(purged.runs, 'run')} of Dagster, kept {purged.kept:,}; its files "
        f"had {purged.before:,} bytes and have {purged.after:,}"
    )
    return Result({"corpus": name, **asdict(purged)}, [text])


def _confirm(question: str, paths: Iterable[str] = ()) -> None:
    for path in paths:
        ERR.say(f"  {path}", markup=False)
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not sys.stdin.isatty():
        # Nobody ended the line of the question with a key.
        ERR.print()
    if not agreed:
        raise CorpusError("nothing was deleted; --yes deletes without asking")
