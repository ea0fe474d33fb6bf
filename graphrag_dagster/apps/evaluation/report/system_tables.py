"""Tables on the value of context nodes and of LEGO-GraphRAG's instances (second paper B.4)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.inference.measure_names import NONE, plain
from graphrag_dagster.apps.evaluation.report.published_figures import published_context_table
from graphrag_dagster.apps.evaluation.report.table_views import (
    BOUNDS,
    ReportCell,
    ReportData,
    ReportTable,
    rows_of,
    table,
)
from graphrag_dagster.systems.context_leiden.studies.context_study import AS_SET
from graphrag_dagster.systems.context_leiden.studies.metric_tables import (
    SHOWN,
    TESTED,
    format_as_paper,
    verdict,
)
from graphrag_dagster.systems.lego.search.instance_definitions import INSTANCES, LEX
from graphrag_dagster.systems.lego.studies.answer_metrics import measure_label
from graphrag_dagster.systems.lego.studies.score_summary import ALL_HOPS, paper_order

Row = dict[str, Any]
_ASIDE = ("own set", "can fall", "size-normalised")
#: What tells most stands first.
_COLUMNS = (*(name for name in SHOWN if name not in _ASIDE), *TESTED, *_ASIDE)


def context_verdict(data: ReportData) -> str:
    """Return whether the context nodes are better than chance; blank where nothing was measured."""
    rows = _rows(data)
    return "" if rows is None else verdict(rows, AS_SET)


def context_table(data: ReportData) -> ReportTable | None:
    """Return the measures of the index as it is, level by level."""
    return _table(
        data,
        pl.col("variant") == AS_SET,
        "Context nodes beside Leiden's and beside random ones: mean similarity to other communities, and the "
        f"share of the five most similar nodes that share a community; differences with their {BOUNDS}",
        "Level",
    )


def published_context(data: ReportData) -> ReportTable | None:
    """Return the measures of the index as it is beside the paper's."""
    rows = _rows(data)
    if rows is None:
        return None
    return published_context_table(format_as_paper(rows.filter(pl.col("variant") == AS_SET)))


def context_variants_table(data: ReportData) -> ReportTable | None:
    """Return the measures under other settings and on thinner graphs, level by level."""
    return _table(data, pl.col("variant") != AS_SET, "The same under other settings", "Variant and level")


def _rows(data: ReportData) -> pl.DataFrame | None:
    made = data.context_metrics
    return None if made is None or made.is_empty() else made


def _table(data: ReportData, which: pl.Expr, caption: str, first: str) -> ReportTable | None:
    rows = _rows(data)
    if rows is None:
        return None
    made = format_as_paper(rows.filter(which)).iter_rows(named=True)
    header = (first, "communities", "taken", *_COLUMNS)
    return table(caption, header, [_cells(row) for row in made], folded="Variant" in first)


def _cells(row: Row) -> list[ReportCell]:
    name = f"C{row['level']}"
    return [
        ReportCell(name) if row["variant"] == AS_SET else ReportCell(row["variant"], (name,)),
        ReportCell(f"{row['communities']:,}"),
        ReportCell(f"{row['taken']:,}"),
        *(
            _test_cell(row, column) if column in TESTED else ReportCell(_number(row[column]))
            for column in _COLUMNS
        ),
    ]


def _test_cell(row: Row, name: str) -> ReportCell:
    value, low, high = (row[f"{name}{end}"] for end in ("", " low", " high"))
    if value is None or low is None:
        return ReportCell(_number(value))
    tone = "good" if low > 0 else "bad" if high < 0 else "even"
    return ReportCell(f"{value:+.3f}", (f"{low:+.3f} to {high:+.3f}",), tone)


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


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


def path_tables(data: ReportData) -> Iterator[ReportTable | None]:
    """Yield tables of the measures for all questions and by hops, one of costs, and one of windows."""
    summary = data.path_summary
    if summary is not None and len(summary):
        hops = sorted(set(summary["hops"]) - {ALL_HOPS}, key=int)
        for one in (ALL_HOPS, *hops):
            asked = "all questions" if one == ALL_HOPS else f"questions of {one} hop{'s'[: one != '1']}"
            caption = f"Instances, {asked}: means with their {BOUNDS}"
            yield _table_of(summary.filter(hops=one), _MEASURES, caption, folded=one != ALL_HOPS)
        costs = "Cost of a question by module, mean over all questions"
        yield _table_of(summary.filter(hops=ALL_HOPS), _COSTS, costs, folded=True)
    yield _windows(data)


def _table_of(
    rows: pl.DataFrame, measures: Sequence[str], caption: str, *, folded: bool
) -> ReportTable | None:
    by: By = {(row["instance"], row["measure"]): row for row in rows.iter_rows(named=True)}
    shown = [one for one in measures if one in set(rows["measure"])]
    instances = sorted(set(rows["instance"]), key=paper_order) if shown else []
    return table(
        caption,
        ("Instance", *map(measure_label, shown)),
        ([_heading(one), *(_cell(by.get((one, name))) for name in shown)] for one in instances),
        folded=folded,
    )


def _heading(instance: str) -> ReportCell:
    title = _TITLES.get(instance.removesuffix(LEX))
    return ReportCell(instance, (title,) if title else ())


def _cell(row: Mapping[str, Any] | None) -> ReportCell:
    if row is None or row["mean"] is None:
        return ReportCell(NONE)
    digits = 3 if abs(row["mean"]) < _SHARE else 2
    undefined = (f"{row['undefined']:,} without",) if row["undefined"] else ()
    if row["low"] is None:
        return ReportCell(f"{row['mean']:.{digits}f}", undefined)
    return ReportCell(
        f"{row['mean']:.{digits}f}", (f"{row['low']:.{digits}f} to {row['high']:.{digits}f}", *undefined)
    )


def _windows(data: ReportData) -> ReportTable | None:
    return table(
        "Size of the subgraph for enough recall, by class of questions",
        ("Class", "required recall", "nodes", "recall", "F1", "of highest F1", "questions", "why"),
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
