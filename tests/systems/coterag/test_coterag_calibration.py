"""Vectors and the thresholds that are calibrated with them."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import GraphragError, SettingsError
from graphrag_dagster.systems.coterag.coterag_options import MEASURED, PAPER, order_problem
from graphrag_dagster.systems.coterag.index.threshold_calibration import (
    background,
    calibrate,
    pseudo_questions,
)
from graphrag_dagster.systems.coterag.pipeline import foreign_embedder
from graphrag_dagster.systems.coterag.search.vector_matching import Vectors, by_rank
from graphrag_dagster.systems.coterag.settings import CoteragSettings
from support.coterag_graphs import vectors_of

SETS = ("summaries", "descriptions", "chunks")

OWN = CoteragSettings()


def random_vectors(count: int, seed: int, prefix: str) -> Vectors:
    matrix = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    return Vectors([f"{prefix}{n}" for n in range(count)], matrix, "chosen")


def frame(vectors: list[list[float]], embedder: str = "chosen") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "entity_id": [f"e{n}" for n in range(len(vectors))],
            "embedder": [embedder] * len(vectors),
            "vector": pl.Series(vectors, dtype=pl.Array(pl.Float32, 2)),
        }
    )


def test_quantiles_of_the_background_are_the_thresholds() -> None:
    cosines = np.arange(1000) / 1000
    found = calibrate(dict.fromkeys(SETS, cosines), OWN)
    assert dict(found.thresholds) == pytest.approx(
        {
            "community": 0.8991,
            "covered": 0.0,
            "coverage": 0.51,
            "entity": 0.96903,
            "traversal": 0.96903,
            "chunk": 0.94905,
            "fallback": 0.98901,
        }
    )
    assert found.route == pytest.approx(0.94905)
    assert found.rows["source"].to_list() == ["calibrated", "measured", "paper", *["calibrated"] * 5]
    assert found.rows["pairs"].to_list() == [1000, None, None, *[1000] * 5]


def test_too_few_pairs_leave_the_measured_thresholds() -> None:
    found = calibrate(dict.fromkeys(SETS, np.full(499, 0.1)), OWN)
    assert found.thresholds == MEASURED
    assert set(found.rows["source"]) == {"measured", "paper"}
    assert calibrate({}, OWN).thresholds == MEASURED


@pytest.mark.long
@given(st.lists(st.lists(st.floats(-1, 1), min_size=500, max_size=520), min_size=3, max_size=3))
def test_calibrated_thresholds_are_in_order(cosines: list[list[float]]) -> None:
    found = calibrate({name: np.array(one) for name, one in zip(SETS, cosines, strict=True)}, OWN)
    assert order_problem(dict(found.thresholds)) is None
    assert found.thresholds.fallback < 1


def test_thresholds_that_are_given_hold_or_are_refused() -> None:
    cosines = dict.fromkeys(SETS, np.arange(1000) / 2000)
    found = calibrate(cosines, CoteragSettings(thresholds={"fallback": 0.9, "coverage": 0.4}))
    assert (found.thresholds.fallback, found.thresholds.coverage) == (0.9, 0.4)
    low = calibrate(cosines, CoteragSettings(quantiles={"community": 0.1}, thresholds={"covered": 0.01}))
    assert (low.thresholds.community, low.thresholds.covered) == (pytest.approx(0.04995), 0.01)
    below = calibrate(dict.fromkeys(SETS, np.arange(-1000, 0) / 2000), OWN).thresholds
    assert below.covered == below.community < 0
    assert found.rows["source"].to_list().count("given") == 2
    with pytest.raises(
        SettingsError, match=r"coterag.thresholds: entity \(0.48.*must be at least chunk \(0.6\)"
    ):
        calibrate(cosines, CoteragSettings(thresholds={"chunk": 0.6}))


def test_the_papers_thresholds_need_no_background() -> None:
    cosines = dict.fromkeys(SETS, np.arange(1000) / 1000)
    raw = calibrate(cosines, CoteragSettings(profile="paper_raw"))
    assert (raw.thresholds, raw.route) == (PAPER, pytest.approx(0.94905))
    assert calibrate({}, CoteragSettings(profile="paper_neo4j")).thresholds.community == 0.5


@pytest.mark.parametrize(
    ("profile", "embedder", "warned"),
    [
        ("paper_raw", "static/potion-8M", True),
        ("paper_neo4j", "endpoint/nomic-embed-text-v2-moe", True),
        ("paper_raw", "endpoint/nomic-embed-text:v1.5", False),
        ("paper_raw", "sentence-transformers/nomic-ai/nomic-embed-text-v1.5@abc", False),
        ("calibrated", "static/potion-8M", False),
    ],
)
def test_the_papers_thresholds_beside_another_embedder_are_warned_of(
    profile: Any, embedder: str, warned: bool
) -> None:
    rows = calibrate({}, CoteragSettings(profile=profile)).rows
    said = foreign_embedder(rows.with_columns(profile=pl.lit(profile), embedder=pl.lit(embedder)))
    assert (said is not None) is warned
    if said is not None:
        assert embedder in said
        assert "coterag.profile to calibrated" in said


def test_the_background_leaves_out_what_shares_a_document() -> None:
    asked, items = vectors_of({"q": 1.0, "blank": 0.0}), vectors_of({"i": 0.2, "j": 0.3, "none": 0.0})
    documents = {"i": ["d1", "d2"], "j": ["d3"]}
    assert background(asked, [["d1"], []], items, documents, seed=0) == pytest.approx([0.3])
    assert background(asked, [["d2", "d3"], []], items, documents, seed=0).tolist() == []
    assert background(asked, [[], []], items, documents, seed=0) == pytest.approx([0.2, 0.3])
    many, questions = random_vectors(6000, 1, "i"), random_vectors(3, 2, "q")
    one = background(questions, [[]] * 3, many, {}, seed=5)
    assert len(one) == 3 * 5000
    assert np.array_equal(one, background(questions, [[]] * 3, many, {}, seed=5))


def test_pseudo_questions_are_names_and_sentences() -> None:
    entities = pl.DataFrame(
        {"title": [f"Name {n}" for n in range(300)] + [" "], "documents": [[f"d{n % 7}"] for n in range(301)]}
    )
    sentences = pl.DataFrame(
        {"text": [f"Sentence {n}." for n in range(300)], "document": [f"d{n % 5}" for n in range(300)]}
    )
    found = pseudo_questions(entities, sentences, seed=1)
    assert len(found) == found["text"].n_unique() == 400
    assert found["text"].str.starts_with("Name").sum() == 200
    shuffled = pseudo_questions(
        entities.sample(fraction=1, shuffle=True, seed=3), sentences.reverse(), seed=1
    )
    assert shuffled.equals(found)
    assert not pseudo_questions(entities, sentences, seed=2).equals(found)
    few = pseudo_questions(entities, sentences.head(10), seed=1)
    assert (len(few), few["text"].str.starts_with("Name").sum()) == (310, 300)
    assert len(pseudo_questions(entities.clear(), sentences.clear(), seed=1)) == 0


def test_vectors_of_zeros_are_like_nothing_and_counted() -> None:
    found = Vectors.of(frame([[3.0, 4.0], [0.0, 0.0]]), "entity_id", "chosen")
    assert found.zero.sum() == 1
    assert found.similarities(np.array([1.0, 0.0])) == pytest.approx([0.6, -1.0])
    assert found.similarities(np.zeros(2)).tolist() == [-1.0, -1.0]


def test_vectors_of_another_embedder_are_refused() -> None:
    with pytest.raises(
        GraphragError, match="entity rows were made by 'old', questions are embedded by 'new'"
    ):
        Vectors.of(frame([[1.0, 0.0]], "old"), "entity_id", "new")
    found = Vectors.of(frame([[1.0, 0.0]]), "entity_id", "chosen")
    with pytest.raises(GraphragError, match="a vector of 3 numbers, but earlier ones have 2"):
        found.similarities(np.ones(3))
    with pytest.raises(GraphragError, match="no numbers"):
        Vectors.of(frame([[float("nan"), 0.0]]), "entity_id", "chosen")


def test_no_vectors_at_all() -> None:
    empty = Vectors.of(frame([]), "entity_id", "chosen")
    assert empty.similarities(np.ones(2)).tolist() == []
    assert background(empty, [], empty, {}, seed=0).tolist() == []


def test_ranks_are_by_score_then_id() -> None:
    assert by_rank(["b", "a", "c"], np.array([0.5, 0.5, 0.9])) == [2, 1, 0]
    assert by_rank(["b", "a"], np.array([0.5, 0.5]), 1) == [1]


def test_quantiles_of_the_paper_are_in_order() -> None:
    values = {
        name: getattr(OWN.quantiles, name)
        for name in ("community", "entity", "traversal", "chunk", "fallback")
    }
    assert order_problem(values) is None


def test_text_units_stand_in_for_summaries_that_are_too_few() -> None:
    cosines = np.arange(1000) / 1000
    found = calibrate({"summaries": np.full(20, 0.9), "chunks": cosines, "descriptions": cosines / 2}, OWN)
    assert found.thresholds.community == pytest.approx(0.8991)
    assert found.rows.filter(pl.col("threshold") == "community")["source"].item() == "calibrated"
    assert found.thresholds.chunk == pytest.approx(0.94905)
