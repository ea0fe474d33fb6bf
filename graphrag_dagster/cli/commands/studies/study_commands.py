"""``graphrag-dagster study``."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import polars as pl
import typer
from rich.text import Text

from graphrag_dagster.apps.evaluation.inference.judge_reliability import verdict_counts
from graphrag_dagster.apps.evaluation.stages.evaluation_plan import plan_gleanings_of, plan_windows_of
from graphrag_dagster.apps.evaluation.tables import (
    CONDITION_COSTS,
    EXTRACTION_COUNTS,
    WINDOW_JUDGEMENTS,
    WINDOW_WIN_RATES,
)
from graphrag_dagster.cli.commands.plan_commands import agree_to_spend
from graphrag_dagster.cli.job_runner import run_watched
from graphrag_dagster.cli.options import MaxTokens, MaxUsd, Name, Yes
from graphrag_dagster.cli.result import Frame, Result, cell
from graphrag_dagster.cli.run_budget import RunBudget
from graphrag_dagster.kernel.models.call_estimates import Plan
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES
from graphrag_dagster.kernel.tables.table_declaration import Table
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
from graphrag_dagster.systems.lego.tables import PATH_STUDY


class Study(StrEnum):
    """What can be studied."""

    gleanings = "gleanings"
    windows = "windows"
    context = "context"
    paths = "paths"


@dataclass(frozen=True, slots=True)
class _Study:
    """The job of a study, its table, and what plans the calls of models; None: there are none."""

    job: str
    table: Table
    plan: Callable[[str], Plan] | None = None


_STUDIES = {
    Study.gleanings: _Study("study_extraction", EXTRACTION_COUNTS, plan_gleanings_of),
    Study.windows: _Study("study_windows", WINDOW_WIN_RATES, plan_windows_of),
    Study.context: _Study("study_context", CONTEXT_METRICS),
    Study.paths: _Study("study_paths", PATH_STUDY, plan_path_study_of),
}
#: Names of columns that are too long for 80 characters.
_SHORT = {"gleanings": "rounds", "relationships": "relations"}
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


def run_study(
    name: Name,
    kind: Annotated[
        Study,
        typer.Argument(
            help="gleanings: by chunk size; windows: plain retrieval by context size; context: context "
            "nodes beside random ones; paths: recall of subgraphs, acceleration, additional steps."
        ),
    ],
    max_usd: MaxUsd = None,
    max_tokens: MaxTokens = None,
    yes: Yes = False,
) -> Result:
    """Run a study for a corpus; its table is shown.

    Raises:
        GraphragError: names the problem and the fix.
    """
    budget = RunBudget(max_tokens, max_usd)
    study = _STUDIES[kind]
    if study.plan:
        agree_to_spend(study.plan(name), budget, yes=yes)
    run_watched(name, study.job, budget)
    made = Warehouse().read(study.table, name)
    facts = {"corpus": name, "study": kind, "rows": made}
    if kind is Study.context:
        counted = _improvements(name, made)
        return Result({**facts, "improvements": counted}, _context_parts(name, made, counted))
    if kind is Study.paths:
        return Result(facts, _path_parts(name, made))
    doubts = _reliability(name) if kind is Study.windows else ()
    return Result(facts, [*doubts, _study_table(f"{name}: {kind}", made)])


def _context_parts(name: str, made: pl.DataFrame, counted: pl.DataFrame) -> Iterator[str | Frame]:
    text = format_as_paper(made)
    yield _study_table(f"{name}: context", text.select(IN_SHORT))
    yield _study_table("cross-cluster similarity", text.select(CROSS_IN_SHORT))
    yield verdict(made, AS_SET)
    yield _study_table("Table I, as far as it can be counted", counted)
    if "token efficiency" not in counted["aspect"]:
        yield f"for tokens: graphrag-dagster evaluate {name}, with C0 and graph among its methods"


def _path_parts(name: str, made: pl.DataFrame) -> Iterator[str | Frame]:
    """Yield what was measured, then what the paper prints, which is too long for a column."""
    for (part,), rows in made.group_by(["part"], maintain_order=True):
        shown = variants_side_by_side(rows)
        measured = shown.select(pl.exclude("paper")).rename(_PATH_MEASURES, strict=False)
        yield _study_table(f"{name}: {part}", measured)
        if "paper" in shown.columns:
            for variant, paper in shown.select("variant", "paper").drop_nulls().iter_rows():
                yield f"in the paper, {variant}: {paper}"


def _reliability(name: str) -> Iterator[str | Text]:
    """Yield what win rates of context windows are worth."""
    counts = verdict_counts(Warehouse().read(WINDOW_JUDGEMENTS, name))
    if not counts.verdicts:
        yield "no model judged, so there are no win rates; the answers are in studies.window_answers"
    elif counts.doubt:
        yield Text(f"nothing can be said on windows: {counts.doubt}", "yellow")
    elif counts.unusable:
        text = f"{counts.unusable:,} of {counts.verdicts:,} verdicts had no usable reply and count as ties"
        yield Text(text, "yellow")


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


def _study_table(title: str, made: pl.DataFrame) -> Frame:
    """The rows of a study; words that are the same in every row are said once, in the title."""
    words = [name for name, kind in made.schema.items() if kind == pl.String]
    alike = [name for name in words if made[name].n_unique() == 1]
    said = "".join(f", {name.replace('_', ' ')} {cell(made[name][0])}" for name in alike)
    shown = made.drop(alike).with_columns(pl.col(pl.String).str.replace_all("_", " "))
    return Frame(shown, f"{title}{said}", _SHORT)
