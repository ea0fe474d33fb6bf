"""The parts of the results, each with its tables and figures, or the reason why there are none.

Tables of what the instances of LEGO-GraphRAG are worth (second paper B.4).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.inference.measures import faithful_to_itself, measure
from graphrag_dagster.apps.evaluation.inference.numbers import NONE, plain, share
from graphrag_dagster.apps.evaluation.report.check_tables import (
    alignment_table,
    bias_table,
    quality_reasons,
    quality_table,
)
from graphrag_dagster.apps.evaluation.report.content import Figure, ReportData, rows_of
from graphrag_dagster.apps.evaluation.report.context_tables import (
    context_table,
    context_variants_table,
    context_verdict,
)
from graphrag_dagster.apps.evaluation.report.result_tables import (
    all_tests_table,
    judged_table,
    measure_table,
    win_rate_grids,
)
from graphrag_dagster.apps.evaluation.report.tables import BOUNDS, TESTED, Cell, TableView, table
from graphrag_dagster.kernel.catalogue.registry import asks_model
from graphrag_dagster.kernel.common.printable import counted
from graphrag_dagster.systems.lego.instances.declared import INSTANCES, LEX
from graphrag_dagster.systems.lego.studies.metrics.naming import measure_label
from graphrag_dagster.systems.lego.studies.metrics.summary import ALL_HOPS, in_the_papers_order


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the results; ``missing`` says why it has no tables."""

    title: str
    intro: str
    tables: tuple[TableView, ...]
    missing: str
    figures: tuple[Figure, ...] = ()
    grid: bool = False


def figures_of(data: ReportData, *beginnings: str) -> tuple[Figure, ...]:
    """Return the figures whose names begin so."""
    return tuple(one for one in data.figures if one.name.startswith(beginnings))


def blocks(data: ReportData) -> list[Block]:
    """Return the parts of the results, in reading order."""
    nobody = (
        "No model judged the answers, so there is nothing here."
        if data.judge_model is None
        else "There are no judgements; make the table evaluation.judgements."
    )
    grids = tuple(win_rate_grids(data))
    placed = ("win_rates", "measures", "quality", "cost", "paths")
    rest = tuple(one for one in data.figures if not one.name.startswith(placed))
    return [
        Block(
            "What the judge prefers",
            "Two answers to a question, side by side, without their names: which is better by this "
            "criterion?",
            _there(judged_table(data)),
            nobody,
            figures_of(data, "win_rates"),
        ),
        *([Block("Every way against every other", "", grids, "", grid=True)] if grids else []),
        Block(
            "What the judge goes by",
            "A model read a sample of the judge's reasons, named the themes that they have in common, and "
            f"said of each reason which of these it speaks of.{unread(data)}",
            _there(themes_table(data)),
            nobody
            if data.judge_model is None
            else f"No themes were named, or evaluation.reasons is 0.{unread(data)}",
        ),
        *_counted(data),
        *_checks(data, nobody),
        *_of_context(data),
        *_of_paths(data),
        *([Block("Further figures", "", (), "", rest)] if rest else []),
        Block(
            "All verdicts and tests", "", _there(_sentences(data), all_tests_table(data)), "No test was made."
        ),
    ]


def _counted(data: ReportData) -> list[Block]:
    proxy = not asks_model(data.claim_engine)
    counted = "claims-lex and clusters-lex (extractive)" if proxy else "Claims and clusters"
    against = f"mean over the questions, its {BOUNDS}, and against {data.baseline} {TESTED}"
    return [
        Block(
            "What was counted in the answers",
            "",
            _there(
                measure_table(data, ("claims",), f"{counted}: {against}", inclusive=False),
                measure_table(data, ("form",), f"Length, support and refusals: {against}", inclusive=False),
                measure_table(data, ("read", "other"), f"Context and others: {against}", inclusive=False),
                measure_table(
                    data,
                    ("claims",),
                    "Clusters where what lies at the very distance is merged too",
                    inclusive=True,
                ),
            ),
            "No measure of the answers was made; make the table evaluation.condition_means.",
            figures_of(data, "measures"),
        ),
        Block(
            "Quality of answers and context",
            "Formulas of the family that heads each row; a metric is shown under the name of its own "
            f"formula only. {faithful_to_itself(data.conditions)}".strip(),
            _there(quality_table(data), quality_reasons(data)),
            "No quality metric was measured: relevancy, faithfulness, recall and precision need a model "
            "that judges.",
            figures_of(data, "quality"),
        ),
    ]


def _checks(data: ReportData, nobody: str) -> list[Block]:
    return [
        Block(
            "Do judge and claims agree?",
            "Where the judge has a favourite; a tie of the claims counts as disagreement.",
            _there(alignment_table(data)),
            nobody
            if data.judge_model is None
            else "No alignment was measured: it needs claims and judgements.",
        ),
        Block("Does the place in the prompt matter?", "", _there(bias_table(data)), nobody),
    ]


def _of_context(data: ReportData) -> list[Block]:
    tables = _there(context_table(data), context_variants_table(data))
    said = context_verdict(data)
    return [Block("Are context nodes better than chance?", said, tables, "")] if tables else []


def _of_paths(data: ReportData) -> list[Block]:
    tables, figures = _there(*path_tables(data)), figures_of(data, "paths")
    intro = (
        "Questions with gold answers, answered from paths of the graph by several combinations of modules. "
        "Hits@1: the text of an answer holds any gold answer. What no model answered is named -lex."
    )
    return [Block("Which way to find paths is best?", intro, tables, "", figures)] if tables else []


