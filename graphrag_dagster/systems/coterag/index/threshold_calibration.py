"""Similarity thresholds calibrated to the embedder: quantiles of cosines between unrelated texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.stable_values import Scores, round_for_comparison
from graphrag_dagster.systems.coterag.coterag_options import (
    MEASURED,
    SETS,
    Thresholds,
    order_problem,
    paper_thresholds,
)
from graphrag_dagster.systems.coterag.search.vector_matching import Vectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphrag_dagster.systems.coterag.settings import CoteragSettings

#: Pseudo-questions, and the pairs of a set from which its thresholds are calibrated.
QUESTIONS, LEAST_PAIRS = 400, 500
#: Rows of a set that are compared with every pseudo-question.
_COMPARED = 5_000
#: Cosine of what most entities are to a question that is not about them, where it cannot be calibrated.
_ROUTE = 0.44
#: How far fallback stays above entity, and where thresholds end, lest nothing ever exceed them.
_STEP, _HIGHEST = 0.01, 0.98


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds in force, and where each comes from.

    ``rows``: ``threshold``, ``value``, ``source`` (``paper``, ``given``, ``calibrated``, ``measured``),
    ``quantile`` and ``pairs`` of the background (null where it was not used), in the order of
    :class:`.options.Thresholds`, then ``route``.
    """

    thresholds: Thresholds
    route: float
    rows: pl.DataFrame


