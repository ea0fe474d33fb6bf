"""The command ``train-paths``: what learns from the question files of a corpus which paths answer."""

import importlib.util
import json
from pathlib import Path

import pytest

from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.errors import EngineError, ExportError
from graphrag_dagster.kernel.questions.corpus_index import session_of
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.lego.retrieval.scorer_registry import scorer_of
from graphrag_dagster.systems.lego.search.graph_arrays import path_store_of
from graphrag_dagster.systems.lego.training.gold_paths import is_held_out
from graphrag_dagster.systems.lego.training.path_model_training import PathTraining
from support.commands import Run
from support.films import ONE_HOP, SETTINGS, TRIPLES, TWO_HOP, write_films
from support.homes import copy_home, shared_home
from support.verbalising import texts_of

TRAINABLE = all(map(importlib.util.find_spec, ("sentence_transformers", "datasets", "accelerate")))
needs_training = pytest.mark.skipif(not TRAINABLE, reason="an optional extra")

#: Of the films, each text once, those with a seed.
USABLE = 6


@pytest.fixture
def films(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The films, indexed."""

    def fill(made: Path) -> None:
        write_films(made)
        run_job("films")

    copy_home(shared_home(tmp_path_factory, "films indexed", fill), home)
    return home / "corpora" / "films"


def change(films: Path, more: str) -> None:
    (films / "corpus.yaml").write_text(SETTINGS + more, encoding="utf-8")


def training() -> PathTraining:
    store = CorpusStore()
    session = session_of("films", store.settings("films"), "paths")
    return PathTraining(Warehouse(), "films", store.folder("films"), session)


def topics_held_out(seed: int) -> set[str]:
    own = CorpusStore().settings("films").paths
    store = path_store_of(Warehouse(), "films", own.prefilter.prefilter())
    entities = zip(store.entity_ids, range(store.nodes), strict=True)
    return {store.label(place) for entity, place in entities if is_held_out(entity, seed=seed)}


def seed_that_holds_out(films: Path, wanted: set[str], spared: set[str]) -> int:
    """A seed by which questions of some entities are tried, and those of others learnt from."""
    for seed in range(500):
        held = topics_held_out(seed)
        if wanted <= held and not spared & held:
            change(films, f"  seed: {seed}\n")
            return seed
    raise AssertionError("there is no such seed")


def test_a_selector_learns_from_chats_about_the_questions_for_training(films: Path, run: Run) -> None:
    seed_that_holds_out(films, {"Harrison Ford"}, {"Alien", "Aliens", "Blade Runner", "Ridley Scott"})
    file = films.parent / "made" / "selector.jsonl"
    code, out, err = run("train-paths", "films", "--selector-file", str(file), "--json")
    assert code == 0, err
    told = json.loads(out)
    chats = [json.loads(line)["messages"] for line in file.read_text(encoding="utf-8").splitlines()]
    assert told["questions"] == 8
    assert told["questions_for_training"] + told["questions_held_out"] == USABLE
    assert told["questions_measured_too"] == told["questions_for_training"]
    assert told["lines"] == len(chats) == told["questions_for_training"]
    assert [message["role"] for message in chats[0]] == ["system", "user", "assistant"]
    assert "who directed Alien" in chats[0][1]["content"]
    right = chats[0][2]["content"].splitlines()
    assert "Alien -> directed_by -> Ridley Scott" in right[0]
    assert all(line.endswith("-> Ridley Scott") and line in chats[0][1]["content"] for line in right)
    asked = " ".join(chat[1]["content"].partition("<question>")[2] for chat in chats)
    assert "the films with Harrison Ford" not in asked
    before = file.read_bytes()
    code, out, err = run("train-paths", "films", "--selector-file", str(file))
    assert code == 0, err
    assert file.read_bytes() == before
    assert "flatter" in out
    assert [one.name for one in file.parent.iterdir()] == ["selector.jsonl"]


def test_so_many_questions_are_drawn_and_answers_that_are_nowhere_are_none(films: Path, run: Run) -> None:
    (films / "qa" / "1-hop" / "dev.txt").write_text("who directed [Alien]\tNobody At All\n", encoding="utf-8")
    (films / "qa" / "2-hop" / "dev.txt").write_text("what of [Aliens]\tNo Answer\n", encoding="utf-8")
    seed_that_holds_out(films, set(), {"Alien", "Aliens"})
    file = films.parent / "selector.jsonl"
    asked = ("train-paths", "films", "--selector-file", str(file), "--json")
    told = json.loads(run(*asked)[1])
    assert (told["lines"], told["replies_none"]) == (2, 2)
    told = json.loads(run(*asked, "--most", "1")[1])
    assert (told["questions"], told["questions_for_training"], told["lines"]) == (2, 1, 1)


def test_what_is_drawn_to_be_measured_is_not_learnt_from(films: Path, run: Run) -> None:
    asked = ("train-paths", "films", "--selector-file", str(films.parent / "selector.jsonl"), "--json")
    change(films, "  sample: 1\n")
    code, out, err = run(*asked)
    assert code == 0, err
    told = json.loads(out)
    assert told["questions_measured_too"] == 0
    # One of each number of hops is measured; what was drawn may have no seed.
    assert USABLE - 2 <= told["questions_for_training"] + told["questions_held_out"] <= USABLE - 1
    change(films, "  sample: 100\n")
    code, _, err = run(*asked)
    assert code == 1
    assert "paths.sample draws all of the 8 questions" in err


@pytest.mark.parametrize(
    ("questions", "told"),
    [
        ("who directed [Alien]\t\n", "none of the 1 questions of corpus 'films' has an answer;"),
        ("who directed [Solaris]\tTarkovsky\n", "has an answer and an entity of the graph"),
    ],
)
def test_questions_that_nothing_can_be_learnt_from_are_told(
    films: Path, run: Run, questions: str, told: str
) -> None:
    (films / "qa.txt").write_text(questions, encoding="utf-8")
    settings = "kind: graph\npaths: {questions: [qa.txt]}\n"
    (films / "corpus.yaml").write_text(settings, encoding="utf-8")
    code, _, err = run("train-paths", "films", "--selector-file", "selector.jsonl")
    assert code == 1
    assert told in err
    assert not Path("selector.jsonl").exists()


def test_what_cannot_be_trained_is_told(films: Path, run: Run) -> None:
    asked = ("train-paths", "films")
    assert run(*asked)[0] == 2
    assert run(*asked, "--folder", "a", "--selector-file", "b")[0] == 2
    assert run(*asked, "--selector-file", "b", "--epochs", "2")[0] == 2
    code, _, err = run(*asked, "--selector-file", str(films))
    assert code == 1
    assert "it is a folder" in err
    code, _, err = run(*asked, "--selector-file", str(films / "films.csv" / "below"))
    assert code == 1
    assert "cannot be written" in err
    code, _, err = run(*asked, "--folder", str(films))
    assert code == 1
    assert "is no empty folder" in err
    (films / "corpus.yaml").write_text("kind: graph\n", encoding="utf-8")
    code, _, err = run(*asked, "--folder", "a")
    assert code == 1
    assert "has no questions with answers" in err
    assert not Path("a").exists()


@pytest.mark.skipif(TRAINABLE, reason="the extra is installed")
def test_without_the_extra_nothing_is_begun(films: Path, run: Run) -> None:
    code, _, err = run("train-paths", "films", "--folder", str(films.parent / "model"))
    assert code == 1
    assert "graphrag-dagster[training]" in err
    assert not (films.parent / "model").exists()


@needs_training
def test_a_scorer_is_tuned_on_the_paths_as_it_reads_them(films: Path, tmp_path: Path, run: Run) -> None:
    from support.tiny_models import saved_sentence_transformer

    spoken = f"{TRIPLES} {ONE_HOP} {TWO_HOP}"
    words = "".join(sign if sign.isalnum() else " " for sign in spoken)
    base = saved_sentence_transformer(tmp_path, f"{words} - > ~")
    seed = seed_that_holds_out(films, {"Harrison Ford"}, {"Alien", "Aliens", "Sigourney Weaver"})
    change(films, f"  seed: {seed}\n  scorer: minilm\n  scorer_model: {base}\n")
    folder = tmp_path / "tuned"
    asked = ("train-paths", "films", "--folder", str(folder), "--epochs", "3")
    code, out, err = run(*asked, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["base"] == str(base)
    assert told["questions_for_training"] + told["questions_held_out"] == USABLE
    assert told["questions_held_out"] >= 1
    assert told["pairs"] >= 4
    assert told["steps"] >= 3
    assert 0 <= told["nearest_before"] <= 1
    assert 0 <= told["nearest_after"] <= 1
    scorer = scorer_of("minilm", model=str(folder), relation_words=True)
    old = scorer_of("minilm", model=str(base), relation_words=True)
    path = texts_of("Alien -> directed_by -> Ridley Scott")
    assert scorer.scores("who directed Alien", path)[0] != old.scores("who directed Alien", path)[0]
    change(films, f"  scorer: minilm\n  scorer_model: {folder}\n")
    assert run("paths", "films", "who directed [Alien]")[0] == 0
    assert run(*asked)[0] == 1
    code, out, err = run("train-paths", "films", "--folder", str(tmp_path / "again"))
    assert code == 0, err
    assert f"scorer_model: {tmp_path / 'again'}" in out


@pytest.mark.skipif(not importlib.util.find_spec("sentence_transformers"), reason="an optional extra")
def test_a_cross_encoder_is_tuned_where_it_scores(films: Path, tmp_path: Path, run: Run) -> None:
    from support.cross_encoders import saved_model

    spoken = "".join(sign if sign.isalnum() else " " for sign in f"{TRIPLES} {ONE_HOP} {TWO_HOP}")
    base = saved_model(tmp_path / "base", ["right"], words=f"{spoken} - > ~")
    seed = seed_that_holds_out(films, {"Harrison Ford"}, {"Alien", "Aliens", "Sigourney Weaver"})
    change(films, f"  seed: {seed}\n  scorer: cross-encoder\n  scorer_model: {base}\n")
    folder = tmp_path / "tuned"
    code, out, err = run("train-paths", "films", "--folder", str(folder), "--epochs", "3", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["base"], told["steps"]) == (str(base), 3)
    assert 0 <= told["nearest_before"] <= 1
    assert 0 <= told["nearest_after"] <= 1
    path, question = texts_of("Alien -> directed_by -> Ridley Scott"), "who directed Alien"
    scorers = [scorer_of("cross-encoder", model=str(one), relation_words=True) for one in (base, folder)]
    old, new = (one.scores(question, path)[0] for one in scorers)
    assert old != new
    again = tmp_path / "again"
    code, out, err = run("train-paths", "films", "--folder", str(again), "--epochs", "3")
    assert code == 0, err
    assert f"scorer: cross-encoder, scorer_model: {again}" in out
    assert scorer_of("cross-encoder", model=str(again), relation_words=True).scores(question, path)[0] == new
    two = saved_model(tmp_path / "two", ["right", "wrong"])
    change(films, f"  seed: {seed}\n  scorer: cross-encoder\n  scorer_model: {two}\n")
    code, _, err = run("train-paths", "films", "--folder", str(tmp_path / "none"))
    assert code == 1
    assert "numbers" in err


@needs_training
def test_a_device_that_is_not_there_is_told(films: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot use the device 'nowhere'"):
        training().tune(tmp_path / "tuned", device="nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(ExportError, match="is no empty folder"):
        training().tune(tmp_path / "file")
    assert films.is_dir()