def _sentences(data: ReportData) -> TableView | None:
    rows = sorted(
        rows_of(data.verdicts),
        key=lambda row: (measure(row["measure"]).order, list(data.conditions).index(row["condition"])),
    )
    header = ("SearchMethod of answering", "measure", "verdict")
    said = [[row["condition"], measure(row["measure"]).label, row["statement"]] for row in rows]
    return table("All verdicts as sentences", header, said, folded=True, wordy=True)


def _there(*tables: TableView | None) -> tuple[TableView, ...]:
    return tuple(one for one in tables if one is not None)


_QUOTED = 240


def themes_table(data: ReportData) -> TableView | None:
    """Return the themes of each criterion, most reasons first, each with the first reason that has it."""
    rows = sorted(rows_of(data.themes), key=lambda row: (measure(row["criterion"]).order, row["position"]))
    quoted = _quotations(data)
    return table(
        "What the judge's reasons speak of; a reason may speak of several themes, or of none",
        ("Criterion", "theme", "reasons", "share", "when a reason speaks of it"),
        [
            [
                row["criterion"],
                row["theme"],
                f"{row['reasons']:,} of {row['read']:,}",
                share(row["reasons"] / row["read"], 0) if row["read"] else share(None),
                Cell(row["description"], quoted.get(row["theme_id"], ())),
            ]
            for row in rows
        ],
        wordy=True,
    )


def unread(data: ReportData) -> str:
    """Return how many reasons could not be read, as a sentence; '' where all could."""
    lost = 0 if data.theme_reasons is None else data.theme_reasons["problem"].count()
    if not lost:
        return ""
    return (
        f" {counted(lost, 'reason')} could not be read in full for want of a usable reply; the table "
        "evaluation.theme_reasons says why."
    )


def _quotations(data: ReportData) -> dict[str, tuple[str, ...]]:
    """Of each theme a reason that speaks of it, the first by the id of its judgement."""
    if data.theme_reasons is None or data.judgements is None:
        return {}
    found = (
        data.theme_reasons.explode("theme_ids")
        .drop_nulls("theme_ids")
        .join(data.judgements.select("judgement_id", "reason"), on="judgement_id")
        .sort("judgement_id")
        .group_by("theme_ids")
        .agg(pl.col("reason").first())
    )
    return {theme: (f"“{_short(reason)}”",) for theme, reason in found.iter_rows()}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else f"{line[:_QUOTED].rsplit(' ', 1)[0]} …"


_MEASURES = (
    *("hits_at_1", "answer_f1", "list_f1", "judge_at_1", "judge_agreement"),
    *("hits_at_1_lex", "answer_f1_lex", "list_f1_lex"),
    *("path_hit_at_1", "path_hit_at_8", "path_hit_at_32"),
    *("path_precision_at_32", "path_recall_at_32", "path_f1_at_32"),
    *("subgraph_recall", "subgraph_f1", "wcc"),
)
_COSTS = tuple(
    f"{kind}_{module}"
    for kind in ("calls", "input_tokens", "output_tokens", "scored", "seconds")
    for module in ("extraction", "retrieval", "answer")
)
_TITLES = {one.name: one.title for one in INSTANCES}
#: Shares are told to a tenth of a percent.
_SHARE = 0.9995

By = Mapping[tuple[str, str], dict[str, Any]]


def path_tables(data: ReportData) -> Iterator[TableView | None]:
    """Yield tables of the measures for all questions and by hops, one of costs, and one of windows."""
    summary = data.path_summary
    if summary is not None and len(summary):
        hops = sorted(set(summary["hops"]) - {ALL_HOPS}, key=int)
        for one in (ALL_HOPS, *hops):
            asked = "all questions" if one == ALL_HOPS else f"questions of {one} hop{'s'[: one != '1']}"
            caption = f"Instances, {asked}: means with their {BOUNDS}"
            yield _table(summary.filter(hops=one), _MEASURES, caption, folded=one != ALL_HOPS)
        costs = "What a question costs by module, mean over all questions"
        yield _table(summary.filter(hops=ALL_HOPS), _COSTS, costs, folded=True)
    yield _windows(data)


def _table(rows: pl.DataFrame, measures: Sequence[str], caption: str, *, folded: bool) -> TableView | None:
    by: By = {(row["instance"], row["measure"]): row for row in rows.iter_rows(named=True)}
    shown = [one for one in measures if one in set(rows["measure"])]
    instances = sorted(set(rows["instance"]), key=in_the_papers_order) if shown else []
    return table(
        caption,
        ("Instance", *map(measure_label, shown)),
        ([_heading(one), *(_cell(by.get((one, name))) for name in shown)] for one in instances),
        folded=folded,
    )


def _heading(instance: str) -> Cell:
    title = _TITLES.get(instance.removesuffix(LEX))
    return Cell(instance, (title,) if title else ())


def _cell(row: Mapping[str, Any] | None) -> Cell:
    if row is None or row["mean"] is None:
        return Cell(NONE)
    digits = 3 if abs(row["mean"]) < _SHARE else 2
    undefined = (f"{row['undefined']:,} without",) if row["undefined"] else ()
    if row["low"] is None:
        return Cell(f"{row['mean']:.{digits}f}", undefined)
    return Cell(
        f"{row['mean']:.{digits}f}", (f"{row['low']:.{digits}f} to {row['high']:.{digits}f}", *undefined)
    )


def _windows(data: ReportData) -> TableView | None:
    return table(
        "Size of the subgraph by class of questions, so that enough of the answers are in it",
        ("Class", "least recall", "nodes", "recall", "F1", "of highest F1", "questions", "why"),
        (
            [
                row["class"],
                f"{row['threshold']:.3f}",
                f"{row['chosen']:,}",
                f"{row['recall']:.3f}",
                f"{row['f1']:.4f}",
                plain(row["best"]),
                f"{row['questions']:,}",
                row["why"],
            ]
            for row in rows_of(data.recall_windows)
        ),
        folded=True,
    )
