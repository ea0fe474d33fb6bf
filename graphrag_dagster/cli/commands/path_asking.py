"""``graphrag-dagster paths`` with a question, and ``compare``."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.output.console import OUT, print_json
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.asking.index import session_of
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.studies.asking import PathIndex, PathsFound


def ask_paths(
    name: str, question: str, instances: Sequence[str], entities: Sequence[str], *, as_json: bool
) -> None:
    """Print the paths and the answer of an instance, or of several one below the other.

    Raises:
        GraphragError: names the problem and the fix.
    """
    found = _asked(name, question, instances, entities)
    if as_json:
        print_json(asdict(found[0]) if len(found) == 1 else [asdict(one) for one in found])
        return
    for one in found:
        _print_found(one, len(one.paths))


def compare_paths(
    name: str,
    question: str,
    instances: str,
    entities: Sequence[str],
    *,
    paths: int,
    as_json: bool,
) -> None:
    """Print the best paths and the answers of several instances beside each other (paper Figure 9).

    Args:
        name: the corpus.
        question: of them all.
        instances: their names, with commas between.
        entities: that the question is about.
        paths: how many of each are printed.
        as_json: print JSON.

    Raises:
        QuestionError: no instance is named.
        GraphragError: names the problem and the fix.
    """
    chosen = list(dict.fromkeys(one.strip() for one in instances.split(",") if one.strip()))
    if not chosen:
        raise QuestionError("name instances to compare, such as --instances 1,2,12")
    found = _asked(name, question, chosen, entities)
    if as_json:
        print_json(
            {"corpus": name, "question": found[0].question, "instances": [asdict(one) for one in found]}
        )
        return
    _print_linked(found[0])
    table = RichTable(title=escape(found[0].question), title_justify="left", show_lines=True)
    table.add_column("instance")
    table.add_column("subgraph", justify="right")
    table.add_column("paths, best first", overflow="fold")
    table.add_column("answer", overflow="fold")
    for one in found:
        best = [f"{path['score']:.3f}  {path['text']}" for path in one.paths[:paths]]
        table.add_row(
            f"{escape(one.instance)}\n{escape(one.modules)}",
            f"{one.nodes:,} nodes\n{one.edges:,} edges",
            escape("\n".join(best) or f"none: {one.reason}"),
            escape(one.answer),
        )
    OUT.print(table)


def _asked(name: str, question: str, instances: Sequence[str], entities: Sequence[str]) -> list[PathsFound]:
    store = CorpusStore()
    session = session_of(name, store.settings(name), "path_asked")
    return PathIndex(Warehouse(), name, session).ask(question, instances, entities)


def _print_linked(one: PathsFound) -> None:
    if one.seeds:
        labels = ", ".join(seed.label for seed in one.seeds)
        OUT.print(f"begins from: {escape(labels)} (by {one.linked_by})", soft_wrap=True)
    else:
        OUT.print("[yellow]the question names no entity of the graph[/]")
    if one.unknown:
        OUT.print(f"[yellow]not in the graph: {escape(', '.join(one.unknown))}[/]", soft_wrap=True)


def _print_found(one: PathsFound, most: int) -> None:
    OUT.print(f"[bold]{escape(one.instance)}[/] {escape(one.modules)}", soft_wrap=True)
    _print_linked(one)
    size = f"{one.nodes:,} nodes, {one.edges:,} edges, components: {one.components:,}"
    OUT.print(f"subgraph: {size}", soft_wrap=True)
    OUT.print(f"paths: {one.found:,}{f' ({one.reason})' if one.reason else ''}", soft_wrap=True)
    for path in one.paths[:most]:
        OUT.print(f"{path['rank']:>4}  {path['score']:.3f}  {escape(path['text'])}", soft_wrap=True)
    OUT.print()
    OUT.print(escape(one.answer), soft_wrap=True)
    for problem in one.problems:
        OUT.print(f"[yellow]{escape(problem)}[/]", soft_wrap=True)
    OUT.print()
