"""``graphrag-dagster paths`` without a question: the job ``paths``, run in this process."""

from collections.abc import Iterator
from math import fsum

import polars as pl
from rich.text import Text

from graphrag_dagster.cli.commands.plan_commands import agree_to_spend, plan_result
from graphrag_dagster.cli.job_runner import run_watched
from graphrag_dagster.cli.result import Frame, Part, Result
from graphrag_dagster.cli.run_budget import INCOMPLETE, RunBudget
from graphrag_dagster.cli.run_summary import usage_rows, usage_table
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.search.lego_estimates import plan_paths_of
from graphrag_dagster.systems.lego.search.reasoning_paths import MODULES
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies.gold_questions import require_questions
from graphrag_dagster.systems.lego.studies.score_summary import ALL_HOPS, paper_order
from graphrag_dagster.systems.lego.tables import (
    PATH_ANSWERS,
    PATH_COSTS,
    PATH_JUDGEMENTS,
    PATH_QUESTIONS,
    PATH_SUMMARY,
)

#: Measures that are printed where they have values, with what stands above them.
_SHOWN = {
    "hits_at_1": "Hits@1",
    "hits_at_1_lex": "Hits@1-lex",
    "judge_at_1": "Judge@1",
    "path_f1_at_32": "path F1",
    "subgraph_recall": "recall",
}
_SECONDS = tuple(f"seconds_{module}" for module in MODULES)
_CELLS = ("instance", "measure", "mean")
_CALLS = tuple(f"calls_{module}" for module in MODULES)


def run_paths(name: str, budget: RunBudget, *, plan_only: bool, yes: bool) -> Result:
    """Run the job ``paths`` for a corpus, and return what its instances are worth.

    The exit code is 3 where something that a model was to give is missing.

    Raises:
        SettingsError: the corpus has no files of questions.
        GraphragError: names the problem and the fix.
    """
    require_questions(CorpusStore().settings(name).section(PathSettings), name)
    plan = plan_paths_of(name)
    if plan_only:
        return plan_result(plan)
    agree_to_spend(plan, budget, yes=yes)
    return _summary(name, run_watched(name, "paths", budget).run_id)


def _summary(name: str, run_id: str | None) -> Result:
    warehouse = Warehouse()
    summary, questions = warehouse.read(PATH_SUMMARY, name), warehouse.read(PATH_QUESTIONS, name)
    problems = questions.drop_nulls("problem").group_by("problem").len().sort("problem")
    missing, used = _missing(warehouse, name), usage_rows(name, run_id)

    def shown() -> Iterator[Part]:
        for hops in [ALL_HOPS, *sorted(set(summary["hops"]) - {ALL_HOPS})]:
            yield _summary_table(summary.filter(hops=hops), name, hops)
        yield from usage_table(used)
        for problem, count in problems.iter_rows():
            yield Text(f"questions with a problem: {count:,} {problem.replace('_', ' ')}", "yellow")
        yield f"tables: paths.* in {warehouse.file(name)}"

    facts = {
        "corpus": name,
        "run_id": run_id,
        "questions": len(questions),
        "asked": int(questions["sampled"].sum()),
        "problems": dict(problems.iter_rows()),
        "summary": summary,
        "usage": used,
        "missing": missing,
    }
    return Result(facts, shown(), missing, INCOMPLETE if missing else 0)


def _summary_table(rows: pl.DataFrame, name: str, hops: str) -> Frame:
    values = {(instance, measure): mean for instance, measure, mean in rows.select(_CELLS).iter_rows()}
    measures = [measure for measure in _SHOWN if measure in set(rows["measure"])]
    asks = any(values.get((instance, one)) for instance in rows["instance"] for one in _CALLS)
    shown = []
    for instance in sorted(set(rows["instance"]), key=paper_order):
        calls, seconds = (
            fsum(values.get((instance, one)) or 0.0 for one in part) for part in (_CALLS, _SECONDS)
        )
        shown.append(
            {
                "instance": instance,
                "n": int(str(rows.filter(instance=instance)["questions"].max() or 0)),
                **{_SHOWN[measure]: values.get((instance, measure)) for measure in measures},
                **({"calls": calls} if asks else {}),
                "ms": 1000 * seconds,
            }
        )
    text = "all questions" if hops == ALL_HOPS else f"{hops} hops"
    return Frame(pl.DataFrame(shown, infer_schema_length=None), f"{name}: {text}")


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
