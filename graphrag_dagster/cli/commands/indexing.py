"""``graphrag-dagster index``: the Dagster job ``index``, run in this process."""

import time
import uuid

from rich.markup import escape

from graphrag_dagster.cli.code_now import code_now
from graphrag_dagster.cli.commands.showing import print_unreadable, summary_table
from graphrag_dagster.cli.output.accounted import print_accounted
from graphrag_dagster.cli.output.console import OUT, print_json
from graphrag_dagster.cli.output.mending import INDEXED, repaired_line, repaired_rows
from graphrag_dagster.cli.output.ran import INCOMPLETE, Budget, Ran
from graphrag_dagster.cli.output.spending import shortfall, usage_rows, usage_table
from graphrag_dagster.cli.output.unread import name_unread, unread_rows
from graphrag_dagster.cli.output.watching import watching
from graphrag_dagster.core.extraction.ledger import unreadable_units
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.operations.keeping.changes import status_of
from graphrag_dagster.operations.keeping.residue import gone_documents, note_file
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.duckdb_files.opening import staying_open
from graphrag_dagster.resources.published import published
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import CORPUS_SUMMARY, EXTRACTION_STATE, FILES, IMPORT_ACCOUNT, UNIT_LEDGER

_EXTRACTION = "/".join(EXTRACTION_STATE.asset_key)


def index_corpus(
    target: str,
    *,
    budget: Budget | None = None,
    cold: bool = False,
    again: bool = False,
    as_json: bool,
) -> int:
    """Index the corpus of that name, or the folder at that path, and print what came of it.

    Where nothing differs from what is published, and nothing is missing there, nothing is run.

    Args:
        target: a name or a path.
        budget: what the run may use; default: no limit.
        cold: find the communities from nothing.
        again: run even where nothing has changed.
        as_json: print JSON.

    Returns:
        the exit code: 0, or 3 where something that a model was to give is missing.

    Raises:
        GraphragError: what is wrong, and the mend.
    """
    store = CorpusStore()
    name = store.resolve(target)
    store.settings(name)
    since = None if cold or again else published_as_it_is(name)
    ran = Ran(None, 0.0) if since else _ran(name, budget, cold=cold, as_json=as_json)
    with staying_open():
        return summarise(name, ran, since=since, as_json=as_json)


def _ran(name: str, budget: Budget | None, *, cold: bool, as_json: bool) -> Ran:
    run_id, begin = str(uuid.uuid4()), time.monotonic()
    # Loaded for a run: it takes twice as long as finding out that none is needed.
    from graphrag_dagster.operations.keeping.begun_extraction import begin_index

    with watching():
        limited = bool(budget and budget.config())
        begin_index(name, run_id, code_now()[_EXTRACTION].version, limited=limited)
        # Dagster is loaded while what was begun goes on.
        from graphrag_dagster.cli.output.outlook import show_outlook
        from graphrag_dagster.cli.output.running import run_told
        from graphrag_dagster.operations.planning.outlook import note_indexing, outlook

        show_outlook(outlook(name))
        resources = {"clustering": {"cold": True}} if cold else None
        run_told(name, "index", budget, run_id=run_id, resources=resources, as_json=as_json)
    ran = Ran(run_id, time.monotonic() - begin)
    note_indexing(name, ran.seconds)
    return ran


def published_as_it_is(name: str) -> str | None:
    """Return when the corpus was published as it would be now; None where a run has something to do.

    A run has to mend what is damaged, too.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used.
    """
    warehouse = Warehouse()
    try:
        if not warehouse.file(name).is_file() or published(warehouse, name) is None:
            return None
        status = status_of(name, code_now())
        if not status.unchanged or not status.snapshot:
            return None
        if note_file(warehouse, name).exists() or gone_documents(warehouse, name):
            return None
        if shortfall(warehouse, name):
            return None
    except WarehouseError:
        return None
    return status.snapshot.published[:16].replace("T", " ")


def summarise(name: str, ran: Ran, *, since: str | None = None, as_json: bool) -> int:
    """Print the counts of a finished run, what it used, what is missing, and where its results are.

    Args:
        name: the corpus.
        ran: the run.
        since: when it was published, where nothing was run.
        as_json: print JSON.

    Returns:
        the exit code: 0, or 3 where something is missing.
    """
    warehouse = Warehouse()
    summary = warehouse.read(CORPUS_SUMMARY, name)
    missing = shortfall(warehouse, name)
    unreadable = unreadable_units(warehouse.read(UNIT_LEDGER, name))
    repaired = repaired_rows(warehouse, name, INDEXED)
    files = warehouse.read(FILES, name)
    account = warehouse.read(IMPORT_ACCOUNT, name)
    if as_json:
        print_json(
            {
                "corpus": name,
                "run_id": ran.run_id,
                "seconds": round(ran.seconds, 3),
                "warehouse": str(warehouse.file(name)),
                "summary": summary.to_dicts(),
                **unread_rows(files),
                "rows": account.to_dicts(),
                "up_to_date": since is not None,
                "usage": usage_rows(name, ran.run_id),
                "missing": missing,
                "repaired": repaired,
                "unreadable": unreadable,
            }
        )
    else:
        told = f"up to date since {since} UTC" if since else f"indexed in {ran.seconds:.1f} s"
        OUT.print(summary_table(f"{name}: {told}", summary))
        name_unread(name, files)
        print_accounted(account)
        if used := usage_table(name, ran.run_id):
            OUT.print(used)
        OUT.print(f"tables: {escape(str(warehouse.file(name)))}", soft_wrap=True)
        if since:
            command = f"graphrag-dagster index {escape(name)} --again"
            OUT.print(f"nothing has changed; to run all the same: {command}", soft_wrap=True)
        print_unreadable(unreadable)
        if mended := repaired_line(repaired):
            OUT.print(mended, soft_wrap=True)
        for line in missing:
            OUT.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)
        if missing:
            OUT.print(
                f"[yellow]run again to try only these once more: graphrag-dagster index {escape(name)}[/]",
                soft_wrap=True,
            )
    return INCOMPLETE if missing else 0
