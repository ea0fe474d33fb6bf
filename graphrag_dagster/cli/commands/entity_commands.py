"""``graphrag-dagster entities``, ``merge``, ``split`` and ``undo``: entity names and decisions on them."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from rich.markup import escape

from graphrag_dagster.apps.decisions.entity_names import EntityNames, Questions, entities, entity, questions
from graphrag_dagster.apps.decisions.name_decisions import (
    AffectedEntities,
    DecisionResult,
    RecordedDecision,
    applied_names,
    decisions,
    merge,
    split,
    undo,
)
from graphrag_dagster.cli.commands.corpus.show_commands import print_unused
from graphrag_dagster.cli.console import OUT, print_json, table_of
from graphrag_dagster.kernel.common.printable import plural, shorten
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.resolution.resolved_names import OpenQuestion

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
    numbers = ("mentions", "units")
    table = table_of("entity", "type", *numbers, "other names", numbers=numbers, overflow="fold")
    for row in shown.iter_rows(named=True):
        others = [one for one in row["names"] if one != row["title"]]
        told = ", ".join(shorten(one, _LONGEST) for one in others[:_NAMES])
        more = f", and {len(others) - _NAMES:,} more" if len(others) > _NAMES else ""
        table.add_row(
            escape(shorten(row["title"], _LONGEST)),
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
    OUT.say(
        f"[bold]{escape(row['title'])}[/] {escape(row['type'])}, {plural(row['mentions'], 'mention')}, "
        f"{plural(row['text_units'], 'text unit')}, {plural(row['documents'], 'document')} "
        f"[dim]{row['entity_id']}[/]"
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
    table = table_of("name", "mentions", "in documents", numbers=("mentions",), overflow="fold")
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
        OUT.say(_decision_line(row))
    if len(rows) > len(shown):
        OUT.print(f"[dim]… {len(rows) - len(shown):,} more: --all[/]")


def _decision_line(row: dict[str, Any]) -> str:
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
    OUT.say(
        f"[bold]{escape(one.one)}[/] ({escape(one.one_type)}) – [bold]{escape(one.other)}[/] "
        f"({escape(one.other_type)}): {plural(one.mentions, 'mention')}{score}, {escape(_where(one))}"
    )
    OUT.say(f"  {escape(one.reason)}", style="dim")
    for command in _commands(name, one):
        OUT.say(f"  {escape(command)}")


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
        OUT.say(
            f"{plural(found.answered, 'question')} more {are} decided by now; to apply it: "
            f"graphrag-dagster index {escape(name)}"
        )
    print_unused(found.unused.to_dicts())


def decide(
    verdict: Literal["same", "different"],
    name: str,
    names: Sequence[str],
    document: str | None,
    who: str | None,
    *,
    as_json: bool,
) -> None:
    """Decide that names are one entity, or that no two are, and print what that concerns.

    Raises:
        GraphragError: why nothing was written.
    """
    made = (merge if verdict == "same" else split)(name, names, document=document, who=who)
    if as_json:
        print_json(
            {
                "corpus": name,
                **made.said.to_dict(),
                "written": made.written,
                "concerned": [
                    {"title": one.title, "type": one.type, "mentions": one.mentions, "names": list(one.names)}
                    for one in made.concerned
                ],
                "resolution_enabled": made.applied,
            }
        )
        return
    _print_made(name, made)


def undo_decision(name: str, identity: str | None, *, as_json: bool) -> None:
    """Take a decision back, and print which.

    Raises:
        GraphragError: why nothing was taken back.
    """
    said = undo(name, identity)
    if as_json:
        print_json({"corpus": name, "undone": said.to_dict()})
        return
    OUT.say(f"undone: {_decision_text(said)}")
    OUT.say(f"to apply it: graphrag-dagster index {escape(name)}")


def list_decisions(name: str, *, as_json: bool) -> None:
    """Print what people decided of the names of a corpus.

    Raises:
        GraphragError: a file cannot be used.
    """
    found = decisions(name)
    applied = applied_names(Warehouse(), name)
    if as_json:
        rows = [{**one.to_dict(), "applied": one.word in applied} for one in found]
        print_json({"corpus": name, "decisions": rows})
        return
    if not found:
        OUT.say(f"no decisions on names of {escape(name)}")
        return
    for one in found:
        when = "applied" if one.word in applied else "applied by the next index"
        told = ", ".join(dict.fromkeys((_decided_by(one), one.file, when)))
        OUT.say(f"[bold]{escape(one.id)}[/] {escape(_decision(one))} [dim]({escape(told)})[/]")
    OUT.say(
        f"to take one back: graphrag-dagster undo {escape(name)} ID; what stands in corpus.yaml is taken out "
        "there"
    )


def _print_made(name: str, made: DecisionResult) -> None:
    if not made.written:
        OUT.say(f"decided already, nothing is written: {_decision_text(made.said)}")
    else:
        OUT.say(f"decided: {_decision_text(made.said)}")
    for line in _affected_lines(made):
        OUT.say(line)
    if not made.applied:
        OUT.warn(
            f"resolution.enabled is off in {CorpusStore().folder(name)}: no index applies what is decided"
        )
    if made.written:
        OUT.say(
            f"to apply it: graphrag-dagster index {escape(name)}; to take it back: "
            f"graphrag-dagster undo {escape(name)} {escape(made.said.id)}"
        )


def _affected_lines(made: DecisionResult) -> list[str]:
    word, found = made.said.word, made.concerned
    where = " in that document" if word.document else ""
    told = [_entity(one) for one in found]
    if word.verdict == "different":
        shared = [_entity(one) for one in found if len(one.names) > 1]
        if not shared:
            return [
                f"they are {plural(len(found), 'entity', 'entities')} today, and stay so: {', '.join(told)}"
            ]
        return [f"names of one entity today, which are parted{where}: {one}" for one in shared]
    if len(found) == 1:
        return [f"they are one entity today, and stay so whatever the rules say: {told[0]}"]
    lines = [f"{len(found):,} entities of today become one{where}: {', '.join(told)}"]
    several = sorted({name for one in found for name in one.names if _times(name, found) > 1})
    lines += [
        f"[yellow]{escape(repr(name))} stands for {_times(name, found):,} of them; --document says it of one "
        "document alone[/]"
        for name in several
        if not word.document
    ]
    return lines


def _times(name: str, found: Sequence[AffectedEntities]) -> int:
    return sum(name in one.names for one in found)


def _entity(one: AffectedEntities) -> str:
    return f"[bold]{escape(one.title)}[/] ({escape(one.type)}, {plural(one.mentions, 'mention')})"


def _decision_text(one: RecordedDecision) -> str:
    return f"[bold]{escape(one.id)}[/] {escape(_decision(one))} ({escape(_decided_by(one))})"


def _decision(one: RecordedDecision) -> str:
    word = one.word
    names = ", ".join(map(repr, word.names))
    verdict = "are one entity" if word.verdict == "same" else "are different"
    return f"{names} {verdict}{f' in {word.document}' if word.document else ''}"


def _decided_by(one: RecordedDecision) -> str:
    told = (one.word.who, one.word.when and one.word.when[:16].replace("T", " "))
    return ", ".join(filter(None, told)) or one.file
