"""A plug-in that fails is named with its package and what it was doing; the rest goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from graphrag_dagster import Index
from graphrag_dagster.errors import CatalogueError, PluginError, QuestionError
from graphrag_dagster.kernel.catalogue.registry import load_target, plugin_errors
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
from graphrag_dagster.kernel.catalogue.system import System
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
GONE, WRONG = way("gone", "lame.no_such:x"), way("wrong", "lame.failing_at_import:x")
ENGINE = Engine("lame", "fails", {"answerer": answerer})
MADE = Engine("unmade", "cannot be made", {"answerer": fails})
VECTORS = EmbedderKind("lame", "fails", lambda session: Task())
ORDER = RerankerKind("lame", "fails", lambda session: Task())
READER = Format("lame", (".lame",), fails)
SYSTEM = System("lame", "lame", methods=(FAILS, QUITS, DECLINES, GIVES, GONE, WRONG),
                adds=(ENGINE, MADE, VECTORS, ORDER, READER))
"""


@pytest.fixture
def lame(tmp_path: Path) -> Iterator[None]:
    folder = tmp_path / "packages"
    (folder / "lame").mkdir(parents=True)
    modules = {
        "lame/__init__.py": "",
        "lame/failing_at_import.py": "raise RuntimeError('not today')\n",
        "lame/system.py": SOURCE,
    }
    with plugged_in(folder, modules, {"lame": "lame.system:SYSTEM"}):
        yield


@pytest.mark.usefixtures("lame")
def test_a_way_of_answering_that_fails_is_named(coast: Path, run: Run) -> None:
    index, question = Index.open("coast"), "Who built Skerry Light?"
    for name, told in {
        "fails": "ZeroDivisionError: division by zero",
        "quits": "SystemExit: 3",
        "odd": "Odd",
        "wrong": "RuntimeError: not today",
    }.items():
        said = f"the plug-in lame of the package toy 1.0 failed answering a question by {name}: {told}"
        with pytest.raises(PluginError, match=said):
            index.ask(question, method=name)
    with pytest.raises(CatalogueError, match="lame.no_such:x cannot be loaded"):
        index.ask(question, method="gone")
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
@pytest.mark.parametrize("settings", ["engine: lame", "engine: unmade", "reranker: lame"])
def test_an_engine_or_reranker_that_fails_is_named(coast: Path, settings: str) -> None:
    (coast / "corpus.yaml").write_text(f"search: {{{settings}}}", encoding="utf-8")
    told = "the plug-in lame of the package toy 1.0 failed answering a question by basic: ZeroDivisionError"
    with pytest.raises(PluginError, match=told):
        Index.open("coast").ask("Who built Skerry Light?", method="basic")


@pytest.mark.usefixtures("lame")
def test_an_embedder_that_fails_ends_the_index_and_is_named(coast: Path, run: Run) -> None:
    (coast / "corpus.yaml").write_text("embeddings: {embedder: lame}", encoding="utf-8")
    code, _, err = run("index", "coast")
    assert (code, "Traceback" in err) == (1, False)
    assert "the plug-in lame of the package toy 1.0 failed making" in err


@pytest.mark.usefixtures("lame")
def test_a_reader_that_fails_is_named_and_others_read_on() -> None:
    declined = read_file("lame", b"a", SourceFile("a.lame"))
    assert isinstance(declined, Declined)
    assert declined.reason == (
        "the plug-in lame of the package toy 1.0 failed reading it: ZeroDivisionError: division by zero"
    )
    assert isinstance(read_file("txt", b"Anna met Bert.", SourceFile("a.txt")), FileContents)


@pytest.mark.usefixtures("lame")
def test_what_is_ours_is_not_blamed_on_a_package() -> None:
    with pytest.raises(ZeroDivisionError), plugin_errors("answering"):
        raise ZeroDivisionError
    with pytest.raises(CatalogueError):
        load_target("graphrag_dagster.nowhere:x")
