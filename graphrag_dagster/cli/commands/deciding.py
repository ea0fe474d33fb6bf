"""``graphrag-dagster merge``, ``split`` and ``undo``: people decide which names are one entity."""

from collections.abc import Sequence
from typing import Literal

from rich.markup import escape

from graphrag_dagster.apps.decisions.decisions import Concerned, Decided, merge, split, undo
from graphrag_dagster.apps.decisions.said import Said, applied_words, decisions
from graphrag_dagster.cli.output.console import OUT, print_json
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse


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


def take_back(name: str, identity: str | None, *, as_json: bool) -> None:
    """Take a decision back, and print which.

    Raises:
        GraphragError: why nothing was taken back.
    """
    said = undo(name, identity)
    if as_json:
        print_json({"corpus": name, "undone": said.to_dict()})
        return
    OUT.print(f"undone: {_told(said)}", soft_wrap=True)
    OUT.print(f"to apply it: graphrag-dagster index {escape(name)}", soft_wrap=True)


def list_decisions(name: str, *, as_json: bool) -> None:
    """Print what people decided of the names of a corpus.

    Raises:
        GraphragError: a file cannot be used.
    """
    found = decisions(name)
    applied = applied_words(Warehouse(), name)
    if as_json:
        rows = [{**one.to_dict(), "applied": one.word in applied} for one in found]
        print_json({"corpus": name, "decisions": rows})
        return
    if not found:
        OUT.print(f"no decisions on names of {escape(name)}", soft_wrap=True)
        return
    for one in found:
        when = "applied" if one.word in applied else "applied by the next index"
        told = ", ".join(dict.fromkeys((_by(one), one.file, when)))
        OUT.print(
            f"[bold]{escape(one.id)}[/] {escape(_decision(one))} [dim]({escape(told)})[/]", soft_wrap=True
        )
    OUT.print(
        f"to take one back: graphrag-dagster undo {escape(name)} ID; what stands in corpus.yaml is taken out "
        "there",
        soft_wrap=True,
    )


def _print_made(name: str, made: Decided) -> None:
    if not made.written:
        OUT.print(f"decided already, nothing is written: {_told(made.said)}", soft_wrap=True)
    else:
        OUT.print(f"decided: {_told(made.said)}", soft_wrap=True)
    for line in _concerned(made):
        OUT.print(line, soft_wrap=True)
    if not made.applied:
        OUT.print(
            f"[yellow]resolution.enabled is off in {escape(str(CorpusStore().folder(name)))}: no index "
            "applies what is decided[/]",
            soft_wrap=True,
        )
    if made.written:
        OUT.print(
            f"to apply it: graphrag-dagster index {escape(name)}; to take it back: "
            f"graphrag-dagster undo {escape(name)} {escape(made.said.id)}",
            soft_wrap=True,
        )


def _concerned(made: Decided) -> list[str]:
    word, found = made.said.word, made.concerned
    where = " in that document" if word.document else ""
    told = [_entity(one) for one in found]
    if word.verdict == "different":
        shared = [_entity(one) for one in found if len(one.names) > 1]
        if not shared:
            return [
                f"they are {counted(len(found), 'entity', 'entities')} today, and stay so: {', '.join(told)}"
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


def _times(name: str, found: Sequence[Concerned]) -> int:
    return sum(name in one.names for one in found)


def _entity(one: Concerned) -> str:
    return f"[bold]{escape(one.title)}[/] ({escape(one.type)}, {counted(one.mentions, 'mention')})"


def _told(one: Said) -> str:
    return f"[bold]{escape(one.id)}[/] {escape(_decision(one))} ({escape(_by(one))})"


def _decision(one: Said) -> str:
    word = one.word
    names = ", ".join(map(repr, word.names))
    verdict = "are one entity" if word.verdict == "same" else "are different"
    return f"{names} {verdict}{f' in {word.document}' if word.document else ''}"


def _by(one: Said) -> str:
    told = (one.word.who, one.word.when and one.word.when[:16].replace("T", " "))
    return ", ".join(filter(None, told)) or one.file
