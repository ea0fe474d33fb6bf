"""``graphrag-dagster ask``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from graphrag_dagster.cli.console import OUT, markdown
from graphrag_dagster.cli.options import (
    Date,
    DateFrom,
    DateTo,
    Documents,
    Folders,
    Level,
    Method,
    Name,
    Soft,
    Where,
)
from graphrag_dagster.cli.progress_bars import watching
from graphrag_dagster.cli.result import Part, Result, cell
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.index import Index
from graphrag_dagster.kernel.catalogue.engines import Verdict
from graphrag_dagster.kernel.catalogue.registry import answers_are_quotes
from graphrag_dagster.kernel.common.printable import plural, shorten
from graphrag_dagster.kernel.questions.context.answer import (
    Answer,
    ContextUse,
    Source,
    Statement,
    TraceSection,
)
from graphrag_dagster.kernel.questions.document_filters import Filters
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.text.answer_form import KNOWLEDGE_MARK
from graphrag_dagster.kernel.text.evidence import Row, Written

_ROWS_SHOWN, _LONGEST_SHOWN = 12, 90
#: What is said of a statement by its verdict, where that is not simply that it is supported.
_DOUBTFUL: Mapping[Verdict | None, str] = MappingProxyType(
    {"partly": "partly supported", "not": "not supported"}
)
_NOTHING_NEAR = (
    "no model was called: no sentence in the context is close enough to the question; use the "
    "documents' own words and names"
)


def filters_of(
    documents: Sequence[str] | None,
    folders: Sequence[str] | None,
    date_from: str | None,
    date_to: str | None,
    date: str | None,
    where: Sequence[str] | None,
    soft: bool | None,
) -> Filters:
    """Return the options of a command that say which documents to answer from.

    Raises:
        QuestionError: a date was given beside the one that it has to be from or to.
    """
    if date is not None and (date_from or date_to):
        raise QuestionError("--date says both --from and --to; leave it out, or them")
    return Filters(
        documents=tuple(documents or ()),
        folders=tuple(folders or ()),
        date_from=date_from if date is None else date,
        date_to=date_to if date is None else date,
        where=tuple(where or ()),
        soft=soft,
    )


def ask_corpus(
    name: Name,
    question: Annotated[str, typer.Argument(help="The question.")],
    method: Method = None,
    level: Level = None,
    response_type: Annotated[
        str | None, typer.Option(help="Length and layout, such as 'single sentence'.")
    ] = None,
    general_knowledge: Annotated[
        bool | None,
        typer.Option(
            "--general-knowledge/--no-general-knowledge",
            help="Let the model add general knowledge, marked as such.",
        ),
    ] = None,
    document: Documents = None,
    folder: Folders = None,
    date_from: DateFrom = None,
    date_to: DateTo = None,
    date: Date = None,
    where: Where = None,
    soft: Soft = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show where each sentence comes from.")] = False,
) -> Result:
    """Answer the question with its sources, or the tree of its making.

    A model's answer is printed as it comes where the output is a terminal.

    Raises:
        GraphragError: names the problem and the fix.
    """
    filters = filters_of(document, folder, date_from, date_to, date, where, soft)
    asked = Question(question, method, level, filters, (), response_type, general_knowledge).validated()
    index = Index.open(name)
    with watching() as shown:
        stream = _Stream(shown.stop) if OUT.is_terminal and not OUT.quiet and not trace else None
        answer = index.answer(asked, stream)
    parts = [answer_tree(answer)] if trace else answer_parts(answer, streamed=bool(stream and stream.started))
    return Result(answer.to_dict(), parts)


class _Stream:
    """Prints an answer as it comes, before its citations are checked; what it displaces ends first."""

    def __init__(self, displace: Callable[[], None]) -> None:
        self._displace = displace
        self.started = False

    def __call__(self, piece: str) -> None:
        if not self.started:
            self._displace()
            OUT.print("[dim]as it comes, citations not yet checked:[/]\n")
        self.started = True
        OUT.say(escape(piece), end="", style="dim", highlight=False)


def answer_parts(answer: Answer, *, streamed: bool = False) -> Iterator[Part]:
    """Yield an answer with its sources; ``streamed``: below the text as it came."""
    yield "\n" if streamed else ""
    if answer.heading:
        yield Text(f"{answer.heading}\n", "dim")
    yield markdown(answer.text_in_bold)
    yield ""
    yield from _source_lines(answer)
    for problem in answer.problems:
        yield Text(f"could not be used: {problem}", "yellow")
    yield from _support_lines(answer)
    if answer.general:
        yield Text(
            f"{answer.general} of {len(answer.statements)} statements are the model's general "
            f"knowledge, marked {KNOWLEDGE_MARK}, and not from the documents",
            "yellow",
        )
    if answer.refused and answers_are_quotes(answer.engine) and answer.context and not answer.sources:
        yield Text(_NOTHING_NEAR, "dim")
    elif answer.sources:
        yield ""
    if answer.why:
        yield Text(answer.why, "dim")
    yield Text(", ".join(_facts(answer)), "dim")


def _support_lines(answer: Answer) -> Iterator[Text]:
    """Yield the statements that are not wholly supported, with the reasons."""
    doubtful = [one for one in answer.statements if one.verdict in _DOUBTFUL]
    for one in doubtful:
        why = (f" {one.reason}", "dim") if one.reason else ""
        yield Text.assemble(
            (f"{_DOUBTFUL[one.verdict]}:", "yellow"), f" “{shorten(one.text, _LONGEST_SHOWN)}”", why
        )
    if doubtful:
        many = len(answer.statements)
        parts = ((answer.unsupported, "not supported"), (answer.partly_supported, "partly supported"))
        text = " and ".join(f"{count} {how}" for count, how in parts if count)
        yield Text(f"of {plural(many, 'statement')} {text} by the words they cite", "yellow")


def _source_lines(answer: Answer) -> Iterator[str | Text]:
    for source in answer.sources:
        yield _source_name(source)
        if source.evidence:
            yield Text(f"    {source.evidence.told.without_location}", "dim")
    if answer.query:
        yield ""
        yield Text(answer.query.display_text, "dim")


def _source_name(source: Source) -> Text:
    number = (f"[{source.number}]", "bold")
    if source.evidence is None:
        return Text.assemble(number, f" {source.kind} “{source.title}”")
    quoted = source.evidence.told
    of = "" if Path(quoted.path).stem == quoted.title else f" “{quoted.title}”"
    paraphrased = source.similarity is not None and source.similarity < 1
    near = f" similarity {source.similarity:.2f}" if paraphrased else ""
    place = f" {quoted.place}" if quoted.place else ""
    return Text.assemble(number, f" {quoted.path}{of}", (place, "dim"), (near, "dim"))


def _facts(answer: Answer) -> Iterator[str]:
    chunks = len(answer.scores)
    yield f"{answer.engine} engine, {answer.method}"
    yield plural(len(answer.context), "context row") + (f" in {chunks} chunks" if chunks > 1 else "")
    if answer.dropped:
        yield f"{plural(answer.dropped, 'partial answer')} without use"
    if answer.removed_citations:
        yield f"{plural(answer.removed_citations, 'invalid citation')} removed"
    yield plural(answer.usage.calls, "model call")
    if answer.seconds is not None:
        yield f"{answer.seconds:.1f} s"


def answer_tree(answer: Answer) -> Tree:
    """Return the steps of an answer, its context, and the way from each statement to the evidence."""
    tree = Tree(f"[bold]{escape(answer.question)}[/]", guide_style="dim")
    tree.add(escape(", ".join(_facts(answer))))
    if answer.why:
        tree.add(escape(answer.why))
    if answer.query:
        tree.add("query").add(escape(answer.query.display_text))
    for section in answer.trace:
        _add_section(tree, section)
    calls = tree.add(plural(answer.calls, "step"))
    for call in answer.steps:
        score = "" if call.score is None else f", score {call.score}"
        text = f"{call.about}, {call.tokens:,} tokens{score}{_unused(call.used)}"
        calls.add(escape(f"{call.task}: {text}"))
    _add_context(tree, answer.context)
    said = tree.add(f"answer ({plural(len(answer.statements), 'statement')})")
    by_number = {source.number: source for source in answer.sources}
    for statement in answer.statements:
        branch = said.add(f"{escape(statement.text)} {_support_mark(statement)}")
        for number in statement.sources:
            _add_source(branch, by_number[number])
    return tree


def _unused(used: bool) -> str:
    return "" if used else ", not used"


def _add_context(tree: Tree, context: Sequence[ContextUse]) -> None:
    branch = tree.add(f"context ({plural(len(context), 'row')})")
    for use in sorted(context, key=lambda use: not use.used)[:_ROWS_SHOWN]:
        row = branch.add(escape(f"{use.kind} “{use.title}”, {use.tokens:,} tokens{_unused(use.used)}"))
        if use.text:
            row.add(escape(use.text))
    _add_rest(branch, len(context))


def _add_section(tree: Tree, section: TraceSection) -> None:
    """Add a section of the trace: facts where it has one row, else its rows with what is said of each."""
    branch = tree.add(escape(section.title))
    if len(section.rows) == 1:
        for name, value in zip(section.columns, section.rows[0], strict=True):
            if value not in {None, ""}:
                branch.add(f"[dim]{escape(name)}:[/] {escape(cell(value))}")
        return
    for first, *others in section.rows[:_ROWS_SHOWN]:
        named = zip(section.columns[1:], others, strict=True)
        more = ", ".join(f"{name} {cell(value)}" for name, value in named if value not in {None, ""})
        branch.add(f"{escape(cell(first))} [dim]{escape(more)}[/]")
    _add_rest(branch, len(section.rows))


def _add_rest(branch: Tree, rows: int) -> None:
    if rows > _ROWS_SHOWN:
        branch.add(f"… {rows - _ROWS_SHOWN} more: see ask --json")


def _support_mark(statement: Statement) -> str:
    if statement.verdict is None:
        return "[dim]general knowledge[/]"
    if statement.verdict in _DOUBTFUL:
        return f"[yellow]{_DOUBTFUL[statement.verdict]}[/] [dim]{escape(statement.reason)}[/]"
    return f"[dim]supported{'' if statement.score is None else f' {statement.score:.2f}'}[/]"


def _add_source(branch: Tree, source: Source) -> None:
    node = branch.add(
        f"\\[{source.number}] {source.kind} “{escape(source.title)}” [dim]{source.record_id}[/]"
    )
    if source.finding is not None:
        node = node.add("its summary" if source.finding < 0 else f"finding {source.finding + 1}")
    if source.via_kind and source.via_id != source.record_id:
        node = node.add(f"{source.via_kind} [dim]{source.via_id}[/]")
    if source.evidence:
        if not isinstance(source.evidence, Row | Written):
            node = node.add(f"text unit [dim]{source.evidence.text_unit_id}[/]")
        node = node.add(escape(source.evidence.told.location))
        node.add(escape(source.evidence.told.without_location))
