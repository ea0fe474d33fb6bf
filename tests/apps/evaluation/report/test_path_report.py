"""Figures and tables of instances in the report."""

from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.apps.evaluation.figures.figure_style import Figure
from graphrag_dagster.apps.evaluation.figures.lego_figures import path_figures
from graphrag_dagster.apps.evaluation.report.report_files import write_report_files
from graphrag_dagster.apps.evaluation.report.report_page import render
from graphrag_dagster.apps.evaluation.report.table_views import ReportData
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.studies.score_summary import summarise
from graphrag_dagster.systems.lego.tables import PATH_SUMMARY, RECALL_WINDOWS
from support.corpora import write_corpus


def summary() -> pl.DataFrame:
    instances = ["12", "1", "13-lex", "GRAG-M-lex"]
    rows = [
        {
            "question_id": f"q{at}",
            "instance": one,
            "hits_at_1_lex": float(at % (place + 2) == 0),
            "answer_f1_lex": at / (10 + place),
            "subgraph_recall": 0.5 + 0.01 * at + 0.1 * place,
            "path_f1_at_32": 0.1 * place,
        }
        for place, one in enumerate(instances)
        for at in range(9)
    ]
    costs = [
        {
            "question_id": f"q{at}",
            "instance": one,
            "module": "extraction",
            "seconds": 0.01 * 2**place,
            "calls": place,
        }
        for place, one in enumerate(instances)
        for at in range(9)
    ]
    questions = pl.DataFrame([{"question_id": f"q{at}", "hops": 1 + at % 3} for at in range(9)])
    return PATH_SUMMARY.validated(
        summarise(pl.DataFrame(rows), questions, costs=pl.DataFrame(costs), resamples=50)
    )


def windows() -> pl.DataFrame:
    row = {"class": "all", "threshold": 0.6, "why": "0.600", "best": 64, "smallest": 64, "chosen": 64}
    return RECALL_WINDOWS.frame([{**row, "recall": 0.7, "f1": 0.01, "questions": 40}])


def data(**more: object) -> ReportData:
    given = {
        "corpus": "films",
        "description": None,
        "version": "0",
        "created_by": {},
        "settings": {},
        "conditions": ("C0", "SS"),
        "baseline": "SS",
        "answer_engine": "extractive",
        "claim_engine": "extractive",
        "judge_model": None,
    }
    return ReportData(**{**given, **more})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    return path_figures(summary())


def test_figures_are_drawn_of_what_was_measured(figures: list[Figure]) -> None:
    by_name = {figure.name: figure for figure in figures}
    assert list(by_name) == [
        "paths_hits_at_1_lex",
        "paths_answer_f1_lex",
        "paths_path_f1_at_32",
        "paths_subgraph_recall",
        "paths_recall_hits_at_1_lex",
        "paths_calls_hits_at_1_lex",
        "paths_time_subgraph_recall",
    ]
    bars = by_name["paths_hits_at_1_lex"]
    assert "All questions: 1 0.33, 12 0.56, 13-lex 0.33, GRAG-M-lex 0.22." in bars.alt
    assert "2 hops" in bars.alt
    assert "Grey: GRAG-M" in bars.caption
    assert "12: 0.01, 0.54" in by_name["paths_time_subgraph_recall"].alt
    assert all(figure.png.startswith(b"\x89PNG") for figure in figures)


def test_of_one_instance_there_is_no_figure() -> None:
    assert path_figures(summary().filter(instance="12")) == []
    assert path_figures(PATH_SUMMARY.empty()) == []


def test_the_report_has_a_part_of_them(figures: list[Figure]) -> None:
    page = render(data(path_summary=summary(), recall_windows=windows(), figures=figures))
    for words in (
        "Which instance of LEGO-GraphRAG is best?",
        "Hits@1-lex",
        "SBE-PPR+OSAR-LLMs",
        "64",
        "2 hops",
    ):
        assert words in page
    assert "Which instance of LEGO-GraphRAG" not in render(data())


def test_a_corpus_of_which_only_paths_were_measured_has_a_report(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpora", "films", "kind: graph\n")
    warehouse = Warehouse(path=str(tmp_path / "{corpus}.duckdb"))
    warehouse.write(PATH_SUMMARY, "films", summary())
    warehouse.write(RECALL_WINDOWS, "films", windows())
    made = write_report_files(warehouse, CorpusStore(root=str(tmp_path / "corpora")), "films")
    assert "paths_hits_at_1_lex" in [figure.name for figure in made.figures]
    page = made.page.read_text(encoding="utf-8")
    assert "Which instance of LEGO-GraphRAG is best?" in page
    assert "Size of the subgraph for enough recall" in page
