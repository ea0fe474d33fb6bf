"""The profile of the paper on graphs as those that it measures: one without inverse relations, one with them."""

import pytest

from graphrag_dagster.kernel.graph.adjacency_arrays import PathStore
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.systems.lego.extractive import ExtractivePathAnswerer, ExtractivePathSelector
from graphrag_dagster.systems.lego.search.instance_definitions import INSTANCES
from graphrag_dagster.systems.lego.search.instance_runner import InstanceResources, run_batch
from graphrag_dagster.systems.lego.search.reasoning_paths import Outcome, PathQuery
from graphrag_dagster.systems.lego.settings import PathSettings
from support.path_graphs import graph_of, node

#: As WikiMovies has it: films alone begin an edge.
FILMS = graph_of(
    [
        ("Alien", "directed_by", "Ridley Scott"),
        ("Gladiator", "directed_by", "Ridley Scott"),
        ("Gladiator", "starred_actors", "Russell Crowe"),
        ("Ran", "directed_by", "Akira Kurosawa"),
        ("Ran", "release_year", "1985"),
    ]
)
#: As Freebase has it: each relation with its inverse, and nodes without a name between two that have one.
FREEBASE = graph_of(
    [
        ("Alien", "film.film.directed_by", "Ridley Scott"),
        ("Ridley Scott", "film.director.film", "Alien"),
        ("Gladiator", "film.film.directed_by", "Ridley Scott"),
        ("Ridley Scott", "film.director.film", "Gladiator"),
        ("Gladiator", "film.film.starring", "m.0abc"),
        ("m.0abc", "film.performance.film", "Gladiator"),
        ("m.0abc", "film.performance.actor", "Russell Crowe"),
        ("Russell Crowe", "film.actor.film", "m.0abc"),
    ]
)


def profiled(**changed: object) -> PathSettings:
    paths = {"scorer": "static", "instances": ["1", "2", "6", "10", "12", "14"], **changed}
    return parse_settings({"profile": "paper_002", "kind": "graph", "paths": paths}, "x").section(
        PathSettings
    )


def outcomes(store: PathStore, settings: PathSettings, question: str, seed: str) -> list[Outcome]:
    resources = InstanceResources(store, ExtractivePathAnswerer(), ExtractivePathSelector())
    runners = [resources.runner(recipe) for recipe in settings.recipes()]
    (found,) = run_batch(runners, [PathQuery(question, (node(store, seed),))])
    return found


def texts(outcome: Outcome) -> list[str]:
    return outcome.paths.verbalised.texts


def test_it_is_the_paper() -> None:
    paper = parse_settings({"profile": "paper_002", "kind": "graph"}, "x").section(PathSettings)
    assert paper.instances == [one.name for one in INSTANCES]
    assert (paper.scorer, paper.answer_form, paper.isar_order) == ("minilm", "sentences", "selection")
    assert (paper.options().direction, paper.options().isar_order) == ("auto", "selection")


def test_two_hops_without_inverse_relations_go_against_an_edge() -> None:
    question = "which films have the director of Alien"
    for outcome in outcomes(FILMS, profiled(), question, "Alien"):
        assert "Alien -> directed_by -> Ridley Scott -> ~directed_by -> Gladiator" in texts(outcome)
    for outcome in outcomes(FILMS, profiled(), "which films did Ridley Scott direct", "Ridley Scott"):
        assert {"Ridley Scott -> ~directed_by -> Alien", "Ridley Scott -> ~directed_by -> Gladiator"} <= set(
            texts(outcome)
        )
    for outcome in outcomes(FILMS, profiled(direction="out"), question, "Alien"):
        assert texts(outcome) == ["Alien -> directed_by -> Ridley Scott"]


def test_with_inverse_relations_edges_are_followed_out_alone() -> None:
    assert FREEBASE.reciprocal == 1.0
    wanted = "Alien -> film.film.directed_by -> Ridley Scott -> film.director.film -> Gladiator"
    for outcome in outcomes(FREEBASE, profiled(), "which films have the director of Alien", "Alien"):
        assert wanted in texts(outcome)
        assert not [one for one in texts(outcome) if "~" in one]


@pytest.mark.parametrize("number", ["1", "12", "14"])
def test_ways_lead_through_nodes_without_a_name(number: str) -> None:
    (outcome,) = outcomes(FREEBASE, profiled(instances=[number]), "who starred in Gladiator", "Gladiator")
    wanted = "Gladiator -> film.film.starring -> m.0abc -> film.performance.actor -> Russell Crowe"
    assert wanted in texts(outcome)
