"""Sections of the results, each with its tables and figures, or the reason why there are none."""

from dataclasses import dataclass

import polars as pl

from graphrag_dagster.apps.evaluation.figures.figure_style import Figure
from graphrag_dagster.apps.evaluation.inference.measure_names import faithful_to_itself, measure, share
from graphrag_dagster.apps.evaluation.report.published_figures import published_tables
from graphrag_dagster.apps.evaluation.report.result_tables import (
    alignment_table,
    all_tests_table,
    bias_table,
    judged_table,
    measure_table,
    quality_reasons,
    quality_table,
    win_rate_grids,
)
from graphrag_dagster.apps.evaluation.report.table_views import (
    BOUNDS,
    TESTED,
    ReportCell,
    ReportData,
    ReportTable,
    rows_of,
    table,
)
from graphrag_dagster.kernel.catalogue.registry import asks_model, systems
from graphrag_dagster.kernel.common.printable import plural


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the results; ``missing`` says why it has no tables."""

    title: str
    intro: str
    tables: tuple[ReportTable, ...]
    missing: str
    figures: tuple[Figure, ...] = ()
    grid: bool = False


def figures_of(data: ReportData, *prefixes: str) -> tuple[Figure, ...]:
    """Return the figures whose names begin so."""
    return tuple(one for one in data.figures if one.name.startswith(prefixes))


def judge_note(data: ReportData) -> str:
    """Return who judged and how, as a sentence behind another one; blank where nobody did."""
    if data.judge_model is None:
        return ""
    kind, citations = (data.settings.get(f"evaluation.{key}") for key in ("judge", "citations"))
    way = "named the winner first" if kind == "plain" else "gave its reason before the winner"
    return f" {data.judge_model} ({kind} judge) {way}; citation marks were {citations}."


def blocks(data: ReportData) -> list[Block]:
    """Return the parts of the results, in reading order."""
    nobody = (
        "No model judged the answers, so there are no results here."
        if data.judge_model is None
        else "There are no judgements; materialise the table evaluation.judgements."
    )
    grids = tuple(win_rate_grids(data))
    placed = ("win_rates", "measures", "quality", "cost", "paths")
    rest = tuple(one for one in data.figures if not one.name.startswith(placed))
    return [
        Block(
            "What the judge prefers",
            "Two anonymous answers to a question, side by side: which is better on this criterion?"
            f"{judge_note(data)}",
            _present_tables(judged_table(data)),
            nobody,
            figures_of(data, "win_rates"),
        ),
        *([Block("Every search method against every other", "", grids, "", grid=True)] if grids else []),
        Block(
            "Themes of the judge's reasons",
            "A model read a sample of the judge's reasons, named the themes that they share, and labelled "
            f"each reason with these themes.{unread_reasons_note(data)}",
            _present_tables(themes_table(data)),
            nobody
            if data.judge_model is None
            else f"No themes were named, or evaluation.reasons is 0.{unread_reasons_note(data)}",
        ),
        *_count_blocks(data),
        *_checks(data, nobody),
        *_context_blocks(data),
        *_path_blocks(data),
        *_published_blocks(data),
        *([Block("Further figures", "", (), "", rest)] if rest else []),
        Block(
            "All verdicts and tests",
            "",
            _present_tables(_sentences(data), all_tests_table(data)),
            "No test was run.",
        ),
    ]


def _count_blocks(data: ReportData) -> list[Block]:
    proxy = not asks_model(data.claim_engine)
    counted = "claims-lex and clusters-lex (extractive)" if proxy else "Claims and clusters"
    against = f"mean over the questions, its {BOUNDS}, and against {data.baseline} {TESTED}"
    return [
        Block(
            "Counts in the answers",
            "",
            _present_tables(
                measure_table(data, ("claims",), f"{counted}: {against}", inclusive=False),
                measure_table(data, ("form",), f"Length, support and refusals: {against}", inclusive=False),
                measure_table(data, ("read", "other"), f"Context and others: {against}", inclusive=False),
                measure_table(
                    data,
                    ("claims",),
                    "Clusters if equal distances are merged too",
                    inclusive=True,
                ),
            ),
            "There are no measures of the answers; materialise the table evaluation.condition_means.",
            figures_of(data, "measures"),
        ),
        Block(
            "Quality of answers and context",
            "Formulas of the family in each row's heading; a metric is only shown under the name of its own "
            f"formula. {faithful_to_itself(data.conditions)}".strip(),
            _present_tables(quality_table(data), quality_reasons(data)),
            "No quality metric was measured: relevancy, faithfulness, recall and precision need a judging "
            "model.",
            figures_of(data, "quality"),
        ),
    ]


def _checks(data: ReportData, nobody: str) -> list[Block]:
    return [
        Block(
            "Do judge and claims agree?",
            "Decided comparisons only; a tie of the claims counts as disagreement.",
            _present_tables(alignment_table(data)),
            nobody
            if data.judge_model is None
            else "Agreement was not measured: it needs claims and judgements.",
        ),
        Block("Does the position in the prompt matter?", "", _present_tables(bias_table(data)), nobody),
    ]


def _context_blocks(data: ReportData) -> list[Block]:
    if "context_leiden" not in systems():
        return []
    from graphrag_dagster.apps.evaluation.report.system_tables import (
        context_table,
        context_variants_table,
        context_verdict,
        published_context,
    )

    tables = _present_tables(context_table(data), published_context(data), context_variants_table(data))
    said = context_verdict(data)
    return [Block("Are context nodes better than chance?", said, tables, "")] if tables else []


def _path_blocks(data: ReportData) -> list[Block]:
    if "lego" not in systems():
        return []
    from graphrag_dagster.apps.evaluation.report.system_tables import path_tables

    tables, figures = _present_tables(*path_tables(data)), figures_of(data, "paths")
    intro = (
        "Questions with gold answers, answered from paths of the graph by several combinations of modules. "
        "Hits@1: the text of an answer contains any gold answer. Answers without a model are named -lex."
    )
    return [Block("Which instance of LEGO-GraphRAG is best?", intro, tables, "", figures)] if tables else []


def _published_blocks(data: ReportData) -> list[Block]:
    tables = tuple(published_tables(data))
    intro = (
        "The papers measured other texts, questions and models. A table is shown where its measures are here."
    )
    return [Block("Beside the figures of the papers", intro, tables, "")] if tables else []


def _sentences(data: ReportData) -> ReportTable | None:
    rows = sorted(
        rows_of(data.verdicts),
        key=lambda row: (measure(row["measure"]).order, list(data.conditions).index(row["condition"])),
    )
    header = ("Search method", "measure", "verdict")
    said = [[row["condition"], measure(row["measure"]).label, row["statement"]] for row in rows]
    return table("All verdicts as sentences", header, said, folded=True, wordy=True)


def _present_tables(*tables: ReportTable | None) -> tuple[ReportTable, ...]:
    return tuple(one for one in tables if one is not None)


_QUOTED = 240


def themes_table(data: ReportData) -> ReportTable | None:
    """Return the themes of each criterion, most reasons first, each with the first reason that has it."""
    rows = sorted(rows_of(data.themes), key=lambda row: (measure(row["criterion"]).order, row["position"]))
    quoted = _quotations(data)
    return table(
        "Themes that the judge's reasons express; a reason may express several themes, or none",
        ("Criterion", "theme", "reasons", "share", "when a reason expresses it"),
        [
            [
                row["criterion"],
                row["theme"],
                f"{row['reasons']:,} of {row['read']:,}",
                share(row["reasons"] / row["read"], 0) if row["read"] else share(None),
                ReportCell(row["description"], quoted.get(row["theme_id"], ())),
            ]
            for row in rows
        ],
        wordy=True,
    )


def unread_reasons_note(data: ReportData) -> str:
    """Return how many reasons could not be read, as a sentence; '' where all could."""
    lost = 0 if data.theme_reasons is None else data.theme_reasons["problem"].count()
    if not lost:
        return ""
    return (
        f" {plural(lost, 'reason')} could not be read in full for lack of a usable reply; the table "
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
    return {theme: (f"“{_shorten(reason)}”",) for theme, reason in found.iter_rows()}


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else f"{line[:_QUOTED].rsplit(' ', 1)[0]} …"
