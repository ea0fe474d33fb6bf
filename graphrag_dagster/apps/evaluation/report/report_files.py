"""The report of an evaluation as files: one HTML page, and its figures as pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import polars as pl

from graphrag_dagster.apps.evaluation.figures.figure_style import Figure
from graphrag_dagster.apps.evaluation.questions.question_tables import (
    CORPUS_DESCRIPTIONS,
    PERSONAS,
    QUESTIONS,
)
from graphrag_dagster.apps.evaluation.report.table_views import ReportData
from graphrag_dagster.apps.evaluation.settings import EvaluationSettings, QuestionSettings
from graphrag_dagster.apps.evaluation.tables import (
    ALIGNMENT,
    ANSWER_MEASURES,
    COMPARISONS,
    CONDITION_COSTS,
    CONDITION_MEANS,
    EXTRACTION_COUNTS,
    JUDGEMENTS,
    POSITION_BIAS,
    QUALITY_SCORES,
    SIGNIFICANCE,
    THEME_REASONS,
    THEMES,
    VERDICTS,
    WIN_RATES,
    WINDOW_WIN_RATES,
)
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.pipeline.erasure import REPORT, report_folder
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse
from graphrag_dagster.kernel.tables import Table
from graphrag_dagster.kernel.tables.declared_tables import all_tables

PAGE = "report.html"


def _tables_of_systems(*names: str) -> tuple[Table, ...]:
    """Tables of systems, of which not every one need be installed."""
    return tuple(table for table in all_tables() if table.full_name in names)


#: What the page tells of.
_TOLD = (
    QUESTIONS,
    PERSONAS,
    tables.ANSWERS,
    ANSWER_MEASURES,
    CONDITION_MEANS,
    SIGNIFICANCE,
    WIN_RATES,
    POSITION_BIAS,
    ALIGNMENT,
    VERDICTS,
    CONDITION_COSTS,
    tables.CONTEXT_SIZES,
    COMPARISONS,
    JUDGEMENTS,
    QUALITY_SCORES,
    THEMES,
    THEME_REASONS,
    *_tables_of_systems("studies.context_metrics", "paths.recall_windows"),
)
#: What a report is made from: what it tells, and what its figures draw.
SHOWN = (
    *_TOLD,
    *_tables_of_systems("paths.summary"),
    CORPUS_DESCRIPTIONS,
    tables.ENTITIES,
    tables.RELATIONSHIPS,
    tables.COMMUNITY_LEVELS,
    EXTRACTION_COUNTS,
    WINDOW_WIN_RATES,
)
_STEPS: tuple[tuple[str, str, str], ...] = (
    ("graph", "extraction", "extract"),
    ("community reports", "reports", "report"),
    ("questions", "questions", "answer"),
    ("answers", "search", "answer"),
    ("judgements and claims", "evaluation", "judge"),
)


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """A report: its page, its pictures, and the figures on both."""

    page: Path
    pictures: tuple[Path, ...]
    figures: tuple[Figure, ...]


def write_report_files(warehouse: Warehouse, corpora: CorpusStore, corpus: str) -> ReportFiles:
    """Write the report of the last evaluation; each file takes its place at once.

    Raises:
        WarehouseError: the corpus has not been evaluated, or the warehouse cannot be read.
        SettingsError: the corpus's settings cannot be used.
    """
    from graphrag_dagster.apps.evaluation.report.report_page import render

    settings = corpora.settings(corpus)
    with warehouse.reading(corpus) as reader:
        figures = _figures(reader, settings)
        data = _data(reader, settings, corpus, figures)
    folder = report_folder(warehouse, corpus)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for figure in figures:
        pictures.append(folder / f"{figure.name}.png")
        _replace(pictures[-1], figure.png)
    page = folder / PAGE
    _replace(page, render(data).encode())
    for other in folder.iterdir():
        if REPORT.fullmatch(other.name) and other not in {page, *pictures}:
            other.unlink()
    return ReportFiles(page, tuple(pictures), tuple(figures))


def _replace(file: Path, content: bytes) -> None:
    making = file.with_name(f".{uuid4().hex}.tmp")
    try:
        making.write_bytes(content)
        making.replace(file)
    finally:
        making.unlink(missing_ok=True)


def _figures(reader: Reader, settings: CorpusSettings) -> list[Figure]:
    from graphrag_dagster.apps.evaluation.figures.community_maps import community_maps
    from graphrag_dagster.apps.evaluation.figures.gleaning_figure import gleaning_lines
    from graphrag_dagster.apps.evaluation.figures.measure_bars import measure_bars
    from graphrag_dagster.apps.evaluation.figures.scatter_plots import cost_against_quality
    from graphrag_dagster.apps.evaluation.figures.win_rate_maps import win_rate_maps, window_bars
    from graphrag_dagster.apps.evaluation.inference.measure_names import faithful_to_itself
    from graphrag_dagster.apps.evaluation.inference.verdict import main_measure
    from graphrag_dagster.apps.evaluation.measures.quality_metrics import METRICS

    def read(table: Table) -> pl.DataFrame:
        made = reader.read_if_present(table)
        return table.empty() if made is None else made

    conditions, baseline = (
        list(settings.section(QuestionSettings).methods),
        settings.section(EvaluationSettings).baseline,
    )
    means, tests = read(CONDITION_MEANS), read(SIGNIFICANCE)
    counted = [
        name
        for name in means["measure"].unique(maintain_order=True)
        if name.startswith(("claims", "clusters")) and not name.endswith("inclusive")
    ]
    main = main_measure(read(VERDICTS))
    qualities = [
        measure_bars(
            means,
            tests,
            [f"{family} {metric}" for metric in METRICS],
            conditions,
            baseline,
            top=1.0,
            name=f"quality_{family}",
            title=f"Answer relevancy, faithfulness, contextual recall and contextual precision ({family})",
            note=faithful_to_itself(conditions),
        )
        for family in settings.section(EvaluationSettings).metrics
    ]
    made = [
        win_rate_maps(read(WIN_RATES), tests, conditions),
        measure_bars(means, tests, counted, conditions, baseline),
        *qualities,
        cost_against_quality(read(CONDITION_COSTS), means, main, conditions) if main else None,
        community_maps(read(tables.ENTITIES), read(tables.RELATIONSHIPS), read(tables.COMMUNITY_LEVELS)),
        gleaning_lines(read(EXTRACTION_COUNTS)),
        window_bars(read(WINDOW_WIN_RATES)),
        *(figure for table in _tables_of_systems("paths.summary") for figure in _path_figures(read(table))),
    ]
    return [figure for figure in made if figure is not None]


def _path_figures(summary: pl.DataFrame) -> list[Figure]:
    from graphrag_dagster.apps.evaluation.figures.lego_figures import path_figures

    return path_figures(summary)


def _data(reader: Reader, settings: CorpusSettings, corpus: str, figures: Sequence[Figure]) -> ReportData:
    frames = {table.name: reader.read_if_present(table) for table in _TOLD}
    described = reader.read_if_present(CORPUS_DESCRIPTIONS)
    about = settings.description
    if about is None and described is not None and len(described):
        about = described["description"][0]
    judged = frames["judgements"] is not None and len(frames["judgements"]) > 0
    own, model = settings.section(EvaluationSettings), settings.model
    return ReportData(
        corpus=corpus,
        description=about,
        version=version("graphrag-dagster"),
        created_by={step: _judge_name(settings, stage, task) for step, stage, task in _STEPS},
        settings={
            "questions.methods": ", ".join(settings.section(QuestionSettings).methods),
            "search.context_tokens": settings.search.context_tokens,
            "text_units.size": settings.text_units.size,
            "evaluation.criteria": ", ".join(own.criteria),
            "evaluation.judge": own.judge,
            "evaluation.citations": own.citations,
            "evaluation.replicates": own.replicates,
            "temperature of verdicts": model.verdict_temperature if judged else "none",
            **_testset(settings),
            "evaluation.sample": own.sample or "all",
            "evaluation.reasons": own.reasons,
            "evaluation.thresholds": ", ".join(map(str, own.thresholds)),
        },
        conditions=settings.section(QuestionSettings).methods,
        baseline=own.baseline,
        answer_engine=settings.engine_of("search"),
        claim_engine=settings.engine_of("evaluation"),
        judge_model=model.for_role("judge").name if judged else None,
        answer_model=model.for_role("answer").name if settings.asks_model("search") else None,
        commands=(f"graphrag-dagster index {corpus}", f"graphrag-dagster evaluate {corpus}"),
        figures=figures,
        path_summary=next(map(reader.read_if_present, _tables_of_systems("paths.summary")), None),
        **frames,
    )


def _testset(settings: CorpusSettings) -> dict[str, object]:
    own = settings.section(QuestionSettings).testset
    if not own.enabled:
        return {}
    return {
        "questions.testset": f"{own.documents} documents × {own.per_document} questions, seed {own.seed}, "
        f"written by {settings.model.for_role('testset').name}"
    }


def _judge_name(settings: CorpusSettings, section: str, role: str) -> str:
    engine = settings.engine_of(section)
    asked = settings.asks_model(section)
    return f"{engine} ({settings.model.for_role(role).name})" if asked else engine
