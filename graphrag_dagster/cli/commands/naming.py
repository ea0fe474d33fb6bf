"""``graphrag-dagster entities``: entities with their names, the decisions on these, and what is open."""

import shlex
from collections.abc import Iterator
from typing import Any

from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.apps.decisions.entities import EntityNames, Questions, entities, entity, questions
from graphrag_dagster.cli.commands.showing import print_unused
from graphrag_dagster.cli.output.console import OUT, print_json
from graphrag_dagster.kernel.common.printable import counted, shortened
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.resolution.telling import OpenQuestion

_ROWS, _NAMES, _DOCUMENTS = 30, 8, 3
_LONGEST = 80
_VERDICTS = {
    "merge": "one",
    "ask": "[yellow]open[/]",
    "apart": "apart",
    "unused": "[yellow]without effect[/]",
}


def list_entities(name: str, *, everything: bool, as_json: bool) -> None:
    """Print all entities with their names, the most mentioned first.

    Raises:
        WarehouseError: the corpus has not been indexed.
    """
    found = entities(Warehouse(), name)
    if as_json:
        print_json({"corpus": name, "entities": found.to_dicts()})
        return
    shown = found if everything else found.head(_ROWS)
    table = RichTable()
    for column in ("entity", "type", "mentions", "units", "other names"):
        table.add_column(
            column, justify="right" if column in {"mentions", "units"} else "left", overflow="fold"
        )
    for row in shown.iter_rows(named=True):
        others = [one for one in row["names"] if one != row["title"]]
        told = ", ".join(shortened(one, _LONGEST) for one in others[:_NAMES])
        more = f", and {len(others) - _NAMES:,} more" if len(others) > _NAMES else ""
        table.add_row(
            escape(shortened(row["title"], _LONGEST)),
            escape(row["type"]),
            f"{row['mentions']:,}",
            f"{row['text_units']:,}",
            escape(told + more),
        )
    OUT.print(table)
    if len(found) > len(shown):
        OUT.print(f"[dim]… {len(found) - len(shown):,} more: --all[/]")


def show_entity(name: str, asked: str, *, everything: bool, as_json: bool) -> None:
    """Print the names of an entity, where each stands for it, and every decision on them.

    Raises:
        QuestionError: there is no such entity, or more than one.
        WarehouseError: the corpus has not been indexed.
    """
    found = entity(Warehouse(), name, asked)
    if as_json:
        print_json({"corpus": name, **found.to_dict()})
        return
    row = found.entity
    OUT.print(
        f"[bold]{escape(row['title'])}[/] {escape(row['type'])}, {counted(row['mentions'], 'mention')}, "
        f"{counted(row['text_units'], 'text unit')}, {counted(row['documents'], 'document')} "
        f"[dim]{row['entity_id']}[/]",
        soft_wrap=True,
    )
    _print_names(found, everything=everything)
    _print_decisions(found, everything=everything)


def show_questions(name: str, *, everything: bool, as_json: bool) -> None:
    """Print what is open on names, with the commands that answer it, and decisions without effect.

    Raises:
        GraphragError: the corpus has not been indexed, or its settings cannot be used.
    """
    found = questions(Warehouse(), name)
    if as_json:
        told = found.to_dict()
        for row, one in zip(told["questions"], found.open, strict=True):
            row["commands"] = list(_commands(name, one))
        print_json({"corpus": name, **told})
        return
    shown = found.open if everything else found.open[:_ROWS]
    for one in shown:
        _print_question(name, one)
    if len(found.open) > len(shown):
        OUT.print(f"[dim]… {len(found.open) - len(shown):,} more: --all[/]")
    _print_rest(name, found)


def _print_names(found: EntityNames, *, everything: bool) -> None:
    table = RichTable()
    for column in ("name", "mentions", "in documents"):
        table.add_column(column, justify="right" if column == "mentions" else "left", overflow="fold")
    for surface, mentions, documents in found.names.iter_rows():
        shown = documents if everything else documents[:_DOCUMENTS]
        more = len(documents) - len(shown)
        told = ", ".join(shown) + (f", and {more:,} more" if more else "")
        table.add_row(escape(surface), f"{mentions:,}", escape(told))
    OUT.print(table)


def _print_decisions(found: EntityNames, *, everything: bool) -> None:
    rows = found.decisions
    shown = rows if everything else rows.head(_ROWS)
    for row in shown.iter_rows(named=True):
        OUT.print(_decision(row), soft_wrap=True)
    if len(rows) > len(shown):
        OUT.print(f"[dim]… {len(rows) - len(shown):,} more: --all[/]")


def _decision(row: dict[str, Any]) -> str:
    verdict = _VERDICTS[row["verdict"]]
    where = f" in {row['path']}" if row["path"] else ""
    by = row["who"] or row["decided_by"]
    facts = (
        f"by {by}",
        row["decided_at"],
        row["decision_id"],
        None if row["score"] is None else f"score {row['score']:.2f}",
    )
    told = ", ".join(filter(None, facts))
    return (
        f"{verdict}: {escape(repr(row['one']))} – {escape(repr(row['other']))}{escape(where)}: "
        f"{escape(row['reason'])} [dim]({escape(told)})[/]"
    )


def _print_question(name: str, one: OpenQuestion) -> None:
    score = "" if one.score is None else f", score {one.score:.2f}"
    OUT.print(
        f"[bold]{escape(one.one)}[/] ({escape(one.one_type)}) – [bold]{escape(one.other)}[/] "
        f"({escape(one.other_type)}): {counted(one.mentions, 'mention')}{score}, {escape(_where(one))}",
        soft_wrap=True,
    )
    OUT.print(f"  {escape(one.reason)}", style="dim", soft_wrap=True)
    for command in _commands(name, one):
        OUT.print(f"  {escape(command)}", soft_wrap=True)


def _where(one: OpenQuestion) -> str:
    match one.documents:
        case ():
            return "between documents"
        case ((path, title),):
            return f"{title} ({path})" if title else path
        case several:
            return f"{len(several):,} documents, such as {several[0][0]}"


def _commands(name: str, one: OpenQuestion) -> Iterator[str]:
    """Yield the commands that answer a question: of all documents, or of the one in which it is asked."""
    if one.decision_id:
        yield shlex.join(["graphrag-dagster", "undo", name, one.decision_id])
        return
    guard = ["--"] if one.one.startswith("-") or one.other.startswith("-") else []
    names = [*guard, one.one, one.other]
    alone = ["--document", one.documents[0][0]] if len(one.documents) == 1 and one.elsewhere else []
    yield shlex.join(["graphrag-dagster", "merge", name, *names])
    if alone:
        yield shlex.join(["graphrag-dagster", "merge", name, *alone, *names])
    yield shlex.join(["graphrag-dagster", "split", name, *alone, *names])


def _print_rest(name: str, found: Questions) -> None:
    if not found.open:
        OUT.print("no question on names is open")
    if found.answered:
        are = "is" if found.answered == 1 else "are"
        OUT.print(
            f"{counted(found.answered, 'question')} more {are} decided by now; to apply it: "
            f"graphrag-dagster index {escape(name)}",
            soft_wrap=True,
        )
    print_unused(found.unused.to_dicts())
