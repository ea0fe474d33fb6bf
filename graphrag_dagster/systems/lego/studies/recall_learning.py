"""Subgraph sizes for each class of questions, learned from a corpus or from a log (second paper B.5)."""

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE
from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.storage.corpus_store import content_of
from graphrag_dagster.systems.lego.search.reasoning_paths import PathQuery
from graphrag_dagster.systems.lego.settings import PathRecallSettings, PathSettings
from graphrag_dagster.systems.lego.studies.answer_metrics import Answers, NormalisedLabels
from graphrag_dagster.systems.lego.subgraphs.ranked_subgraphs import SubgraphExtractor
from graphrag_dagster.systems.lego.subgraphs.recall_constraint import (
    CLASSES,
    Classifier,
    Threshold,
    chosen_windows,
    learned_thresholds,
    measured_windows,
)
from graphrag_dagster.systems.lego.subgraphs.subgraph_extraction import extractor_of
from graphrag_dagster.systems.lego.tables import RECALL_WINDOWS


def windows_of(
    questions: pl.DataFrame,
    store: PathStore,
    settings: PathSettings,
    learned: Mapping[str, Threshold] | None = None,
) -> pl.DataFrame:
    """Return rows of ``paths.recall_windows``, measured on the questions for tuning; none where it is off.

    Args:
        questions: rows of ``paths.questions``.
        store: the graph.
        settings: sizes, threshold and application.
        learned: thresholds by class that take the place of those by rule.
    """
    if not settings.recall.enabled:
        return RECALL_WINDOWS.empty()
    options, classifier = settings.options(), Classifier(store, settings.direction)
    places = {entity: place for place, entity in enumerate(store.entity_ids)}
    tuning = []
    rows = questions.filter("development").sort("position").select("question", "seeds", "answers")
    for question, seeds, answers in rows.iter_rows():
        query = PathQuery(question, tuple(places[seed] for seed in seeds))
        tuning.append((query, Answers.of(answers), classifier.of(query)))

    def sized(window: int) -> SubgraphExtractor:
        return extractor_of(replace(options, pruning="none", max_ent=window), store)

    measured = measured_windows(tuning, settings.recall.windows, sized, NormalisedLabels(store))
    own = settings.recall
    return RECALL_WINDOWS.frame(
        chosen_windows(measured, own.application, start=own.threshold, learned=learned)
    )


_MOST_BYTES = 1_000_000_000
_COLUMNS = ("class", "threshold", "correct")
_RIGHT, _WRONG = ("true", "1", "1.0"), ("false", "0", "0.0")


def learned_from_log(folder: Path, settings: PathRecallSettings) -> Mapping[str, Threshold]:
    """Return the thresholds of the classes of which the log has enough questions; none without a log.

    Args:
        folder: of the corpus.
        settings: where the log is, and how many questions are enough.

    Raises:
        SettingsError: the log is not there, lacks a column, or has a row that cannot be read; names it.
    """
    if settings.log is None:
        return {}
    where = f"{folder / SETTINGS_FILE}: paths.recall.log {settings.log!r}"
    return learned_thresholds(
        _read(content_of(folder, settings.log, where, _MOST_BYTES), where), fewest=settings.feedback
    )


def _read(content: bytes, where: str) -> pl.DataFrame:
    try:
        rows = pl.read_csv(io.BytesIO(content), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise SettingsError(f"{where} is no csv file ({error}); mend it") from None
    if missing := [name for name in _COLUMNS if name not in rows.columns]:
        raise SettingsError(f"{where} has no column {', '.join(missing)}; it needs {', '.join(_COLUMNS)}")
    said = pl.col("correct").str.strip_chars().str.to_lowercase()
    read = rows.select(
        pl.col("class").str.strip_chars(),
        threshold=pl.col("threshold").str.strip_chars().cast(pl.Float64, strict=False),
        correct=pl.when(said.is_in(_RIGHT)).then(True).when(said.is_in(_WRONG)).then(False),
    ).with_row_index("row", offset=2)
    wrong = read.filter(
        ~pl.col("class").is_in([one.name for one in CLASSES]).fill_null(value=False)
        | ~pl.col("threshold").is_between(0, 1).fill_null(value=False)
        | pl.col("correct").is_null()
    )
    if len(wrong):
        classes = "; ".join(one.name for one in CLASSES)
        raise SettingsError(
            f"{where}, row {wrong['row'][0]}: class should be one of {classes}, threshold a number "
            "from 0 to 1, and correct true or false"
        )
    return read
