"""``graphrag-dagster index``: the Dagster job ``index``, run in this process."""

import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from dagster import DagsterError, DagsterInstance, ExecuteInProcessResult
from rich.markup import escape

from graphrag_dagster.assets.retrying import RETRIES_TAG
from graphrag_dagster.cli.console import ERR, OUT, print_json
from graphrag_dagster.cli.failing import failed_checks
from graphrag_dagster.cli.progress import ProgressBars
from graphrag_dagster.cli.showing import summary_table
from graphrag_dagster.cli.spending import shortfall, usage_line, usage_rows, usage_table
from graphrag_dagster.core.errors import CorpusError, GraphragError, WarehouseError
from graphrag_dagster.core.progress import listening
from graphrag_dagster.partitions import CORPUS
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.home import dagster_home
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import CORPUS_SUMMARY

#: Exit code of a run that is finished but lacks something a model was to give.
INCOMPLETE = 3

_INSTANCE_SETTINGS = "telemetry:\n  enabled: false\nnux:\n  enabled: false\n"
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def index_corpus(
    target: str,
    *,
    max_tokens: int | None = None,
    max_usd: float | None = None,
    cold: bool = False,
    as_json: bool,
) -> int:
    """Index the corpus of that name, or the folder at that path, and print what came of it.

    Args:
        target: a name or a path.
        max_tokens: most tokens that the run may use.
        max_usd: most US dollars that the run may spend.
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
    run_id, begin = str(uuid.uuid4()), time.monotonic()
    limits = {"max_tokens": max_tokens, "max_usd": max_usd}
    try:
        with ProgressBars(ERR) as bars, listening(bars):
            run_index(
                name,
                run_id,
                {key: limit for key, limit in limits.items() if limit is not None},
                resources={"clustering": {"cold": True}} if cold else None,
            )
    except GraphragError:
        if (used := usage_line(name, run_id)) and not as_json:
            OUT.print(used, soft_wrap=True)
        raise
    return summarise(name, run_id, time.monotonic() - begin, as_json=as_json)


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


def run_index(
    name: str,
    run_id: str | None = None,
    limits: Mapping[str, float] | None = None,
    *,
    job: str = "index",
    resources: Mapping[str, Mapping[str, object]] | None = None,
) -> ExecuteInProcessResult:
    """Run the job ``index``, or another, for a corpus in this process, recorded in the instance.

    Args:
        name: the corpus.
        run_id: id of the run; default: a new one.
        limits: ``max_tokens`` and ``max_usd`` of the run.
        job: name of the job.
        resources: configuration of further resources, by name.

    Raises:
        GraphragError: a step failed for a reason that is the user's to mend.
    """
    from graphrag_dagster.definitions import defs

    with instance() as dagster_instance:
        dagster_instance.add_dynamic_partitions(str(CORPUS.name), [name])
        try:
            return defs.resolve_job_def(job).execute_in_process(
                partition_key=name,
                instance=dagster_instance,
                run_id=run_id,
                tags={RETRIES_TAG: "0"},
                run_config={
                    **_QUIET,
                    "resources": {
                        "language": {"config": dict(limits or {})},
                        **{key: {"config": dict(config)} for key, config in (resources or {}).items()},
                    },
                },
            )
        except DagsterError as error:
            if "blocking asset check" in str(error) and (failed := failed_checks(dagster_instance, name)):
                raise WarehouseError(failed) from error
            raise _mendable(error) from error


def _mendable(error: BaseException) -> BaseException:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, GraphragError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return error


def summarise(name: str, run_id: str, seconds: float, *, as_json: bool) -> int:
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
                "run_id": run_id,
                "seconds": round(seconds, 3),
                "warehouse": str(warehouse.file(name)),
                "summary": summary.to_dicts(),
                "usage": usage_rows(name, run_id),
                "missing": missing,
            }
        )
    else:
        OUT.print(summary_table(f"{name}: indexed in {seconds:.1f} s", summary))
        if used := usage_table(name, run_id):
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