def pseudo_questions(
    entities: pl.DataFrame, sentences: pl.DataFrame, *, seed: int, most: int = QUESTIONS
) -> pl.DataFrame:
    """Return texts of the corpus that stand for questions: half entity names, half sentences.

    Args:
        entities: ``title`` and ``documents`` (a list of ids).
        sentences: ``text`` and ``document``.
        seed: the same seed and rows, in whatever order, give the same texts.
        most: how many; where one kind has fewer than half, the other makes up for it.

    Returns:
        ``text`` and ``documents``.
    """
    names = (
        entities.group_by(text="title")
        .agg(pl.col("documents").list.explode().drop_nulls().unique().sort())
        .sort("text")
    )
    said = sentences.group_by("text").agg(pl.col("document").unique().sort().alias("documents")).sort("text")
    names, said = (one.filter(pl.col("text").str.strip_chars() != "") for one in (names, said))
    of_names = max(most // 2, most - len(said))
    return pl.concat(
        [
            _sample_questions(names, of_names, seed),
            _sample_questions(said, most - min(of_names, len(names)), seed + 1),
        ]
    ).select("text", pl.col("documents").cast(pl.List(pl.String)))


def background(
    asked: Vectors,
    asked_about: Sequence[Sequence[str]],
    items: Vectors,
    item_documents: Mapping[str, Sequence[str]],
    *,
    seed: int,
) -> Scores:
    """Return the cosines of pseudo-questions with rows that no document of theirs is behind.

    Args:
        asked: vectors of the pseudo-questions.
        asked_about: the documents of each.
        items: vectors of the rows; of many 5,000 are drawn.
        item_documents: the documents behind each row, by its id.
        seed: of the draw.
    """
    places = np.flatnonzero(~items.zero)
    if len(places) > _COMPARED:
        places = np.sort(np.random.default_rng(seed).choice(places, _COMPARED, replace=False))
    behind: dict[str, list[int]] = {}
    drawn = Vectors([items.ids[place] for place in places.tolist()], items.matrix[places], items.embedder)
    for column, one in enumerate(drawn.ids):
        for document in item_documents.get(one, ()):
            behind.setdefault(document, []).append(column)
    found = []
    for number, documents in enumerate(asked_about):
        if not asked.zero[number]:
            apart = np.ones(len(places), dtype=np.bool_)
            for document in documents:
                apart[behind.get(document, [])] = False
            found.append(drawn.similarities(asked.matrix[number])[apart])
    return np.concatenate(found) if found else np.zeros(0)


def calibrate(
    backgrounds: Mapping[str, Scores],
    options: CoteragSettings,
) -> Calibration:
    """Return the thresholds in force.

    Calibrated ones are brought into order: fallback > entity ≥ chunk ≥ community, entity ≥ traversal; that
    of communities which cover the question's terms is fixed, at most that of the others. For
    summaries with fewer than 500 pairs, of which a small corpus has few, text units stand in. Any other set
    with fewer has the thresholds that were measured for a small sentence transformer.

    Args:
        backgrounds: cosines by set: ``summaries``, ``descriptions``, ``chunks``; see :func:`background`.
        options: whose ``profile``, where it is one of the paper's, gives the thresholds, so that the route
            alone is calibrated; whose ``quantiles`` are shares of the cosines that are below the thresholds;
            and whose ``thresholds`` hold whatever the profile says.

    Raises:
        SettingsError: those given contradict the calibrated ones.
    """
    profile, said = options.profile, options.thresholds.explicit_values()
    values = {**dict(MEASURED), "route": _ROUTE}
    rows: dict[str, tuple[str, float | None, int | None]] = {}
    for name in values:
        cosines = _cosines(backgrounds, SETS.get(name, ""))
        if name == "coverage" or (name != "route" and profile != "calibrated"):
            rows[name] = ("paper", None, None)
        elif name == "covered":
            rows[name] = ("measured", None, None)
        elif len(cosines) < LEAST_PAIRS:
            rows[name] = ("measured", None, len(cosines))
        else:
            share = float(getattr(options.quantiles, name))
            values[name] = float(round_for_comparison(np.quantile(cosines, [share]))[0])
            rows[name] = ("calibrated", share, len(cosines))
        if name in said and said[name] != values[name]:
            rows[name] = ("given", None, None)
    route = values.pop("route")
    if profile == "calibrated":
        thresholds = _thresholds_given(_in_order(Thresholds(**values)), said)
    else:
        thresholds = paper_thresholds(profile, said)
    shown = {**dict(thresholds), "route": route}
    return Calibration(
        thresholds,
        route,
        pl.DataFrame(
            [(name, value, *rows[name]) for name, value in shown.items()],
            schema={
                "threshold": pl.String,
                "value": pl.Float64,
                "source": pl.String,
                "quantile": pl.Float64,
                "pairs": pl.Int64,
            },
            orient="row",
        ),
    )


def _cosines(backgrounds: Mapping[str, Scores], name: str) -> Scores:
    found = backgrounds.get(name, np.zeros(0))
    few = name == "summaries" and len(found) < LEAST_PAIRS
    return backgrounds.get("chunks", found) if few else found


def _in_order(found: Thresholds) -> Thresholds:
    chunk = min(max(found.chunk, found.community), _HIGHEST)
    entity = min(max(found.entity, chunk), _HIGHEST)
    return replace(
        found,
        community=(community := min(found.community, chunk)),
        covered=min(found.covered, community),
        chunk=chunk,
        entity=entity,
        traversal=min(found.traversal, entity),
        fallback=max(min(found.fallback, _HIGHEST + _STEP), entity + _STEP),
    )


def _thresholds_given(found: Thresholds, said: Mapping[str, float]) -> Thresholds:
    thresholds = replace(found, **said)
    if said and (problem := order_problem(dict(thresholds))):
        shown = ", ".join(f"{name} {value:.3f}" for name, value in thresholds)
        raise SettingsError(
            f"coterag.thresholds: {problem}; with those that are calibrated they are {shown}: give the "
            "others too, or leave all to the calibration"
        )
    return thresholds


def _sample_questions(rows: pl.DataFrame, most: int, seed: int) -> pl.DataFrame:
    if len(rows) <= most:
        return rows
    places = np.random.default_rng(seed).choice(len(rows), most, replace=False)
    return rows.gather(np.sort(places).tolist())
