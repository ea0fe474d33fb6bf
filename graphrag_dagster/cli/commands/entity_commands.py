"""``graphrag-dagster entities``, ``merge``, ``split`` and ``undo``: entity names and decisions on them."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import polars as pl
import typer
from rich.text import Text

from graphrag_dagster.apps.decisions.entity_names import Questions, entities, entity, questions
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
from graphrag_dagster.cli.commands.corpus.show_commands import unused_lines
from graphrag_dagster.cli.options import Everything, Name
from graphrag_dagster.cli.result import Frame, Part, Result
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.resolution.resolved_names import OpenQuestion

_ROWS, _NAMES, _DOCUMENTS = 30, 8, 3
_VERDICTS = {"merge": "one", "ask": "open", "apart": "apart", "unused": "without effect"}

_Names = Annotated[
    list[str], typer.Argument(help="Two names or more, as the corpus has them.", metavar="NAME...")
]
_Document = Annotated[
    str | None, typer.Option("--document", help="The one document of which it is said; default: all.")
]
_Who = Annotated[str | None, typer.Option(help="Who decides; default: the user of this system.")]


def show_entities(
    name: Name,
    entity: Annotated[
        str | None, typer.Argument(help="A name of an entity, or its id; default: all.")
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="List open questions on names, with commands.")] = False,
    everything: Everything = False,
) -> Result:
    """List entities with their names, one with the decisions on its names, or what is open on names.

    Raises:
        QuestionError: there is no such entity, or more than one.
        WarehouseError: the corpus has not been indexed.
    """
    most = None if everything else _ROWS
    if ask:
        if entity:
            raise typer.BadParameter("--ask lists all entities; drop the name")
        return _questions(name, most)
    if entity:
        return _entity_with_decisions(name, entity, most)
    found = entities(Warehouse(), name)
    rows = [
        {
            "entity": row["title"],
            "type": row["type"],
            "mentions": row["mentions"],
            "units": row["text_units"],
            "other names": _other_names(row, most),
        }
        for row in found[:most].iter_rows(named=True)
    ]
    listed = Frame(pl.DataFrame(rows, schema_overrides={"other names": pl.List(pl.String)}))
    return Result({"corpus": name, "entities": found}, [listed, *_more(found.height, most)])


def _other_names(row: dict[str, Any], most: int | None) -> list[str]:
    others = [one for one in row["names"] if one != row["title"]]
    return others if most is None or len(others) <= _NAMES else [*others[:_NAMES], "…"]


def _entity_with_decisions(name: str, asked: str, most: int | None) -> Result:
    found = entity(Warehouse(), name, asked)
    row = found.entity
    text = (
        f" {row['type']}, {plural(row['mentions'], 'mention')}, {plural(row['text_units'], 'text unit')}, "
        f"{plural(row['documents'], 'document')} "
    )
    names = found.names.select(
        pl.nth(0).alias("name"),
        pl.nth(1).alias("mentions"),
        (pl.nth(2) if most is None else pl.nth(2).list.head(_DOCUMENTS)).alias("in documents"),
    )
    shown: list[Part] = [
        Text.assemble((row["title"], "bold"), text, (row["entity_id"], "dim")),
        Frame(names),
        *(_decision_line(one) for one in found.decisions[:most].iter_rows(named=True)),
        *_more(found.decisions.height, most),
    ]
    return Result({"corpus": name, **found.to_dict()}, shown)


def _questions(name: str, most: int | None) -> Result:
    found = questions(Warehouse(), name)
    facts = found.to_dict()
    for row, one in zip(facts["questions"], found.open, strict=True):
        row["commands"] = list(_commands(name, one))
    lines = [line for one in found.open[:most] for line in _question_lines(name, one)]
    return Result(
        {"corpus": name, **facts}, [*lines, *_more(len(found.open), most), *_rest_lines(name, found)]
    )


def _more(count: int, most: int | None) -> list[Text]:
    return [Text(f"… {count - most:,} more: --all", "dim")] if most is not None and count > most else []


def _decision_line(row: dict[str, Any]) -> Text:
    where = f" in {row['path']}" if row["path"] else ""
    facts = (
        f"by {row['who'] or row['decided_by']}",
        row["decided_at"],
        row["decision_id"],
        None if row["score"] is None else f"score {row['score']:.2f}",
    )
    verdict = (_VERDICTS[row["verdict"]], "yellow" if row["verdict"] in {"ask", "unused"} else "")
    text = f": {row['one']!r} – {row['other']!r}{where}: {row['reason']}"
    return Text.assemble(verdict, text, (f" ({', '.join(filter(None, facts))})", "dim"))


def _question_lines(name: str, one: OpenQuestion) -> Iterator[str | Text]:
    score = "" if one.score is None else f", score {one.score:.2f}"
    text = f" ({one.other_type}): {plural(one.mentions, 'mention')}{score}, {_where(one)}"
    yield Text.assemble((one.one, "bold"), f" ({one.one_type}) – ", (one.other, "bold"), text)
    yield Text(f"  {one.reason}", "dim")
    yield from (f"  {command}" for command in _commands(name, one))


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


def _rest_lines(name: str, found: Questions) -> Iterator[str | Text]:
    if not found.open:
        yield "no question on names is open"
    if found.answered:
        are = "is" if found.answered == 1 else "are"
        yield (
            f"{plural(found.answered, 'question')} more {are} decided by now; to apply it: "
            f"graphrag-dagster index {name}"
        )
    yield from unused_lines(found.unused.to_dicts())


def merge_names(name: Name, names: _Names, document: _Document = None, who: _Who = None) -> Result:
    """Decide that names are one entity.

    Raises:
        GraphragError: why nothing was written.
    """
    return _decided(name, merge(name, names, document=document, who=who))


def split_names(name: Name, names: _Names, document: _Document = None, who: _Who = None) -> Result:
    """Decide that no two of the names are one entity.

    Raises:
        GraphragError: why nothing was written.
    """
    return _decided(name, split(name, names, document=document, who=who))


def undo_decision(
    name: Name,
    decision: Annotated[
        str | None, typer.Argument(help="Id of a decision; default: the last.", metavar="ID")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the decisions without undoing any.")] = False,
) -> Result:
    """Take a decision back, or list what people decided of the names of a corpus.

    Raises:
        GraphragError: why nothing was taken back, or a file cannot be used.
    """
    if listed:
        return _decisions(name)
    said = undo(name, decision)
    text = [f"undone: {_decision_text(said)}", f"to apply it: graphrag-dagster index {name}"]
    return Result({"corpus": name, "undone": said.to_dict()}, text)


def _decisions(name: str) -> Result:
    found, applied = decisions(name), applied_names(Warehouse(), name)
    rows = [{**one.to_dict(), "applied": one.word in applied} for one in found]
    shown: list[Part] = [] if found else [f"no decisions on names of {name}"]
    for one in found:
        when = "applied" if one.word in applied else "applied by the next index"
        text = ", ".join(dict.fromkeys((_decided_by(one), one.file, when)))
        shown.append(Text.assemble((one.id, "bold"), f" {_decision(one)} ", (f"({text})", "dim")))
    if found:
        back = f"to take one back: graphrag-dagster undo {name} ID"
        shown.append(f"{back}; what stands in corpus.yaml is taken out there")
    return Result({"corpus": name, "decisions": rows}, shown)


def _decided(name: str, made: DecisionResult) -> Result:
    facts = {
        "corpus": name,
        **made.said.to_dict(),
        "written": made.written,
        "concerned": made.concerned,
        "resolution_enabled": made.applied,
    }
    return Result(facts, _decided_lines(name, made))


def _decided_lines(name: str, made: DecisionResult) -> Iterator[str | Text]:
    done = "decided" if made.written else "decided already, nothing is written"
    yield f"{done}: {_decision_text(made.said)}"
    yield from _affected_lines(made)
    if not made.applied:
        yield Text(
            f"resolution.enabled is off in {CorpusStore().folder(name)}: no index applies what is decided",
            "yellow",
        )
    if made.written:
        yield (
            f"to apply it: graphrag-dagster index {name}; to take it back: "
            f"graphrag-dagster undo {name} {made.said.id}"
        )


def _affected_lines(made: DecisionResult) -> Iterator[str | Text]:
    word, found = made.said.word, made.concerned
    where = " in that document" if word.document else ""
    shared = [one for one in found if len(one.names) > 1]
    if word.verdict == "different":
        change = f"the next index separates the names of {_entities(shared)}{where}"
        yield change if shared else f"they are apart today, and stay so: {_entities(found)}"
    elif len(found) == 1:
        yield f"they are one entity today, and stay so whatever the rules say: {_entities(found)}"
    else:
        yield f"{len(found):,} entities of today become one{where}: {_entities(found)}"
        times = Counter(name for one in found for name in set(one.names))
        for name in sorted(name for name, count in times.items() if count > 1 and not word.document):
            text = f"{name!r} is a name of {times[name]:,} of them; --document says it of one document alone"
            yield Text(text, "yellow")


def _entities(found: Iterable[AffectedEntities]) -> str:
    return ", ".join(f"{one.title} ({one.type}, {plural(one.mentions, 'mention')})" for one in found)


def _decision_text(one: RecordedDecision) -> str:
    return f"{one.id} {_decision(one)} ({_decided_by(one)})"


def _decision(one: RecordedDecision) -> str:
    word = one.word
    names = ", ".join(map(repr, word.names))
    verdict = "are one entity" if word.verdict == "same" else "are different"
    return f"{names} {verdict}{f' in {word.document}' if word.document else ''}"


def _decided_by(one: RecordedDecision) -> str:
    text = (one.word.who, one.word.when and one.word.when[:16].replace("T", " "))
    return ", ".join(filter(None, text)) or one.file
