"""``graphrag-dagster index``: the Dagster job ``index``, run in this process."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import polars as pl
from rich.filesize import decimal
from rich.text import Text

from graphrag_dagster.cli.commands.corpus.show_commands import (
    account_lines,
    figures_table,
    language_lines,
    unread_lines,
    unread_rows,
)
from graphrag_dagster.cli.console import ERR
from graphrag_dagster.cli.progress_bars import watching
from graphrag_dagster.cli.result import Part, Result
from graphrag_dagster.cli.run_budget import INCOMPLETE, RunBudget, RunOutcome
from graphrag_dagster.cli.run_summary import (
    INDEXED,
    repaired_line,
    repaired_rows,
    shortfall_lines,
    usage_rows,
    usage_table,
)
from graphrag_dagster.errors import CorpusError, GraphragError, WarehouseError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.state_comparison import PLACE, compare_documents
from graphrag_dagster.kernel.documents.documents import unread_files
from graphrag_dagster.kernel.pipeline.corpus_changes import check_before_index
from graphrag_dagster.kernel.pipeline.corpus_deletion import withdraw
from graphrag_dagster.kernel.pipeline.erasure import deleted_documents, note_file
from graphrag_dagster.kernel.pipeline.index_status import status_of
from graphrag_dagster.kernel.storage.corpus_names import is_allowed
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.duckdb_access import keep_open
from graphrag_dagster.kernel.storage.published import published, reading
from graphrag_dagster.kernel.storage.published.shared_snapshots import SharedSnapshots
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.core_tables import CORPUS_SUMMARY, DOCUMENTS, FILES, UNIT_LEDGER
from graphrag_dagster.kernel.tables.import_tables import IMPORT_ACCOUNT
from graphrag_dagster.resources.unfinished_index import unfinished_index
from graphrag_dagster.systems.graphrag.index.extraction_tables import (
    units_without_grammar,
    unreadable_units,
)

#: Ignored files and folders that are named.
_MOST_IGNORED = 3


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """What is asked of an index.

    Attributes:
        budget: what the run may use; default: no limit.
        name: of the corpus in a folder; default: made of the folder's name.
        cold: find the communities from nothing.
        again: run even where nothing has changed.
        accept_removals: run even where all or nearly all files are gone since the corpus was published.
        take_over: publish where machines share snapshots although another home has published since.
    """

    budget: RunBudget | None = None
    name: str | None = None
    cold: bool = False
    again: bool = False
    accept_removals: bool = False
    take_over: bool = False


def index_corpus(target: str, wanted: IndexOptions | None = None) -> Result:
    """Index the corpus of that name, or the folder at that path, and return what came of it.

    Where nothing differs from what is published, and nothing is missing there, nothing is run. A folder that
    becomes a corpus now is none again where its index fails before anything is extracted.

    The exit code is 3 where something that a model was to give is missing.

    Raises:
        GraphragError: names the problem and the fix.
    """
    wanted = wanted or IndexOptions()
    store = CorpusStore(accept_removals=wanted.accept_removals)
    known = store.names()
    name = _resolve_corpus(store, target, wanted.name)
    folder = store.folder(name).resolve().name
    if name not in known and name != folder:
        ERR.say(f"the folder {folder!r} is corpus {name}", markup=False)
    try:
        store.settings(name)
        check_before_index(store, Warehouse(take_over=wanted.take_over), name)
        since = None if wanted.cold or wanted.again or wanted.take_over else published_as_it_is(name)
        before = _published_documents(name)
        ran = RunOutcome(None, 0.0) if since else _run_index(name, wanted, before.is_empty())
    except BaseException:
        if name not in known and withdraw(store, Warehouse(), name):
            from graphrag_dagster.resources.run_history import forget_partition_if_recorded

            forget_partition_if_recorded(name)
        raise
    with keep_open():
        return summarise(name, ran, before, since=since)


def _resolve_corpus(store: CorpusStore, target: str, name: str | None) -> str:
    try:
        return store.resolve(target, name)
    except CorpusError as error:
        if not is_allowed(target) or published(Warehouse(), target) is None:
            raise
        raise CorpusError(
            f"the folder of corpus {target!r} is gone ({error}). What was published stays: put the folder "
            f"back, or mount its disk, and run again; or 'graphrag-dagster delete {target}'"
        ) from error


def _published_documents(name: str) -> pl.DataFrame:
    """Return the documents that are published, none where nothing is or can be read."""
    columns = ("document_id", *PLACE)
    with suppress(WarehouseError):
        if published(Warehouse(), name):
            with reading(Warehouse(), name) as (reader, _):
                found = reader.read_if_present(DOCUMENTS)
            if found is not None:
                return found.select(columns)
    return DOCUMENTS.empty().select(columns)


def _run_index(name: str, wanted: IndexOptions, is_first: bool) -> RunOutcome:
    # Loaded for a run: it takes twice as long as finding out that none is needed.
    from graphrag_dagster.cli.job_runner import run_watched

    with watching():
        before = _work_line(name, is_first)
    ERR.say(before, markup=False)
    resources = {"clustering": {"cold": True}} if wanted.cold else {}
    if wanted.accept_removals:
        resources["corpora"] = {"accept_removals": True}
    if wanted.take_over:
        resources["warehouse"] = {"take_over": True}
    ran = run_watched(name, "index", wanted.budget, resources=resources)
    # Noted while Dagster is loaded, so that an index of what is unchanged need not load it.
    unfinished_index(name)
    return ran


def _work_line(name: str, is_first: bool) -> str:
    """Return how big a corpus is, and which model its index asks; of a first index, about how often."""
    store = CorpusStore()
    settings, sizes = store.settings(name), store.sizes(name)
    size = f"{plural(len(sizes), 'file')}, {decimal(sum(sizes.values()))}"
    if not any(map(settings.asks_model, settings.asked_by_index)):
        return f"{size}; no model is used"
    calls = ""
    if is_first:
        from graphrag_dagster.apps.planning.indexing_plan import plan_corpus

        # The run itself says what is wrong with the documents.
        with suppress(GraphragError):
            planned = sum(one.calls.expected for one in plan_corpus(name).estimates)
            calls = f", about {planned:,.0f} calls"
    return f"{size}; model {settings.model.for_role('extract').name} is used{calls}"


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
        status = status_of(name, unfinished_index(name))
        if not status.unchanged or not status.snapshot:
            return None
        if note_file(warehouse, name).exists() or deleted_documents(warehouse, name):
            return None
        shared = SharedSnapshots.of(warehouse, name)
        if shared and not shared.uploaded(status.snapshot):
            return None
        if shortfall_lines(warehouse, name):
            return None
    except WarehouseError:
        return None
    return status.snapshot.published[:16].replace("T", " ")


def summarise(name: str, ran: RunOutcome, before: pl.DataFrame, *, since: str | None = None) -> Result:
    """Return what a finished run changed, its counts, what it used and lacks, and where results are."""
    warehouse = Warehouse()
    summary = warehouse.read(CORPUS_SUMMARY, name)
    missing = shortfall_lines(warehouse, name)
    ledger = warehouse.read(UNIT_LEDGER, name)
    repaired = repaired_rows(warehouse, name, INDEXED)
    files = warehouse.read(FILES, name)
    changed = compare_documents(before, warehouse.read(DOCUMENTS, name))
    account = warehouse.read(IMPORT_ACCOUNT, name)
    corpus = shlex.quote(name)
    used = usage_rows(name, ran.run_id)

    def shown() -> Iterator[Part]:
        text = f"up to date since {since} UTC" if since else f"indexed in {ran.seconds:.1f} s"
        yield Text.assemble((name, "bold"), f": {text}")
        yield f"documents: {_changes(changed)}{_unread(files)}"
        yield from unread_lines(name, files)
        yield from account_lines(account)
        yield figures_table(summary)
        yield f"details: graphrag-dagster show {corpus}"
        yield from usage_table(used)
        yield f"tables: {warehouse.file(name)}"
        if since:
            yield f"nothing has changed; to run anyway: graphrag-dagster index {corpus} --again"
        yield from language_lines(ledger)
        if line := repaired_line(repaired):
            yield line

    facts = {
        "corpus": name,
        "run_id": ran.run_id,
        "seconds": round(ran.seconds, 3),
        "warehouse": warehouse.file(name),
        "documents": changed,
        "summary": summary,
        **unread_rows(files),
        "rows": account,
        "up_to_date": since is not None,
        "usage": used,
        "missing": missing,
        "repaired": repaired,
        "unreadable": unreadable_units(ledger),
        "without_grammar": units_without_grammar(ledger),
    }
    retry = [f"to retry only these: graphrag-dagster index {corpus}"] if missing else []
    return Result(facts, shown(), [*missing, *retry], INCOMPLETE if missing else 0)


def _changes(changed: Mapping[str, int]) -> str:
    counts = {name: count for name, count in changed.items() if count}
    if set(counts) <= {"unchanged"}:
        return f"{plural(changed['unchanged'], 'document')}, none of them changed"
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())


def _unread(files: pl.DataFrame) -> str:
    unread = unread_files(files)
    ignored = unread.filter(status="ignored")["path"].to_list()
    count = unread.height - len(ignored)
    more = ", …" if len(ignored) > _MOST_IGNORED else ""
    text = f"; {len(ignored):,} ignored ({', '.join(ignored[:_MOST_IGNORED])}{more})" if ignored else ""
    return (f"; {plural(count, 'file')} not read" if count else "") + text
