"""A plug-in that fails is named with its package and what it was doing; the rest goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from graphrag_dagster import Index
from graphrag_dagster.errors import CatalogueError, PluginError, QuestionError
from graphrag_dagster.kernel.catalogue.registry import guard_plugin, load_target, plugin_errors
from graphrag_dagster.kernel.documents.file_reading import Declined, FileContents, read_file
from graphrag_dagster.kernel.documents.file_records import SourceFile
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings
from support.commands import Run
from support.plugins import plugged_in

SOURCE = """
from graphrag_dagster.kernel.catalogue.engines import EmbedderKind, Engine, RerankerKind
from graphrag_dagster.kernel.catalogue.file_formats import Format
from graphrag_dagster.kernel.catalogue.search_methods import SearchMethod
from graphrag_dagster.errors import QuestionError


class Odd(Exception):
    def __str__(self):
        raise ValueError("no text")


def fails(*given):
    raise ZeroDivisionError("division by\\nzero")


def quits(*given):
    raise SystemExit(3)


def declines(search):
    raise QuestionError("ask about boats")


def odd(*given):
    raise Odd


class Task:
    engine = "lame"
    name = "lame@1"
    at_once = 8

    def __getattr__(self, name):
        return fails if name in {"answer", "map", "embed", "scores", "counts"} else object.__getattribute__(self, name)


def answerer(session):
    return Task()


def way(name, answer):
    return SearchMethod(name=name, text=name, answer=answer, size="graphrag_dagster.systems.graphrag.search.search_estimates:one_call",
               tables=("corpus.documents",), options=("engine",), uses_graph=False)


FAILS, QUITS, DECLINES, GIVES = way("fails", fails), way("quits", quits), way("declines", declines), way("odd", odd)
GONE, WRONG = way("gone", "lame_module:nothing"), way("wrong", "failing_at_import:x")
ENGINE = Engine("lame", "fails", {"answerer": answerer})
MADE = Engine("unmade", "cannot be made", {"answerer": fails})
VECTORS = EmbedderKind("lame", "fails", lambda session: Task())
ORDER = RerankerKind("lame", "fails", lambda session: Task())
READER = Format("lame", (".lame",), fails)
NOTHING = Format("blank", (".blank",), lambda data, source: None)
LOST = Format("lost", (".lost",), "lame_module:no_such_reader")
"""
NAMES = ("fails", "quits", "declines", "odd", "gone", "wrong")
POINTS = {
    "graphrag_dagster.methods": {
        **{name: f"lame_module:{name.upper()}" for name in NAMES},
        "odd": "lame_module:GIVES",
    },
    "graphrag_dagster.engines": {"lame": "lame_module:ENGINE", "unmade": "lame_module:MADE"},
    "graphrag_dagster.embedders": {"lame": "lame_module:VECTORS"},
    "graphrag_dagster.rerankers": {"lame": "lame_module:ORDER"},
    "graphrag_dagster.readers": {
        "lame": "lame_module:READER",
        "blank": "lame_module:NOTHING",
        "lost": "lame_module:LOST",
    },
}


@pytest.fixture
def lame(tmp_path: Path) -> Iterator[None]:
    folder = tmp_path / "packages"
    folder.mkdir()
    modules = {"lame_module.py": SOURCE, "failing_at_import.py": "raise RuntimeError('not today')\n"}
    with plugged_in(folder, modules, POINTS):
        yield


@pytest.mark.usefixtures("lame")
def test_a_way_of_answering_that_fails_is_named(coast: Path, run: Run) -> None:
    index, question = Index.open("coast"), "Who built Skerry Light?"
    for name, told in {
        "fails": "the method fails of the package toy 1.0 failed answering a question: ZeroDivisionError: division by zero",
        "quits": "the method quits of the package toy 1.0 failed answering a question: SystemExit: 3",
        "odd": "the method odd of the package toy 1.0 failed answering a question: Odd",
        "gone": "the method gone of the package toy 1.0 failed answering a question: .*lame_module:nothing",
        "wrong": "the method wrong of the package toy 1.0 failed answering a question: RuntimeError: not today",
    }.items():
        with pytest.raises(PluginError, match=told):
            index.ask(question, method=name)
    with pytest.raises(QuestionError, match="ask about boats"):
        index.ask(question, method="declines")
    # The others go on.
    assert index.ask(question, method="local").method == "local"
    code, _, err = run("ask", "coast", question, "--method", "fails")
    assert (code, "Traceback" in err) == (1, False)
    assert "of the package toy 1.0" in err
    with TestClient(make_app(ServiceSettings()), base_url="http://127.0.0.1") as client:
        answer = client.post("/corpora/coast/ask", json={"question": question, "method": "fails"})
        assert answer.status_code == 502
        assert "of the package toy 1.0" in answer.json()["error"]["message"]


@pytest.mark.usefixtures("lame")
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            "search: {engine: lame}",
            "the engine lame of the package toy 1.0 failed in (answer|map): ZeroDivisionError",
        ),
        (
            "search: {engine: unmade}",
            "the engine unmade of the package toy 1.0 failed making its answerer: Zero",
        ),
        (
            "search: {reranker: lame}",
            "the reranker lame of the package toy 1.0 failed in (counts|scores): Zero",
        ),
    ],
)
def test_an_engine_or_reranker_that_fails_is_named(coast: Path, settings: str, told: str) -> None:
    (coast / "corpus.yaml").write_text(settings, encoding="utf-8")
    with pytest.raises(PluginError, match=told):
        Index.open("coast").ask("Who built Skerry Light?", method="basic")


@pytest.mark.usefixtures("lame")
@pytest.mark.parametrize(
    ("kind", "told"),
    [("lame", "ZeroDivisionError: division by zero"), ("blank", "AttributeError"), ("lost", "lost")],
)
def test_a_reader_that_fails_is_named_and_others_read_on(kind: str, told: str) -> None:
    source = SourceFile(f"a.{kind}")
    declined = read_file(kind, b"a", source)
    assert isinstance(declined, Declined)
    assert declined.reason.startswith(f"the reader {kind} of the package toy 1.0 failed reading it: ")
    assert told in declined.reason
    assert isinstance(read_file("txt", b"Anna met Bert.", SourceFile("a.txt")), FileContents)


@pytest.mark.usefixtures("lame")
def test_what_is_built_in_is_not_blamed_on_a_package() -> None:
    with pytest.raises(ZeroDivisionError), plugin_errors("method", "local", "answering"):
        raise ZeroDivisionError
    made = object()
    assert guard_plugin(made, "engine", "extractive") is made
    with pytest.raises(AttributeError):
        _ = guard_plugin(made, "engine", "lame").nothing  # type: ignore[attr-defined]
    with pytest.raises(CatalogueError):
        load_target("graphrag_dagster.nowhere:x")
