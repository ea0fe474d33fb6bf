"""Question files answered by several instances, as Dagster runs it."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.systems.lego.studies import benchmark_runs as made
from graphrag_dagster.systems.lego.studies import study_runner as running
from graphrag_dagster.systems.lego.studies.benchmark_runs import Bench, BenchQuestion, Frames
from graphrag_dagster.systems.lego.tables import (
    PATH_ANSWERS,
    PATH_COSTS,
    PATH_QUESTIONS,
    PATH_SCORES,
    PATH_SUBGRAPHS,
    PATH_SUMMARY,
    PATHS_FOUND,
    RECALL_WINDOWS,
)
from support.films import SETTINGS, write_films
from support.homes import copy_home

OUTCOMES = (PATH_SUBGRAPHS, PATHS_FOUND, PATH_ANSWERS, PATH_SCORES)
MODEL_FREE = ["1", "10", "12", "14", "2", "6"]


@pytest.fixture
def films(home: Path, films_home: Path) -> Path:
    """The films, indexed and measured once."""
    copy_home(films_home, home)
    return home / "corpora" / "films"


def read(table: Table) -> pl.DataFrame:
    return Warehouse().read(table, "films")


@pytest.mark.usefixtures("films")
def test_every_question_is_told_with_what_is_the_matter() -> None:
    rows = read(PATH_QUESTIONS).sort("position")
    assert rows["hops"].to_list() == [1] * 6 + [2] * 2
    assert rows["problem"].to_list() == [
        None,
        None,
        "answers_blank",
        "repeated",
        "no_seed",
        "no_bracket",
        None,
        None,
    ]
    assert rows["linked_by"].to_list() == ["label"] * 4 + ["none", "words", "label", "label"]
    assert rows["unknown"].to_list()[4] == ["Solaris"]
    assert rows["sampled"].all()
    files = dict(read(tables.FILES).select("path", "status").iter_rows())
    assert [path for path, status in files.items() if status != "ignored"] == ["films.csv"]


@pytest.mark.usefixtures("films")
def test_every_instance_answers_every_question_and_is_measured() -> None:
    subgraphs, questions = read(PATH_SUBGRAPHS), read(PATH_QUESTIONS)
    assert sorted(subgraphs["instance"].unique()) == MODEL_FREE
    assert len(subgraphs) == len(questions) * 6
    reasons = dict(subgraphs.group_by("reason").len().iter_rows())
    assert reasons == {"": 42, "no_seed": 6}
    first = questions.filter(position=6)["question_id"].item()
    found = read(PATHS_FOUND).filter(question_id=first, instance="12").sort("rank")
    assert found["rank"].to_list() == list(range(1, len(found) + 1))
    assert (
        "Ridley Scott -> ~directed_by -> Alien -> starred_actors -> Sigourney Weaver"
        in found["text"].to_list()
    )
    assert found["score"].to_list() == sorted(found["score"], reverse=True)
    ends = dict(read(tables.ENTITIES).select("entity_id", "title").iter_rows())
    for ids, text, relations, length in found.select("entity_ids", "text", "relations", "length").iter_rows():
        pieces = text.split(" -> ")
        assert [ends[one] for one in ids] == pieces[0::2]
        assert relations == pieces[1::2]
        assert length == len(relations)
    summary = read(PATH_SUMMARY).filter(hops="all", measure="subgraph_recall")
    assert set(summary["instance"]) == set(MODEL_FREE)
    costs = read(PATH_COSTS)
    assert len(costs) == 3 * len(subgraphs)
    assert costs["seconds"].min() >= 0
    assert costs["calls"].sum() == 0


@pytest.mark.usefixtures("films")
def test_a_second_run_keeps_everything_and_an_instance_more_makes_only_its_own() -> None:
    before = {table: read(table) for table in (*OUTCOMES, PATH_COSTS)}
    run_job("films", "paths")
    assert all(read(table).equals(before[table]) for table in before)
    settings = SETTINGS + "  custom: [{name: hubs last, retrieval: spr, judged: none, ties: hub_last}]\n"
    write_films(Path.cwd(), settings)
    run_job("films", "paths")
    after = read(PATH_COSTS)
    assert after.filter(pl.col("instance") != "hubs last").equals(before[PATH_COSTS])
    assert after.filter(instance="hubs last").height == 24


def test_a_killed_run_goes_on_where_it_was(films: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {table: read(table) for table in OUTCOMES}
    write_films(films.parents[1], SETTINGS + "  max_ent: 999\n")
    monkeypatch.setattr(running, "_AT_ONCE", 2)
    monkeypatch.setattr(made, "_SAVED_AFTER", 0.0)
    real, answered = Bench.frames, []

    def dying(bench: Bench, asked: Sequence[BenchQuestion]) -> Frames:
        if len(answered) == 2:
            raise KeyboardInterrupt
        answered.append([one.question_id for one in asked])
        return real(bench, asked)

    monkeypatch.setattr(Bench, "frames", dying)
    with pytest.raises(KeyboardInterrupt):
        run_job("films", "paths")
    half = read(PATH_SUBGRAPHS)
    assert len(half) == 4 * 6
    asked: list[str] = []

    def counting(bench: Bench, some: Sequence[BenchQuestion]) -> Frames:
        asked.extend(one.question_id for one in some)
        return real(bench, some)

    monkeypatch.setattr(Bench, "frames", counting)
    run_job("films", "paths")
    assert len(asked) == 4
    assert not set(asked) & {one for some in answered for one in some}
    told = {table: read(table) for table in OUTCOMES}
    told[PATH_SUBGRAPHS] = told[PATH_SUBGRAPHS].drop("options")
    wanted[PATH_SUBGRAPHS] = wanted[PATH_SUBGRAPHS].drop("options")
    assert all(told[table].equals(wanted[table]) for table in OUTCOMES)


OTHERS = """  instances: ['1']
  custom:
    - {name: communities, extraction: partition}
    - {name: reported, extraction: partition, partitions: report}
    - {name: near labels, extraction: node_vectors, scorer: embedder}
    - {name: near triples, extraction: triple_vectors, retrieval: spr, judged: none}
    - {name: neighbours, extraction: khop, scorer: bm25}
    - {name: hops, retrieval: isar, switches: {combine: true}}
  recall: {windows: [2, 4, 100], development: 3}
