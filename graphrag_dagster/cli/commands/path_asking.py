"""``graphrag-dagster paths`` and ``compare``."""

from collections.abc import Sequence
from dataclasses import asdict

import polars as pl
from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.cli.commands.planning import plan_json, print_estimates
from graphrag_dagster.cli.output.console import OUT, number, print_json
from graphrag_dagster.cli.output.running import INCOMPLETE, Budget, run_watched
from graphrag_dagster.cli.output.spending import usage_rows, usage_table
from graphrag_dagster.core.paths.metrics.summary import ALL_HOPS
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.operations.asking.index import session_of
from graphrag_dagster.operations.paths.asking import PathIndex, PathsFound
from graphrag_dagster.operations.paths.questions import require_questions
from graphrag_dagster.operations.planning.paths_plan import plan_paths_of
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import PATH_ANSWERS, PATH_COSTS, PATH_JUDGEMENTS, PATH_QUESTIONS, PATH_SUMMARY

#: Measures that are printed, with what stands above them.
_SHOWN = {
    "hits_at_1": "Hits@1",
    "hits_at_1_lex": "Hits@1-lex",
    "judge_at_1": "Judge@1",
    "path_f1_at_32": "path F1@32",
    "path_hit_at_32": "path Hit@32",
    "subgraph_recall": "subgraph recall",
    "seconds_extraction": "s subgraph",
    "seconds_retrieval": "s paths",
    "seconds_answer": "s answer",
    "calls_retrieval": "calls",
}


def ask_paths(
    name: str, question: str, instances: Sequence[str], entities: Sequence[str], *, as_json: bool
) -> None:
    """Print the paths and the answer of an instance, or of several one below the other.

    Raises:
        GraphragError: what is wrong, and the mend.
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
        GraphragError: what else is wrong, and the mend.
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


def run_paths(name: str, budget: Budget, *, plan_only: bool, as_json: bool) -> int:
    """Run the job ``paths`` for a corpus, and print what its instances are worth.

    Args:
        name: the corpus.
        budget: what the run may use.
        plan_only: print what would be asked of models, and ask nothing.
        as_json: print JSON.

    Returns:
        the exit code: 0, or 3 where something that a model was to give is missing.

    Raises:
        SettingsError: the corpus has no files of questions.
        GraphragError: what else is wrong, and the mend.
    """
    store, warehouse = CorpusStore(), Warehouse()
    require_questions(store.settings(name).paths, name)
    plan = plan_paths_of(name)
    if plan_only and as_json:
        print_json(plan_json(plan))
        return 0
    if not as_json:
        if plan.estimates:
            print_estimates(f"{name}: planned, if nothing is remembered", plan)
        elif plan_only:
            OUT.print(f"{escape(name)}: no model is asked", soft_wrap=True)
    if plan_only:
        return 0
    ran = run_watched(name, "paths", budget, as_json=as_json)
    return _summarise(name, warehouse, ran.run_id, as_json=as_json)


def _summarise(name: str, warehouse: Warehouse, run_id: str | None, *, as_json: bool) -> int:
    summary, questions = warehouse.read(PATH_SUMMARY, name), warehouse.read(PATH_QUESTIONS, name)
    problems = questions.drop_nulls("problem").group_by("problem").len().sort("problem")
    missing = _missing(warehouse, name)
    code = INCOMPLETE if missing else 0
    if as_json:
        print_json(
            {
                "corpus": name,
                "run_id": run_id,
                "questions": len(questions),
                "asked": int(questions["sampled"].sum()),
                "problems": dict(problems.iter_rows()),
                "summary": summary.to_dicts(),
                "usage": usage_rows(name, run_id),
                "missing": missing,
            }
        )
        return code
    for hops in [ALL_HOPS, *sorted(set(summary["hops"]) - {ALL_HOPS})]:
        OUT.print(_summary_table(summary.filter(hops=hops), name, hops))
    if used := usage_table(name, run_id):
        OUT.print(used)
    for problem, count in problems.iter_rows():
        OUT.print(f"[yellow]{count:,} questions: {problem.replace('_', ' ')}[/]", soft_wrap=True)
    OUT.print(f"tables: paths.* in {escape(str(warehouse.file(name)))}", soft_wrap=True)
    for line in missing:
        OUT.print(f"[yellow]{escape(line)}[/]", soft_wrap=True)
    return code


def _summary_table(rows: pl.DataFrame, name: str, hops: str) -> RichTable:
    told = "all questions" if hops == ALL_HOPS else f"{hops} hops"
    shown = [measure for measure in _SHOWN if measure in set(rows["measure"])]
    table = RichTable(title=escape(f"{name}: {told}"), title_justify="left")
    for column in ("instance", "questions"):
        table.add_column(column, justify="right" if column == "questions" else "left")
    for measure in shown:
        table.add_column(_SHOWN[measure], justify="right")
    for instance in rows["instance"].unique(maintain_order=True):
        own = rows.filter(instance=instance)
        values = dict(own.select("measure", "mean").iter_rows())
        count = int(str(own["questions"].max() or 0))
        table.add_row(escape(instance), number(count), *(_cell(values.get(measure)) for measure in shown))
    return table


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _missing(warehouse: Warehouse, name: str) -> list[str]:
    counted = {
        "answers could not be read: see paths.answers": warehouse.read(PATH_ANSWERS, name)["problem"].count(),
        "modules had replies of no use: see paths.costs": warehouse.read(PATH_COSTS, name)[
            "problems"
        ].count(),
        "answers have no verdict: see paths.judgements": warehouse.read(PATH_JUDGEMENTS, name)[
            "problem"
        ].count(),
    }
    return [f"{count:,} {what}" for what, count in counted.items() if count]


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
    size = f"{one.nodes:,} nodes, {one.edges:,} edges, {one.components:,} components"
    OUT.print(f"subgraph: {size}", soft_wrap=True)
    OUT.print(f"paths: {one.found:,}{f' ({one.reason})' if one.reason else ''}", soft_wrap=True)
    for path in one.paths[:most]:
        OUT.print(f"{path['rank']:>4}  {path['score']:.3f}  {escape(path['text'])}", soft_wrap=True)
    OUT.print()
    OUT.print(escape(one.answer), soft_wrap=True)
    for problem in one.problems:
        OUT.print(f"[yellow]{escape(problem)}[/]", soft_wrap=True)
    OUT.print()
