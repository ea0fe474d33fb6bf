"""``graphrag-dagster ask``."""

import uuid

from rich.markup import escape

from graphrag_dagster.cli.console import ERR, OUT, print_json
from graphrag_dagster.cli.levels import level_of
from graphrag_dagster.cli.progress import ProgressBars
from graphrag_dagster.core.corpus.tokens import get_tokenizer
from graphrag_dagster.core.progress import listening
from graphrag_dagster.core.search.answer import Answer
from graphrag_dagster.core.search.global_search import global_search
from graphrag_dagster.core.search.question import checked
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.snapshot import open_snapshot
from graphrag_dagster.resources.warehouse import Warehouse


def ask_corpus(name: str, question: str, level: str, *, as_json: bool) -> None:
    """Answer the question by global search over the reports of a level, and print it with its sources.

    Raises:
        GraphragError: what is wrong, and the mend.
    """
    k, asked = level_of(level), checked(question)
    store, warehouse = CorpusStore(), Warehouse()
    settings = store.settings(name)
    index = open_snapshot(warehouse, name)
    session = Language().session(settings, corpus=name, asset="ask", run_id=str(uuid.uuid4()))
    with ProgressBars(ERR) as bars, listening(bars):
        answer = global_search(
            index,
            asked,
            level=k,
            answerer=session.answerer(),
            count=get_tokenizer(settings.text_units.encoding).count,
            context_tokens=settings.search.context_tokens,
            seed=settings.search.seed,
        )
    if as_json:
        print_json(answer.to_dict())
    else:
        _print(answer)


def _print(answer: Answer) -> None:
    from rich.markdown import Markdown

    OUT.print()
    OUT.print(Markdown(answer.text))
    OUT.print()
    for source in answer.sources:
        where = f"{source.path}" if source.path else f"report “{source.title}”"
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
