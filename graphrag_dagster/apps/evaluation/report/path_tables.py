"""Tables of what the instances of LEGO-GraphRAG are worth (second paper B.4)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from graphrag_dagster.apps.evaluation.inference.numbers import NONE, plain
from graphrag_dagster.apps.evaluation.report.content import ReportData, rows_of
from graphrag_dagster.apps.evaluation.report.tables import BOUNDS, Cell, TableView, table
from graphrag_dagster.systems.lego.instances.declared import INSTANCES, LEX
from graphrag_dagster.systems.lego.studies.metrics.naming import measure_label
from graphrag_dagster.systems.lego.studies.metrics.summary import ALL_HOPS, in_the_papers_order

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
        costs = "Cost of a question by module, mean over all questions"
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
