"""``graphrag-dagster index``: the Dagster job ``index``, run in this process."""

import os
from pathlib import Path

from rich.markup import escape

from graphrag_dagster.cli.console import OUT, print_json
from graphrag_dagster.cli.running import INCOMPLETE, Budget, Ran, run_watched
from graphrag_dagster.cli.showing import summary_table
from graphrag_dagster.cli.spending import shortfall, usage_rows, usage_table
from graphrag_dagster.core.errors import CorpusError
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import CORPUS_SUMMARY


def index_corpus(
    target: str,
    *,
    budget: Budget | None = None,
    cold: bool = False,
    as_json: bool,
) -> int:
    """Index the corpus of that name, or the folder at that path, and print what came of it.

    Args:
        target: a name or a path.
        budget: what the run may use; default: no limit.
        cold: find the communities from nothing.
        as_json: print JSON.

    Returns:
        the exit code: 0, or 3 where something that a model was to give is missing.

    Raises:
        GraphragError: what is wrong, and the mend.
    """
    store = CorpusStore()
    name = resolve(store, target)
    store.settings(name)
    ran = run_watched(
        name,
        "index",
        budget,
        resources={"clustering": {"cold": True}} if cold else None,
        as_json=as_json,
    )
    return summarise(name, ran, as_json=as_json)


def resolve(store: CorpusStore, target: str) -> str:
    """Return the name of the corpus that ``target`` names, or that lies in the folder it leads to."""
    if target in store.names():
        return target
    if Path(target).is_dir() and (
        os.sep in target or Path(target).resolve() != store.path.resolve() / target
    ):
        return store.register(Path(target))
    if os.sep in target:
        raise CorpusError(f"{target} is not a folder")
    store.folder(target)
    return target


def summarise(name: str, ran: Ran, *, as_json: bool) -> int:
    """Print the counts of a finished run, what it used, what is missing, and where its results are.

    Returns:
        the exit code: 0, or 3 where something is missing.
    """
    warehouse = Warehouse()
    summary = warehouse.read(CORPUS_SUMMARY, name)
    missing = shortfall(warehouse, name)
    if as_json:
        print_json(
            {
                "corpus": name,
                "run_id": ran.run_id,
                "seconds": round(ran.seconds, 3),
                "warehouse": str(warehouse.file(name)),
                "summary": summary.to_dicts(),
                "usage": usage_rows(name, ran.run_id),
                "missing": missing,
            }
        )
    else:
        OUT.print(summary_table(f"{name}: indexed in {ran.seconds:.1f} s", summary))
        if used := usage_table(name, ran.run_id):
            OUT.print(used)
        OUT.print(f"tables: {warehouse.file(name)}", soft_wrap=True)
        for line in missing:
            OUT.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)
        if missing:
            OUT.print(
                f"[yellow]run again to try only these once more: graphrag-dagster index {escape(name)}[/]",
                soft_wrap=True,
            )
    return INCOMPLETE if missing else 0
