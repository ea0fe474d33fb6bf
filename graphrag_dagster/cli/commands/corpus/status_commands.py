"""``graphrag-dagster status``: what changed since a corpus was published, and what an update takes."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.console import OUT, number, print_json
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.state_comparison import FileChanges
from graphrag_dagster.kernel.pipeline.index_status import Status, status_of
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.tables.declared_tables import declared_table

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.call_estimates import Plan

#: Exit code where something is to be done.
TO_DO = 6

_MOST_SHOWN = 12
_LONGEST_VALUE = 40


def show_status(target: str, *, as_json: bool) -> int:
    """Print what changed since a corpus was published, what is to be redone, and what that costs.

    Returns:
        the exit code: 0 where nothing is to be done, else 6.

    Raises:
        GraphragError: names the problem and the fix.
    """
    status = status_of(CorpusStore().resolve(target))
    plan, problem = _plan(status)
    if as_json:
        print_json(_json(status, plan, problem))
    else:
        _print(status, plan, problem)
    return 0 if status.up_to_date else TO_DO


def _plan(status: Status) -> "tuple[Plan | None, str | None]":
    if not (status.redo and status.files.current_count and status.asks_models):
        return None, None
    from graphrag_dagster.apps.planning.indexing_plan import plan_corpus

    try:
        return plan_corpus(status.corpus), None
    except GraphragError as error:
        return None, str(error)


def _print(status: Status, plan: "Plan | None", problem: str | None) -> None:
    name = escape(status.corpus)
    OUT.say(f"[bold]{name}[/]: {_state(status)}")
    if rows := list(_rows(status)):
        shown = RichTable(box=None, show_header=False, padding=(0, 2, 0, 0))
        shown.add_column(style="dim")
        shown.add_column(overflow="fold")
        for head, line in rows:
            shown.add_row(head, line)
        OUT.print(shown)
    if status.redo:
        OUT.say(f"to redo: {', '.join(status.redo)}. {_reuse(status)}")
    if status.asked:
        OUT.say(f"also affected, made by separate commands: {', '.join(status.asked)}")
    if plan and plan.estimates:
        from graphrag_dagster.cli.commands.plan_commands import print_estimates

        print_estimates("cost to catch up", plan)
    elif status.redo and not status.asks_models:
        OUT.say("cost: none, no model is used")
    if problem:
        OUT.warn(f"cost unknown: {problem}")
    if not status.up_to_date:
        OUT.say(f"to catch up: graphrag-dagster index {name}")


def _state(status: Status) -> str:
    if status.snapshot is None:
        return f"never published; {plural(status.files.current_count, 'file')}"
    since = f"published {status.snapshot.published[:16].replace('T', ' ')} UTC ({status.snapshot.version})"
    if status.damaged:
        return f"[red]damaged[/]: {escape(str(status.snapshot.file))} differs from what was {since}"
    if status.up_to_date:
        return f"[green]up to date[/], {since}"
    return f"[yellow]changed[/] since it was {since}" if status.redo else since


def _rows(status: Status) -> Iterator[tuple[str, str]]:
    if run := status.unfinished:
        where = f" in {run.step}" if run.step else ""
        told = "failed" + where if run.state == "failed" else "is still running or was killed"
        yield "run", f"[yellow]the run {run.run_id[:8]} of {run.begun[:16].replace('T', ' ')} UTC {told}[/]"
    if status.snapshot is None:
        return
    yield from _titled_rows("files", _files(status.files))
    yield from _titled_rows(
        "settings", (f"{escape(c.key)}: {_value(c.before)} → {_value(c.now)}" for c in status.settings)
    )
    yield from _titled_rows(
        "models", (f"{c.key}: {_value(c.before)} → {_value(c.now)}" for c in status.models)
    )
    yield from _titled_rows("prompts", map(escape, status.prompts))
    yield from _titled_rows(
        "code", dict.fromkeys(declared_table(key.replace("/", ".")).group for key in status.code)
    )
    yield from _titled_rows(
        "packages", (f"{c.key}: {_value(c.before)} → {_value(c.now)}" for c in status.libraries)
    )
    if status.package:
        yield "package", f"{_value(status.package.before)} → {_value(status.package.now)}"


def _files(files: FileChanges) -> Iterator[str]:
    yield from _first_few("[green]added[/]  ", map(escape, files.added))
    yield from _first_few("[yellow]edited[/] ", map(escape, files.edited))
    yield from _first_few(
        "[cyan]renamed[/]", (f"{escape(old)} → {escape(new)}" for old, new in files.renamed)
    )
    yield from _first_few("[red]removed[/]", map(escape, files.removed))
    if files:
        yield f"[dim]{number(files.unchanged)} unchanged[/]"


def _first_few(head: str, lines: Iterable[str]) -> Iterator[str]:
    every = list(lines)
    yield from (f"{head} {line}" for line in every[:_MOST_SHOWN])
    if len(every) > _MOST_SHOWN:
        yield f"{head} [dim]and {number(len(every) - _MOST_SHOWN)} more[/]"


def _titled_rows(title: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for place, line in enumerate(lines):
        yield ("" if place else title), line


def _value(value: Any) -> str:
    text = "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return escape(text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…")


def _reuse(status: Status) -> str:
    if status.snapshot is None:
        return "Nothing to reuse yet"
    return "Unchanged results are reused or come from the LLM cache"


def _json(status: Status, plan: "Plan | None", problem: str | None) -> dict[str, Any]:
    from graphrag_dagster.cli.commands.plan_commands import plan_json

    snapshot = status.snapshot
    return {
        "corpus": status.corpus,
        "up_to_date": status.up_to_date,
        "damaged": str(snapshot.file) if snapshot and status.damaged else None,
        "version": snapshot.version if snapshot else None,
        "published": snapshot.published if snapshot else None,
        "files": asdict(status.files) | {"now": status.files.current_count},
        "settings": [asdict(change) for change in status.settings],
        "models": [asdict(change) for change in status.models],
        "prompts": status.prompts,
        "code": status.code,
        "libraries": [asdict(change) for change in status.libraries],
        "package": asdict(status.package) if status.package else None,
        "redo": status.redo,
        "asked": status.asked,
        "unfinished": asdict(status.unfinished) if status.unfinished else None,
        "plan": plan_json(plan) if plan else None,
        "plan_problem": problem,
    }
