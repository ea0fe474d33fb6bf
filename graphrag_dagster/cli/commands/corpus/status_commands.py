"""``graphrag-dagster status``: what changed since a corpus was published, and what an update takes."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.text import Text

from graphrag_dagster.cli.options import Target
from graphrag_dagster.cli.result import Part, Result, facts_table
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.common.printable import plural, shorten
from graphrag_dagster.kernel.common.state_comparison import Change, FileChanges
from graphrag_dagster.kernel.pipeline.index_status import Status, status_of
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.tables.declared_tables import declared_table
from graphrag_dagster.resources.unfinished_index import unfinished_index

if TYPE_CHECKING:
    from graphrag_dagster.kernel.models.call_estimates import Plan

#: Exit code where something is to be done.
TO_DO = 6

#: Of a status, what ``--json`` gives as it is.
_FACTS = (
    *("corpus", "up_to_date", "settings", "models", "prompts", "code", "libraries", "package"),
    *("redo", "asked", "unfinished"),
)
_MOST_SHOWN = 12
_LONGEST_VALUE = 40


def show_status(target: Target) -> Result:
    """Show what changed since a corpus was published, what is to be redone, and what that costs.

    Raises:
        GraphragError: names the problem and the fix.
    """
    name = CorpusStore().resolve(target)
    status = status_of(name, unfinished_index(name))
    plan, problem = _plan(status)
    code = 0 if status.up_to_date else TO_DO
    return Result(_facts(status, plan, problem), _shown(status, plan, problem), code=code)


def _plan(status: Status) -> "tuple[Plan | None, str | None]":
    if not (status.redo and status.files.current_count and status.asks_models):
        return None, None
    from graphrag_dagster.apps.planning.indexing_plan import plan_corpus

    try:
        return plan_corpus(status.corpus), None
    except GraphragError as error:
        return None, str(error)


def _shown(status: Status, plan: "Plan | None", problem: str | None) -> Iterator[Part]:
    yield Text.assemble((status.corpus, "bold"), ": ", *_state(status))
    if rows := list(_rows(status)):
        yield facts_table(rows)
    if status.redo:
        reuse = "; unchanged results are reused" if status.snapshot else ""
        yield f"to redo: {', '.join(status.redo)}{reuse}"
    if status.asked:
        yield f"also affected, made by separate commands: {', '.join(status.asked)}"
    if plan and plan.estimates:
        from graphrag_dagster.cli.commands.plan_commands import estimates

        yield from estimates("cost to catch up", plan)
    elif status.redo and not status.asks_models:
        yield "cost: none, no model is used"
    if problem:
        yield Text(f"cost unknown: {problem}", "yellow")
    if not status.up_to_date:
        yield f"to catch up: graphrag-dagster index {status.corpus}"


def _state(status: Status) -> list[str | tuple[str, str]]:
    if status.snapshot is None:
        return [f"never published; {plural(status.files.current_count, 'file')}"]
    since = f"published {status.snapshot.published[:16].replace('T', ' ')} UTC ({status.snapshot.version})"
    if status.damaged:
        return [("damaged", "red"), f": {status.snapshot.file} differs from what was {since}"]
    if status.up_to_date:
        return [("up to date", "green"), f", {since}"]
    return [("changed", "yellow"), f" since it was {since}"] if status.redo else [since]


def _rows(status: Status) -> Iterator[tuple[str, str | Text]]:
    if run := status.unfinished:
        where = f" in {run.step}" if run.step else ""
        text = "failed" + where if run.state == "failed" else "is still running or was killed"
        begun = run.begun[:16].replace("T", " ")
        yield "run", Text(f"the run {run.run_id[:8]} of {begun} UTC {text}", "yellow")
    if status.snapshot is None:
        return
    yield from _titled_rows("files", _files(status.files))
    yield from _titled_rows("settings", map(_change, status.settings))
    yield from _titled_rows("models", map(_change, status.models))
    yield from _titled_rows("prompts", status.prompts)
    yield from _titled_rows(
        "code", dict.fromkeys(declared_table(key.replace("/", ".")).group for key in status.code)
    )
    yield from _titled_rows("packages", map(_change, status.libraries))
    if status.package:
        yield "package", f"{_value(status.package.before)} → {_value(status.package.now)}"


def _change(change: Change) -> str:
    return f"{change.key}: {_value(change.before)} → {_value(change.now)}"


def _files(files: FileChanges) -> Iterator[Text]:
    renamed = tuple(f"{old} → {new}" for old, new in files.renamed)
    for head, style, lines in (
        ("added  ", "green", files.added),
        ("edited ", "yellow", files.edited),
        ("renamed", "cyan", renamed),
        ("removed", "red", files.removed),
    ):
        more = [f"and {len(lines) - _MOST_SHOWN:,} more"] if len(lines) > _MOST_SHOWN else []
        yield from (Text.assemble((head, style), f" {line}") for line in (*lines[:_MOST_SHOWN], *more))
    if files:
        yield Text(f"{files.unchanged:,} unchanged", "dim")


def _titled_rows(title: str, lines: Iterable[str | Text]) -> Iterator[tuple[str, str | Text]]:
    for place, line in enumerate(lines):
        yield ("" if place else title), line


def _value(value: Any) -> str:
    return shorten("none" if value is None else str(value), _LONGEST_VALUE)


def _facts(status: Status, plan: "Plan | None", problem: str | None) -> dict[str, Any]:
    from graphrag_dagster.cli.commands.plan_commands import plan_facts

    snapshot = status.snapshot
    return {
        **{name: getattr(status, name) for name in _FACTS},
        "damaged": str(snapshot.file) if snapshot and status.damaged else None,
        "version": snapshot.version if snapshot else None,
        "published": snapshot.published if snapshot else None,
        "files": asdict(status.files) | {"now": status.files.current_count},
        "plan": plan_facts(plan) if plan else None,
        "plan_problem": problem,
    }