"""


def test_other_combinations_and_recall_as_a_constraint(films: Path) -> None:
    write_films(films.parents[1], SETTINGS + OTHERS)
    run_job("films", "paths")
    questions = read(PATH_QUESTIONS)
    tuning = set(questions.filter("development")["question_id"])
    assert len(tuning) == 3
    assert not questions.filter("development")["sampled"].any()
    windows = read(RECALL_WINDOWS)
    assert set(windows["chosen"]) <= {2, 4, 100}
    assert windows.filter(pl.col("class") == "all")["questions"].item() == 3
    subgraphs = read(PATH_SUBGRAPHS)
    assert len(subgraphs) == 7 * 5
    assert not tuning & set(subgraphs["question_id"])
    folders = [
        place.name
        for place in (films.parents[1] / "warehouse" / "published" / "films" / "paths").glob("[!.]*")
    ]
    assert len(folders) == 4


@pytest.mark.long
def test_several_processes_make_the_same(films: Path) -> None:
    alone = {table: read(table) for table in OUTCOMES}
    write_films(films.parents[1], SETTINGS + "  processes: 2\n")
    Warehouse().write(PATH_SUBGRAPHS, "films", PATH_SUBGRAPHS.empty())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "_AT_ONCE", 3)
        run_job("films", "paths")
    assert all(read(table).equals(alone[table]) for table in OUTCOMES)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (SETTINGS.replace("2-hop/dev.txt", "gone.txt"), "gone.txt' cannot be read: No such file"),
        (SETTINGS + "  instances: ['16']\n", "there is no instance '16'; there are 1, 2"),
        (SETTINGS + "  switches: {rerank: true}\n", "rerank"),
        (SETTINGS + "  custom: [{name: GRAG-M}]\n", "'GRAG-M' is the name of another instance"),
        (SETTINGS + "  custom: [{name: a-lex}]\n", "'a-lex' ends in -lex"),
    ],
)
def test_settings_that_cannot_be_used_are_told(films: Path, settings: str, told: str) -> None:
    write_films(films.parents[1], settings)
    with pytest.raises(GraphragError, match=told):
        run_job("films", "paths")
