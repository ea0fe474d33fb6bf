"""What recall is worth, and what acceleration and additional steps cost, over a corpus of films."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.retrieval.scorer_registry import scorer_of
from graphrag_dagster.systems.lego.search.instance_definitions import PathOptions, Recipe
from graphrag_dagster.systems.lego.settings import PathSettings
from graphrag_dagster.systems.lego.studies import study_runner
from graphrag_dagster.systems.lego.studies.path_study import (
    METHODS,
    Preparation,
    recall_variants,
    switch_variants,
    variants_side_by_side,
)
from graphrag_dagster.systems.lego.studies.study_runner import given_hops
from graphrag_dagster.systems.lego.subgraphs.transition_matrix import adjacency_of
from graphrag_dagster.systems.lego.tables import PATH_QUESTIONS, PATH_STUDY
from support.commands import Run
from support.endpoint import ScriptedEndpoint
from support.films import SETTINGS
from support.homes import copy_home
from support.path_graphs import graph_of
from support.scripted_paths import paths_script


@pytest.fixture
def films(home: Path, films_home: Path) -> Path:
    copy_home(films_home, home)
    return home / "corpora" / "films"


def test_matrices_of_a_walk_belong_to_its_preparation() -> None:
    store = graph_of([("a", "p", "b"), ("b", "q", "c")])
    embedder = CorpusEmbedder(shared_static())
    prepared = Preparation(store, PathOptions(), embedder)
    prepared.extraction(PathOptions(), scorer_of("static"))
    transitions = adjacency_of(store, store.resolve_direction(PathOptions().direction))
    assert "products" in vars(transitions)


def test_the_command_measures_all_three_parts(films: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told_steps: list[tuple[int, bool]] = []

    def hops(questions: pl.DataFrame, recipes: Sequence[Recipe]) -> dict[str, int]:
        told_steps.append((len(questions), any(one.options.switches.combine for one in recipes)))
        return given_hops(questions, recipes)

    monkeypatch.setattr(study_runner, "given_hops", hops)
    ended, out, err = run("study", "films", "paths")
    assert ended == 0, out + err
    assert told_steps == [(len(Warehouse().read(PATH_QUESTIONS, "films")), True)]
    made = Warehouse().read(PATH_STUDY, "films")
    assert set(made["part"]) == {"recall", "acceleration", "switches"}
    asked = dict(made.group_by("part").agg(pl.col("questions").unique()).iter_rows())
    # Extractions are asked once for the same seeds.
    assert asked == {"recall": [6], "switches": [6], "acceleration": [5]}

    growing = made.filter(part="recall", measure="subgraph_recall").sort(
        pl.col("variant").str.extract(r"(\d+)").cast(pl.Int64)
    )
    assert growing["mean"].is_sorted()
    assert growing["mean"][0] < growing["mean"][-1] == 1
    assert set(made.filter(part="recall")["measure"]) >= {"hits_at_1_lex", "path_f1_at_32"}

    other = made.filter(part="acceleration")
    assert set(other["variant"]) == set(METHODS)
    seconds = other.filter(measure="preparation_seconds")
    assert seconds["mean"].min() > 0
    exact = dict(other.filter(variant="PageRank, exact").select("measure", "mean").iter_rows())
    assert exact["subgraph_recall"] == 1

    steps = made.filter(part="switches", measure="path_f1_at_32")
    told = dict(steps.select("variant", "added").iter_rows())
    assert told["SBE+ISAR-EEMs"] is None
    assert {"SBE+ISAR-EEMs (LLMs-R)-lex", "SBE+OSAR-LLMs (M-LLMs)-lex", "SBE+ISAR-LLMs (EEMs-S)-lex"} <= set(
        told
    )
    assert not [name for name in told if "LLMs-E)" in name]
    assert "CWQ .224" in steps.filter(variant="SBE+ISAR-EEMs (triple-level)")["paper"][0]
    means = dict(steps.select("variant", "mean").iter_rows())
    gain = means["SBE+ISAR-EEMs (triple-level)"] - means["SBE+ISAR-EEMs"]
    assert told["SBE+ISAR-EEMs (triple-level)"] == pytest.approx(gain)
    shown = [variants_side_by_side(made.filter(part=part))["variant"].to_list() for part in asked]
    assert shown[list(asked).index("acceleration")] == list(METHODS)
    assert shown[list(asked).index("recall")][0] == "max_ent 2"
    assert shown[list(asked).index("switches")][:2] == ["SBE+ISAR-EEMs", "SBE+ISAR-EEMs (triple-level)"]
    assert "in the paper, SBE+ISAR-EEMs (triple-level): CWQ .224, WebQSP .146" in out


def test_with_a_model_its_calls_are_counted_and_nothing_is_by_rule(films: Path, run: Run) -> None:
    with ScriptedEndpoint(paths_script) as endpoint:
        model = f"model: {{base_url: '{endpoint.url}', name: scripted, retries: 1}}\n"
        (films / "corpus.yaml").write_text(
            f"profile: paper_002\n{SETTINGS}  scorer: static\n  studied: 2\n{model}engine: llm\n"
        )
        ended, out, err = run("study", "films", "paths", "--yes")
        assert ended == 0, out + err
        asked = [one.body["messages"][0]["content"] for one in endpoint.chats]
    made = Warehouse().read(PATH_STUDY, "films")
    assert set(made["questions"]) == {2}
    assert not [name for name in made["variant"] if name.endswith("-lex")]
    assert "hits_at_1" in set(made["measure"])
    calls = dict(made.filter(part="switches", measure="calls").select("variant", "mean").iter_rows())
    assert calls["SBE+ISAR-EEMs"] == 1
    assert calls["SBE+ISAR-EEMs (LLMs-R)"] == 2
    assert calls["SBE+ISAR-LLMs"] > 2
    assert any("expert at reasoning over paths" in system for system in asked)
    assert any(system.startswith("You refine") for system in asked)


def test_a_study_without_questions_says_what_to_do(films: Path, run: Run) -> None:
    (films / "corpus.yaml").write_text(SETTINGS.replace("[qa/1-hop/dev.txt, qa/2-hop/dev.txt]", "[]"))
    ended, out, err = run("study", "films", "paths")
    assert ended != 0
    assert "paths.questions" in out + err


def test_windows_end_at_the_size_that_is_set_and_hidden_states_need_a_model() -> None:
    small = [one.name for one in recall_variants(PathSettings(max_ent=16))]
    assert small == ["max_ent 2", "max_ent 4", "max_ent 8", "max_ent 16"]
    with_model = PathSettings(llm_embeddings_model="/models/small")
    assert {one.name for one in switch_variants(with_model)} - {
        one.name for one in switch_variants(PathSettings())
    } == {"SBE+OSAR-LLMs (LLMs-E)"}


def test_instances_are_measured_without_the_study(films: Path) -> None:
    assert Warehouse().read_if_present(PATH_STUDY, "films") is None
