"""``graphrag-dagster ask``."""

import re

from rich.markdown import Markdown
from rich.markup import escape

from graphrag_dagster.cli.console import ERR, OUT, print_json
from graphrag_dagster.cli.progress import ProgressBars
from graphrag_dagster.core.corpus.tokens import get_tokenizer
from graphrag_dagster.core.errors import QuestionError
from graphrag_dagster.core.progress import listening
from graphrag_dagster.core.search.answer import Answer
from graphrag_dagster.core.search.global_search import checked, global_search
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.snapshot import open_snapshot
from graphrag_dagster.resources.warehouse import Warehouse

_LEVEL = re.compile(r"[cC]?(\d{1,3})")


def level_of(text: str) -> int:
    """Return k of ``Ck``.

    Raises:
        QuestionError: the text names no level.
    """
    if found := _LEVEL.fullmatch(text.strip()):
        return int(found[1])
    raise QuestionError(f"{text!r} is no community level; give C0, C1, C2, C3 …")


def ask_corpus(name: str, question: str, level: str, *, as_json: bool) -> None:
    """Answer the question by global search over the reports of a level, and print it with its sources.

    Raises:
        GraphragError: what is wrong, and the mend.
    """
    k, asked = level_of(level), checked(question)
    store, warehouse = CorpusStore(), Warehouse()
    settings = store.settings(name)
    index = open_snapshot(warehouse, name)
    with ProgressBars(ERR) as bars, listening(bars):
        answer = global_search(
            index,
            asked,
            level=k,
            answerer=Language().answerer(settings),
            count=get_tokenizer(settings.text_units.encoding).count,
            context_tokens=settings.search.context_tokens,
            seed=settings.search.seed,
        )
    if as_json:
        print_json(answer.to_dict())
    else:
        _print(answer)


def _print(answer: Answer) -> None:
    OUT.print()
    OUT.print(Markdown(answer.text))
    OUT.print()
    for source in answer.sources:
        where = f"{source.path}" if source.path else f"report “{source.report_title}”"
        OUT.print(f"[bold]\\[{source.number}][/] {escape(where)}", soft_wrap=True)
        if source.quotation:
            OUT.print(f"    “{escape(' '.join(source.quotation.split()))}”", style="dim", soft_wrap=True)
    for problem in answer.problems:
        OUT.print(f"[yellow]a partial answer could not be used: {escape(problem)}[/]", soft_wrap=True)
    chunks = len(answer.scores)
    OUT.print(
        f"\n{answer.engine} engine, C{answer.level}, {len(answer.context)} reports in {chunks} "
        f"{'chunk' if chunks == 1 else 'chunks'}, {answer.dropped} without use, "
        f"{answer.removed_citations} invalid citations removed, {answer.usage.calls} model calls",
        style="dim",
        soft_wrap=True,
    )
