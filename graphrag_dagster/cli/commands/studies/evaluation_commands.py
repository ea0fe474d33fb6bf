"""``graphrag-dagster evaluate``, ``report`` and ``study``."""

import shutil
from pathlib import Path

import polars as pl
from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.apps.evaluation.inference.headline import headline_of
from graphrag_dagster.apps.evaluation.inference.judge_reliability import verdict_counts
from graphrag_dagster.apps.evaluation.inference.measure_names import measure
from graphrag_dagster.apps.evaluation.measures.quality_verdicts import NOT_KNOWN
from graphrag_dagster.apps.evaluation.questions.question_list import EvaluationScope
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings
from graphrag_dagster.apps.evaluation.stages.evaluation_plan import (
    plan_evaluation_of,
    plan_gleanings_of,
    plan_windows_of,
)
from graphrag_dagster.apps.evaluation.tables import (
    ANSWER_SENTENCES,
    CONDITION_COSTS,
    EXTRACTION_COUNTS,
    JUDGEMENTS,
    QUALITY_SCORES,
    SIGNIFICANCE,
    THEME_REASONS,
    THEMES,
    VERDICTS,
    WINDOW_JUDGEMENTS,
    WINDOW_WIN_RATES,
)
from graphrag_dagster.cli.commands.corpus.show_commands import sizes_table
from graphrag_dagster.cli.commands.plan_commands import agree_to_spend, print_plan
from graphrag_dagster.cli.commands.studies.answer_commands import missing_answers, require_questions
from graphrag_dagster.cli.console import OUT, print_json, table_of
from graphrag_dagster.cli.job_runner import run_watched
from graphrag_dagster.cli.run_budget import INCOMPLETE, RunBudget, RunOutcome
from graphrag_dagster.cli.run_summary import EVALUATED, repaired_line, repaired_rows, usage_rows, usage_table
from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.pipeline.erasure import report_folder
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES
from graphrag_dagster.systems.context_leiden.studies.context_study import AS_SET
from graphrag_dagster.systems.context_leiden.studies.metric_tables import (
    CROSS_IN_SHORT,
    IN_SHORT,
    format_as_paper,
    improvements,
    verdict,
)
from graphrag_dagster.systems.context_leiden.tables import CONTEXT_METRICS
from graphrag_dagster.systems.lego.search.lego_estimates import plan_path_study_of
from graphrag_dagster.systems.lego.studies.path_study import variants_side_by_side
from graphrag_dagster.systems.lego.tables import PATH_STUDY, PATH_SUMMARY

_STUDIES = {
    "gleanings": "study_extraction",
    "windows": "study_windows",
    "context": "study_context",
    "paths": "study_paths",
}
_STUDY_TABLES = {
    "gleanings": EXTRACTION_COUNTS,
    "windows": WINDOW_WIN_RATES,
    "context": CONTEXT_METRICS,
    "paths": PATH_STUDY,
}
#: What studies ask of models; the others ask none.
_STUDY_PLANS = {"gleanings": plan_gleanings_of, "windows": plan_windows_of, "paths": plan_path_study_of}
#: Names of columns that are too long for 80 characters.
_SHORT = {"gleanings": "rounds", "relationships": "relations", "quarantined": "put aside"}
#: Measures of paths in words that are short enough.
_PATH_MEASURES = {
    "subgraph_recall": "recall",
    "subgraph_f1": "F1",
    "subgraph_nodes": "nodes",
    "path_recall_at_32": "path recall",
    "path_f1_at_32": "path F1",
    "hits_at_1": "Hits@1",
    "hits_at_1_lex": "Hits@1-lex",
    "preparation_seconds": "before, s",
    "seconds": "s",
}
#: Measures whose verdicts are printed, beside those of a judge.
_SHOWN = ("claims", "clusters 0.5", "words")


