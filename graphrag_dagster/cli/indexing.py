"""``graphrag-dagster index``: the Dagster job ``index``, run in this process."""

import os
import time
from pathlib import Path

from dagster import DagsterError, DagsterInstance, ExecuteInProcessResult

from graphrag_dagster.cli.console import ERR, OUT, print_json
from graphrag_dagster.cli.progress import ProgressBars
from graphrag_dagster.cli.showing import summary_table
from graphrag_dagster.core.errors import CorpusError, GraphragError
from graphrag_dagster.core.progress import listening
from graphrag_dagster.partitions import CORPUS
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.home import dagster_home
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import CORPUS_SUMMARY

_INSTANCE_SETTINGS = "telemetry:\n  enabled: false\n"
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def index_corpus(target: str, *, as_json: bool) -> None:
    """Index the corpus of that name, or the folder at that path, and print what came of it.

    Raises:
        GraphragError: what is wrong, and the mend.
    """
    store = CorpusStore()
    name = resolve(store, target)
    store.settings(name)
    begin = time.monotonic()
    with ProgressBars(ERR) as bars, listening(bars):
        result = run_index(name)
    summarise(name, result.run_id, time.monotonic() - begin, as_json=as_json)


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


def instance() -> DagsterInstance:
    """The persistent Dagster instance, made on first use; the UI on the same home shows its runs."""
    folder = dagster_home()
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "dagster.yaml"
    if not config.exists():
        config.write_text(_INSTANCE_SETTINGS, encoding="utf-8")
    os.environ["DAGSTER_HOME"] = str(folder)
    return DagsterInstance.get()


def run_index(name: str) -> ExecuteInProcessResult:
    """Run the job ``index`` for a corpus in this process, recorded in the instance.

    Raises:
        GraphragError: a step failed for a reason that is the user's to mend.
    """
    from graphrag_dagster.definitions import defs

    with instance() as dagster_instance:
        dagster_instance.add_dynamic_partitions(str(CORPUS.name), [name])
        try:
            return defs.resolve_job_def("index").execute_in_process(
                partition_key=name, instance=dagster_instance, run_config=_QUIET
            )
        except DagsterError as error:
            raise _mendable(error) from error


def _mendable(error: BaseException) -> BaseException:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, GraphragError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return error


def summarise(name: str, run_id: str, seconds: float, *, as_json: bool) -> None:
    """Print the counts of a finished run, and where its results are."""
    warehouse = Warehouse()
    summary = warehouse.read(CORPUS_SUMMARY, name)
    if as_json:
        print_json(
            {
                "corpus": name,
                "run_id": run_id,
                "seconds": round(seconds, 3),
                "warehouse": str(warehouse.file(name)),
                "summary": summary.to_dicts(),
            }
        )
        return
    OUT.print(summary_table(f"{name}: indexed in {seconds:.1f} s", summary))
    OUT.print(f"tables: {warehouse.file(name)}", soft_wrap=True)
