"""What a study of context nodes compares, and what it says."""

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.graph.hierarchical_leiden import hierarchical_communities, levels
from graphrag_dagster.kernel.settings.study_settings import ContextStudySettings
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.context_leiden.settings import ContextSettings
from graphrag_dagster.systems.context_leiden.studies.context_study import (
    AS_SET,
    Indexed,
    drop_edges,
    study,
    variants,
)
from graphrag_dagster.systems.context_leiden.studies.metric_tables import (
    SHOWN,
    format_as_paper,
    improvements,
    verdict,
)
from graphrag_dagster.systems.context_leiden.tables import CONTEXT_METRICS
from support.commands import Run
from support.corpora import write_corpus

#: Three rings of eight, each tied to the next.
RINGS = [f"{ring}{node}" for ring in "abc" for node in range(8)]


def index() -> Indexed:
    pairs = [(f"{r}{n}", f"{r}{(n + step) % 8}") for r in "abc" for n in range(8) for step in (1, 2)]
    pairs += [("a0", "b0"), ("b4", "c0"), ("c4", "a4")]
    edges = pl.DataFrame(
        {
            "relationship_id": [f"{one}-{two}" for one, two in pairs],
            "source_id": [one for one, _ in pairs],
            "target_id": [two for _, two in pairs],
            "weight": [1.0] * len(pairs),
        }
    )
    found = hierarchical_communities(edges.select("weight", source="source_id", target="target_id"))
    return Indexed(edges, levels(found.communities, found.members), ContextSettings(embedding="spectral"))


STUDIED = ContextStudySettings(
    resolutions=[1.0, 8.0], alphas=[0.5], lambda_max=[0], densities=[0.5], embeddings=["spectral", "text"]
)


def test_each_variant_differs_in_what_its_name_says() -> None:
    made = {one.name: one for one in variants(index(), STUDIED)}
    assert list(made) == [
        *(AS_SET, "include_self=False", "flat, 1", "flat, 8", "alpha=0.5", "lambda_max=0"),
        *("50% edges, drop", "50% edges, far", "embedding=spectral", "embedding=text"),
    ]
    assert not made["include_self=False"].options.include_self
    assert made["flat, 8"].community_levels["level"].unique().to_list() == [0]
    finer, coarser = (made[f"flat, {n}"].community_levels["community_id"].n_unique() for n in (8, 1))
    assert finer > coarser
    assert made["lambda_max=0"].options.lambda_max == 0
    assert made["50% edges, far"].options.unreachable == "far"
    assert made["50% edges, far"].relationships.height < index().relationships.height


@given(shares=st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_thinner_graphs_are_parts_of_denser_ones(shares: list[float]) -> None:
    edges = index().relationships
    kept = [set(drop_edges(edges, share)["relationship_id"]) for share in sorted(shares)]
    assert all(few <= more for few, more in pairwise(kept))
    assert drop_edges(edges, 1).equals(edges)


def test_without_texts_only_the_structure_is_compared_and_no_budget_is_no_gain() -> None:
    made = study(index(), STUDIED, pl.Series("entity_id", RINGS), None)
    assert "embedding=text" not in set(made["variant"])
    CONTEXT_METRICS.validated(made)
    told = format_as_paper(made)
    assert set(told["variant"]) == set(made["variant"])
    assert told.select("variant", "level").is_unique().all()
    assert set(SHOWN) < set(told.columns)
    nothing = told.filter(variant="lambda_max=0")
    assert nothing["taken"].sum() == 0
    assert (nothing["P@5 plain"] == nothing["P@5 context"]).all()
    assert (told["P@5 context"] >= told["P@5 plain"] - 1e-12).all()
    assert verdict(made, "lambda_max=0") == "There are no context nodes to be compared."


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.1, 0.2, "2 of 2"), (-0.2, -0.1, "0 of 2 levels (worse at 2)")]
)
def test_the_verdict_counts_levels_whose_interval_leaves_zero_out(low: float, high: float, said: str) -> None:
    row = {
        "variant": AS_SET,
        "measure": "precision_at_5",
        "nodes": 9,
        "communities": 3,
        "taken": 2,
    }
    rows = [
        {**row, "value": 0.15 + level, "level": level, "reading": reading, "low": low, "high": high}
        for level in (0, 1)
        for reading in ("context_minus_random", "context_minus_random_misaligned")
    ]
    assert verdict(CONTEXT_METRICS.frame(rows), AS_SET).count(said) == 2


def test_table_one_counts_what_the_paper_says_in_words() -> None:
    row = {"variant": AS_SET, "level": 0, "nodes": 9, "communities": 3, "taken": 2}
    values = {("cross_similarity", "leiden"): 0.1, ("cross_similarity", "context"): 0.2}
    values |= {("precision_at_5", "plain"): 0.8, ("precision_at_5", "context"): 0.9}
    measured = CONTEXT_METRICS.frame(
        {**row, "measure": measure, "reading": reading, "value": value}
        for (measure, reading), value in values.items()
    )
    vectors = {"text units": 6, "entities": 10, "reports": 3, "context nodes": 1}
    costs = pl.DataFrame(
        {
            "condition": ["C0", "graph"],
            "context_rows": [10.0, 4.0],
            "context_tokens": [700.0, 200.0],
            "calls": [2.0, 1.0],
        }
    )
    told = improvements(measured, vectors, 8, costs)
    assert told.select("counted", "graphrag", "context_aware").rows() == [
        ("cross-cluster similarity", 0.1, 0.2),
        ("precision at 5", 0.8, 0.9),
        ("bytes of vectors", 20 * 8 * 4, 4 * 8 * 4),
        ("tokens of a row that is read", 70, 50),
        ("tokens read for an answer", 700, 200),
        ("model calls for an answer", 2, 1),
    ]
    for unknown in (None, costs.head(1)):
        assert improvements(measured, vectors, 8, unknown).equals(told.head(3))


def test_the_command_measures_an_index_whether_it_has_context_nodes_or_not(coast: Path, run: Run) -> None:
    assert coast.is_dir()
    code, told, _ = run("study", "coast", "context")
    assert code == 0
    for words in ("cross-cluster similarity", "Table I, as far as it can be counted", "bytes of vectors"):
        assert words in told
    made = Warehouse().read(CONTEXT_METRICS, "coast")
    assert {AS_SET, "embedding=concat", "10% edges, far"} < set(made["variant"])
    own = made.filter(variant=AS_SET, measure="precision_at_5")
    assert {"plain", "context", "random", "size_normalised"} < set(own["reading"])


@pytest.mark.long
def test_an_index_of_nothing_has_nothing_to_measure(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    for file in list(folder.rglob("*")):
        if file.is_file():
            file.unlink()
    (folder / "one.txt").write_text("It rained all day.")
    run_job("coast")
    run_job("coast", "study_context")
    assert Warehouse().read(CONTEXT_METRICS, "coast").is_empty()