def evaluate_corpus(
    name: str,
    *,
    sample: int | None,
    budget: RunBudget,
    plan_only: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Run the job ``evaluate`` for a corpus, and print whether the graph helps there.

    Returns:
        the exit code: 0, or 3 where something that a model was to give is missing.

    Raises:
        GraphragError: names the problem and the fix.
    """
    store = CorpusStore()
    require_questions(store, name)
    plan = plan_evaluation_of(name, scope=EvaluationScope(sample=sample))
    if plan_only:
        print_plan(plan, as_json=as_json)
        return 0
    agree_to_spend(plan, budget, yes=yes, as_json=as_json)
    ran = run_watched(
        name, "evaluate", budget, resources={"scope": {"sample": sample}} if sample else None, as_json=as_json
    )
    return _summarise(name, ran, as_json=as_json)


def _summarise(name: str, ran: RunOutcome, *, as_json: bool) -> int:
    warehouse = Warehouse()
    settings = CorpusStore().settings(name)
    verdicts = warehouse.read(VERDICTS, name)
    costs = warehouse.read(CONDITION_COSTS, name)
    sizes = warehouse.read_if_present(tables.CONTEXT_SIZES, name)
    told = headline_of(
        verdicts,
        warehouse.read(SIGNIFICANCE, name),
        warehouse.read(JUDGEMENTS, name),
        settings.section(EvaluationSettings).baseline,
    )
    page = report_folder(warehouse, name) / "report.html"
    missing = _missing(warehouse, name)
    repaired = repaired_rows(warehouse, name, EVALUATED)
    if as_json:
        print_json(
            {
                "corpus": name,
                "run_id": ran.run_id,
                "seconds": round(ran.seconds, 3),
                "headline": told,
                "verdicts": verdicts.to_dicts(),
                "costs": costs.to_dicts(),
                "context_sizes": [] if sizes is None else sizes.to_dicts(),
                "themes": warehouse.read(THEMES, name).to_dicts(),
                "usage": usage_rows(name, ran.run_id),
                "report": str(page),
                "missing": missing,
                "repaired": repaired,
            }
        )
        return INCOMPLETE if missing else 0
    OUT.say(f"\n[bold]{escape(told)}[/]\n")
    for line in _main(verdicts)["statement"]:
        OUT.say(f"  {escape(line)}")
    OUT.print(_cost_table(costs))
    if sizes is not None:
        OUT.print(sizes_table(sizes))
    if used := usage_table(name, ran.run_id):
        OUT.print(used)
    OUT.say(f"evaluated in {ran.seconds:.1f} s; report: {escape(str(page))}")
    if mended := repaired_line(repaired):
        OUT.say(mended)
    OUT.warn(*missing)
    return INCOMPLETE if missing else 0


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


def _cost_table(costs: pl.DataFrame) -> RichTable:
    columns = ("answers", "refused", "context_rows", "context_tokens", "calls", "usd", "seconds")
    numbers = [column.replace("_", " ") for column in columns]
    table = table_of("method", *numbers, numbers=numbers, title="cost per answer")
    for row in costs.iter_rows(named=True):
        table.add_row(row["condition"], *(_cell(row[column]) for column in columns))
    return table


def _cell(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 100 else f"{value:,.3g}"


def write_report(name: str, out: Path | None) -> None:
    """Make the HTML report of the last evaluation anew, and print where it is.

    Raises:
        WarehouseError: the corpus has not been evaluated, nor its paths.
    """
    warehouse = Warehouse()
    evaluated = (VERDICTS, PATH_SUMMARY)
    if all(warehouse.read_if_present(table, name) is None for table in evaluated):
        raise WarehouseError(
            f"corpus {name!r} has not been evaluated: run 'graphrag-dagster evaluate {name}'"
        )
    from graphrag_dagster.apps.evaluation.report.report_files import write_report_files

    made = write_report_files(warehouse, CorpusStore(), name)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made.page, out)
    OUT.say(f"report: {escape(str(out or made.page))}")
    for figure in made.pictures:
        OUT.say(f"figure: {escape(str(figure))}")


def run_study(name: str, study: str, budget: RunBudget, *, yes: bool, as_json: bool) -> None:
    """Run a study for a corpus, and print its table.

    Raises:
        GraphragError: names the problem and the fix.
    """
    if plan := _STUDY_PLANS.get(study):
        agree_to_spend(plan(name), budget, yes=yes, as_json=as_json)
    run_watched(name, _STUDIES[study], budget, as_json=as_json)
    made = Warehouse().read(_STUDY_TABLES[study], name)
    counted = _improvements(name, made) if study == "context" else None
    if as_json:
        more = {} if counted is None else {"improvements": counted.to_dicts()}
        print_json({"corpus": name, "study": study, "rows": made.to_dicts(), **more})
        return
    if counted is not None:
        told = format_as_paper(made).with_columns(pl.col(pl.Float64).round(3) + 0.0)
        OUT.print(_study_table(f"{name}: {study}", told.select(IN_SHORT)))
        OUT.print(_study_table("cross-cluster similarity", told.select(CROSS_IN_SHORT)))
        OUT.say(verdict(made, AS_SET))
        rounded = counted.with_columns(pl.col(pl.Float64).round(3) + 0.0)
        OUT.print(_study_table("Table I, as far as it can be counted", rounded))
        if "token efficiency" not in counted["aspect"]:
            OUT.say(
                f"for tokens: graphrag-dagster evaluate {escape(name)}, with C0 and graph among its methods"
            )
        return
    if study == "paths":
        for (part,), rows in made.group_by(["part"], maintain_order=True):
            _print_variants(f"{name}: {part}", variants_side_by_side(rows))
        return
    if study == "windows":
        _print_reliability(name)
    OUT.print(_study_table(f"{name}: {study}", made))


def _print_reliability(name: str) -> None:
    """Print what win rates of context windows are worth."""
    counts = verdict_counts(Warehouse().read(WINDOW_JUDGEMENTS, name))
    if not counts.verdicts:
        OUT.print("no model judged, so there are no win rates; the answers are in studies.window_answers")
    elif counts.doubt:
        OUT.warn(f"nothing can be said on windows: {counts.doubt}")
    elif counts.unusable:
        OUT.warn(f"{counts.unusable:,} of {counts.verdicts:,} verdicts had no usable reply and count as ties")


def _improvements(name: str, measured: pl.DataFrame) -> pl.DataFrame:
    """Table I of the fourth paper, counted in the tables of a corpus."""
    warehouse = Warehouse()
    reports = warehouse.read(tables.REPORT_EMBEDDINGS, name)
    counted = {
        "text units": tables.TEXT_CHUNKS,
        "entities": tables.ENTITIES,
        "reports": tables.REPORT_EMBEDDINGS,
        "context nodes": CONTEXT_NODES,
    }
    found = {called: warehouse.read_if_present(table, name) for called, table in counted.items()}
    vectors = {called: 0 if frame is None else len(frame) for called, frame in found.items()}
    width = len(reports["vector"][0]) if len(reports) else 0
    costs = warehouse.read_if_present(CONDITION_COSTS, name)
    return improvements(measured.filter(variant=AS_SET), vectors, width, costs)


def _print_variants(title: str, rows: pl.DataFrame) -> None:
    """Print what was measured, then what the paper prints, which is too long for a column."""
    OUT.print(_study_table(title, rows.select(pl.exclude("paper")).rename(_PATH_MEASURES, strict=False)))
    if "paper" in rows.columns:
        for variant, paper in rows.select("variant", "paper").drop_nulls().iter_rows():
            OUT.say(f"in the paper, {escape(variant)}: {escape(paper)}")


def _study_table(title: str, made: pl.DataFrame) -> RichTable:
    """The rows of a study; words that are the same in every row are said once, in the title."""
    words = [name for name, kind in made.schema.items() if kind == pl.String]
    alike = [name for name in words if made[name].n_unique() == 1]
    said = "".join(f", {name.replace('_', ' ')} {made[name][0]}" for name in alike)
    shown = made.drop(alike)
    called = {column: _SHORT.get(column, column.replace("_", " ")) for column in shown.columns}
    numbers = [told for column, told in called.items() if column not in words]
    title = escape(f"{title}{said}")
    table = table_of(*called.values(), numbers=numbers, overflow="fold", title=title)
    for row in shown.iter_rows():
        table.add_row(
            *(
                _cell(value)
                if isinstance(value, float | int)
                else _words("–" if value is None else str(value))
                for value in row
            )
        )
    return table


def _words(value: str) -> str:
    return escape(value.replace("_", " "))
