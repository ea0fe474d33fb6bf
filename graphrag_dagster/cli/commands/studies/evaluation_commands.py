"""``graphrag-dagster evaluate``."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.text import Text

from graphrag_dagster.apps.evaluation.inference.headline import headline_of
from graphrag_dagster.apps.evaluation.inference.measure_names import measure
from graphrag_dagster.apps.evaluation.measures.quality_verdicts import NOT_KNOWN
from graphrag_dagster.apps.evaluation.questions.question_list import EvaluationScope
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings
from graphrag_dagster.apps.evaluation.stages.evaluation_plan import plan_evaluation_of
from graphrag_dagster.apps.evaluation.tables import (
    ANSWER_SENTENCES,
    CONDITION_COSTS,
    JUDGEMENTS,
    QUALITY_SCORES,
    SIGNIFICANCE,
    THEME_REASONS,
    THEMES,
    VERDICTS,
)
from graphrag_dagster.cli.commands.corpus.show_commands import sizes_table
from graphrag_dagster.cli.commands.plan_commands import agree_to_spend, plan_result
from graphrag_dagster.cli.commands.studies.answer_commands import missing_answers, require_questions
from graphrag_dagster.cli.job_runner import run_watched
from graphrag_dagster.cli.options import MaxTokens, MaxUsd, Name, PlanOnly, Yes
from graphrag_dagster.cli.result import Frame, Part, Result
from graphrag_dagster.cli.run_budget import INCOMPLETE, RunBudget, RunOutcome
from graphrag_dagster.cli.run_summary import EVALUATED, repaired_line, repaired_rows, usage_rows, usage_table
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.pipeline.erasure import report_folder
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.lego.tables import PATH_SUMMARY

#: Measures whose verdicts are printed, beside those of a judge.
_SHOWN = ("claims", "clusters 0.5", "words")
_COSTS = ("answers", "refused", "context_rows", "context_tokens", "calls", "usd", "seconds")


def evaluate_corpus(
    name: Name,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Evaluate only this many of the questions.")
    ] = None,
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    plan_only: PlanOnly = False,
    out: Annotated[
        Path | None, typer.Option(help="Copy the report, one HTML page, to this file or folder.")
    ] = None,
    yes: Yes = False,
) -> Result:
    """Run the job ``evaluate`` for a corpus, and say whether the graph helps there.

    The exit code is 3 where something that a model was to give is missing.

    Raises:
        GraphragError: names the problem and the fix.
    """
    try:
        require_questions(CorpusStore(), name)
    except SettingsError:
        if plan_only or out is None or Warehouse().read_if_present(PATH_SUMMARY, name) is None:
            raise
        # Only its paths were measured: there is nothing to run for their report.
        return _report(name, out)
    plan = plan_evaluation_of(name, scope=EvaluationScope(sample=sample))
    if plan_only:
        return plan_result(plan)
    budget = RunBudget(max_tokens, max_usd)
    agree_to_spend(plan, budget, yes=yes)
    ran = run_watched(name, "evaluate", budget, resources={"scope": {"sample": sample}} if sample else None)
    page = report_folder(Warehouse(), name) / "report.html"
    return _summary(name, ran, page if out is None else _copy(page, out))


def _report(name: str, out: Path) -> Result:
    from graphrag_dagster.apps.evaluation.report.report_files import write_report_files

    page = _copy(write_report_files(Warehouse(), CorpusStore(), name).page, out)
    return Result({"corpus": name, "report": page}, [f"report: {page}"])


def _copy(page: Path, out: Path) -> Path:
    out.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(page, out))


def _summary(name: str, ran: RunOutcome, page: Path) -> Result:
    warehouse = Warehouse()
    settings = CorpusStore().settings(name)
    verdicts = warehouse.read(VERDICTS, name)
    costs = warehouse.read(CONDITION_COSTS, name)
    sizes = warehouse.read_if_present(tables.CONTEXT_SIZES, name)
    text = headline_of(
        verdicts,
        warehouse.read(SIGNIFICANCE, name),
        warehouse.read(JUDGEMENTS, name),
        settings.section(EvaluationSettings).baseline,
    )
    missing = _missing(warehouse, name)
    repaired, used = repaired_rows(warehouse, name, EVALUATED), usage_rows(name, ran.run_id)

    def shown() -> Iterator[Part]:
        yield Text(f"\n{text}\n", "bold")
        yield from (f"  {line}" for line in _main(verdicts)["statement"])
        yield Frame(costs.select(pl.col("condition").alias("method"), *_COSTS), "cost per answer")
        if sizes is not None:
            yield sizes_table(sizes)
        yield from usage_table(used)
        yield f"evaluated in {ran.seconds:.1f} s; report: {page}"
        if line := repaired_line(repaired):
            yield line

    facts = {
        "corpus": name,
        "run_id": ran.run_id,
        "seconds": round(ran.seconds, 3),
        "headline": text,
        "verdicts": verdicts,
        "costs": costs,
        "context_sizes": [] if sizes is None else sizes,
        "themes": warehouse.read(THEMES, name),
        "usage": used,
        "report": page,
        "missing": missing,
        "repaired": repaired,
    }
    return Result(facts, shown(), missing, INCOMPLETE if missing else 0)


def _main(verdicts: pl.DataFrame) -> pl.DataFrame:
    shown = [
        name
        for name in verdicts["measure"].unique(maintain_order=True)
        if measure(name).kind == "judged" or name.replace("-lex", "") in _SHOWN
    ]
    return verdicts.filter(pl.col("measure").is_in(shown))


def _missing(warehouse: Warehouse, name: str) -> list[str]:
    unusable = warehouse.read(JUDGEMENTS, name)["problem"].is_not_null().sum()
    unread = warehouse.read(THEME_REASONS, name)["problem"].is_not_null().sum()
    failed = (warehouse.read(ANSWER_SENTENCES, name)["state"] == "failed").sum()
    scores = warehouse.read_if_present(QUALITY_SCORES, name)
    unknown = 0 if scores is None else scores["reason"].str.contains(NOT_KNOWN, literal=True).sum()
    counted = {
        "judgements count as ties (no usable reply): see evaluation.judgements": unusable,
        "reasons of the judge could not be read for their themes: see evaluation.theme_reasons": unread,
        "sentences could not be split into claims: see evaluation.answer_sentences": failed,
        "quality scores are missing (no usable reply): see evaluation.quality_scores": unknown,
    }
    lines = [f"{int(count):,} {what}" for what, count in counted.items() if count]
    return [*lines, *missing_answers(warehouse, name)]
