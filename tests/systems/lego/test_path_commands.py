"""The commands ``paths`` and ``compare``, and paths in Python."""

import json
from pathlib import Path

import pytest

from graphrag_dagster import Index
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import GraphragError, QuestionError
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.tables import PATH_COSTS, PATH_JUDGEMENTS, PATH_SUBGRAPHS
from support.commands import Run
from support.endpoint import Fault, ScriptedEndpoint
from support.films import SETTINGS, write_films
from support.homes import copy_home, shared_home
from support.scripted_paths import paths_script


@pytest.fixture
def films(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The films, indexed."""

    def fill(made: Path) -> None:
        write_films(made)
        run_job("films")

    copy_home(shared_home(tmp_path_factory, "films indexed", fill), home)
    return home / "corpora" / "films"


@pytest.mark.usefixtures("films")
def test_a_question_is_asked_of_one_instance(run: Run) -> None:
    code, out, err = run("paths", "films", "who directed [Alien]?")
    assert code == 0, err
    assert "12 SBE-PPR+OSAR-EEMs" in out
    assert "begins from: Alien (by label)" in out
    assert "Alien -> directed_by -> Ridley Scott" in out
    code, out, _ = run("paths", "films", "who directed Alien?", "--instance", "3", "--json")
    found = json.loads(out)
    assert (found["instance"], found["linked_by"], found["engine"]) == ("3-lex", "words", "extractive")
    assert found["paths"][0]["relations"] == ["directed_by"]
    assert found["named"] == ["Ridley Scott"]
    assert found["calls"] == 0


@pytest.mark.usefixtures("films")
def test_what_the_graph_does_not_have_is_told(run: Run) -> None:
    code, out, _ = run("paths", "films", "who directed it?", "--entity", "Solaris", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["reason"], found["unknown"], found["paths"]) == ("no_seed", ["Solaris"], [])
    assert found["answer"] == "unknown"
    code, out, _ = run("paths", "films", "who directed it?")
    assert "names no entity of the graph" in out


@pytest.mark.usefixtures("films")
def test_instances_are_put_beside_each_other(run: Run) -> None:
    asked = ("paths", "films", "who starred in the films of [Ridley Scott]", "--instance", "1,6,GRAG-M")
    code, out, err = run(*asked)
    assert code == 0, err
    assert all(told in out for told in ("SBE-PPR+SBR-SPR", "SAE-EEMs+ISAR-EEMs", "GRAG-M-lex"))
    code, out, _ = run(*asked, "--json")
    assert [one["instance"] for one in json.loads(out)["instances"]] == ["1", "6", "GRAG-M-lex"]


@pytest.mark.usefixtures("films")
def test_question_files_are_measured_and_summed_up(run: Run) -> None:
    code, out, err = run("paths", "films")
    assert code == 0, err
    assert "films: all questions" in out
    assert "films: 2 hops" in out
    assert "Hits@1-lex" in out
    assert "questions with a problem: 1 no seed" in out
    code, out, _ = run("paths", "films", "--json")
    told = json.loads(out)
    assert (told["questions"], told["asked"]) == (8, 8)
    assert told["problems"] == {"answers_blank": 1, "no_bracket": 1, "no_seed": 1, "repeated": 1}
    assert {row["instance"] for row in told["summary"]} == {"1", "2", "6", "10", "12", "14"}
    assert run("paths", "films", "--plan")[1].startswith("films: no model is asked")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("paths", "films", "who?", "--instance", "99"), "there is no instance '99'"),
        (("paths", "films", "  "), "the question is empty"),
        (("paths", "nowhere", "who?"), "no corpus 'nowhere'"),
        (("paths", "films", "who?", "--instance", " , "), "name instances, such as"),
        (("paths", "bare"), "has no questions with answers; name files of them"),
        (("paths", "bare", "who?"), "nothing|not been indexed"),
    ],
)
def test_what_cannot_be_asked_is_told(films: Path, run: Run, arguments: tuple[str, ...], told: str) -> None:
    bare = films.parent / "bare"
    bare.mkdir()
    (bare / "edges.csv").write_text("head,relation,tail\nA,p,B\n", encoding="utf-8")
    (bare / "corpus.yaml").write_text("kind: graph\n", encoding="utf-8")
    code, _, err = run(*arguments)
    assert code == 1
    assert any(part in err for part in told.split("|"))


@pytest.mark.usefixtures("films")
def test_paths_in_python() -> None:
    index = Index.open("films")
    found = index.paths("which films did Sigourney Weaver act in", instance="14")
    assert {"Alien", "Working Girl"} <= set(found.named or ())
    assert [seed.label for seed in found.seeds] == ["Sigourney Weaver"]
    assert set(found.seconds) == {"extraction", "retrieval", "answer"}
    with pytest.raises(GraphragError, match="no instance"):
        index.paths("who?", instance="0")
    with pytest.raises(QuestionError):
        index.paths("")


def test_a_model_selects_answers_and_judges_and_its_instances_bear_no_lex(films: Path, run: Run) -> None:
    with ScriptedEndpoint(paths_script) as endpoint:
        model = f'model: {{base_url: "{endpoint.url}", name: scripted, prices: {{input: 1, output: 1}}}}\n'
        own = "  engine: llm\n  instances: ['1', '3', '5', '7', GRAG-M]\n"
        write_films(films.parents[1], f"{model}{SETTINGS}{own}")
        code, out, _ = run("paths", "films", "--plan", "--json")
        assert code == 0
        stages = {one["stage"]: one for one in json.loads(out)["stages"]}
        assert set(stages) == {"3", "5", "7", "answers", "verdicts"}
        assert stages["7"]["calls"]["high"] == 8 * 4
        assert stages["answers"]["calls"]["expected"] == 8 * 5
        assert not endpoint.requests
        code, out, err = run("paths", "films", "--yes", "--json")
        assert code == 0, err
        asked = len(endpoint.requests)
        run_job("films", "paths")
        assert len(endpoint.requests) == asked
    warehouse = Warehouse()
    names = sorted(warehouse.read(PATH_SUBGRAPHS, "films")["instance"].unique())
    assert names == ["1", "3", "5", "7", "GRAG-M"]
    costs = warehouse.read(PATH_COSTS, "films")
    calls = dict(costs.group_by("instance").agg(calls=costs["calls"].sum()).iter_rows())
    assert all(calls.values())
    judged = warehouse.read(PATH_JUDGEMENTS, "films")
    assert judged["correct"].drop_nulls().all()
    summary = json.loads(out)["summary"]
    assert any(row["measure"] == "judge_at_1" and row["mean"] == 1 for row in summary)
    assert not any(row["measure"].endswith("_lex") for row in summary)


def test_an_endpoint_that_fails_leaves_what_was_answered(films: Path, run: Run) -> None:
    answered = 8

    def failing(number: int, _body: dict[str, object]) -> Fault | None:
        return None if number < answered else Fault(401)

    with ScriptedEndpoint(paths_script, faults=failing) as endpoint:
        model = f'model: {{base_url: "{endpoint.url}", name: scripted, concurrency: 1, retries: 0}}\n'
        write_films(films.parents[1], f"{model}{SETTINGS}  engine: llm\n  instances: ['3']\n")
        code, _, err = run("paths", "films", "--yes")
        assert code == 1, err
    half = len(Warehouse().read(PATH_SUBGRAPHS, "films"))
    assert 0 < half < 8
    with ScriptedEndpoint(paths_script) as endpoint:
        model = f'model: {{base_url: "{endpoint.url}", name: scripted, concurrency: 1, retries: 0}}\n'
        write_films(films.parents[1], f"{model}{SETTINGS}  engine: llm\n  instances: ['3']\n")
        run_job("films", "paths")
    assert len(Warehouse().read(PATH_SUBGRAPHS, "films")) == 8
