"""Which size of the subgraph is chosen for each class of questions of a corpus (second paper B.5)."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from graphrag_dagster.core.paths.metrics.normalising import Answers, NormalisedLabels
from graphrag_dagster.core.paths.query import PathQuery
from graphrag_dagster.core.paths.recall.question_classes import Classifier
from graphrag_dagster.core.paths.recall.thresholds import Threshold
from graphrag_dagster.core.paths.recall.windows import chosen_windows, measured_windows
from graphrag_dagster.core.paths.store import PathStore
from graphrag_dagster.core.paths.subgraphs.making import extractor_of
from graphrag_dagster.core.paths.subgraphs.port import SubgraphExtractor
from graphrag_dagster.settings.paths import PathSettings
from graphrag_dagster.tables import RECALL_WINDOWS


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
