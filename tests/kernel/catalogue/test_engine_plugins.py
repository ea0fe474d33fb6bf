"""Engines, embedders and readers of other packages."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_dagster import Index
from graphrag_dagster.errors import EngineError, SettingsError
from graphrag_dagster.kernel.catalogue.registry import embedders, engines, formats
from graphrag_dagster.kernel.documents.reader_process import reader_process
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from support.commands import Run
from support.plugins import plugged_in
from support.reading import read_corpus
from support.traces import column

ENGINE = '''
"""An engine that answers with what it is shown."""

from graphrag_dagster.kernel.catalogue.engines import EmbedderKind, Engine, RerankerKind
from graphrag_dagster.kernel.catalogue.file_formats import Format
from graphrag_dagster.kernel.documents.file_records import Reading, FileRecord
from graphrag_dagster.kernel.catalogue.system import System
from graphrag_dagster.kernel.tasks.task_ports import FinalAnswer, PartialAnswer


class Echo:
    engine = "echo"

    def map(self, question, chunks, rendered):
        return [PartialAnswer(chunk[0].text, 50, (chunk[0].id,)) for chunk in chunks]

    def reduce(self, question, partials):
        return FinalAnswer(" ".join(one.text for one in partials), self.engine)

    def answer(self, question, rows, rendered, history=()):
        return FinalAnswer(f"{rows[0].text} [Data: {rows[0].kind.title()}s ({rows[0].id})]", self.engine)


def answerer(session):
    return Echo()


def read_lines(data, source):
    return Reading([FileRecord(line) for line in data.decode().splitlines()], "utf-8")


ECHO = Engine("echo", "what it is shown", {"answerer": answerer})
AGAIN = Engine("llm", "another model", {"answerer": answerer})
class Backwards:
    name = "backwards@1"

    def counts(self, sought):
        return 1.0

    def scores(self, sought, texts):
        return list(range(len(texts)))


VECTORS = EmbedderKind("plain", "vectors again", "graphrag_dagster.kernel.tasks.embedder_factories:static_embedder")
BACKWARDS = RerankerKind("backwards", "the last first", lambda session: Backwards())
LINES = Format("lines", (".lines",), read_lines)
SYSTEM = System("echo", "echoing", adds=(ECHO, VECTORS, BACKWARDS, LINES))
SECOND = System("second", "echoing", adds=(AGAIN,))
'''
POINTS = {
    "echo": "echoing:SYSTEM",
    "second": "echoing:SECOND",
    "engine": "echoing:ECHO",
    "broken": "nowhere:X",
}


@pytest.fixture
def echo(tmp_path: Path) -> Iterator[None]:
    folder = tmp_path / "packages"
    folder.mkdir()
    with plugged_in(folder, {"echoing.py": ENGINE}, POINTS):
        yield


@pytest.mark.usefixtures("echo")
def test_an_engine_of_another_package_answers(coast: Path, run: Run) -> None:
    (coast / "corpus.yaml").write_text("search: {engine: echo, method: local}\n")
    answer = Index.open("coast").ask("Who built Skerry Light?")
    assert answer.engine == "echo"
    assert not answer.refused
    assert answer.heading == ""
    with pytest.raises(EngineError, match="echo has no rater; set search.engine to one of extractive, llm"):
        Index.open("coast").ask("What is this about?", method="dynamic")
    assert run("plan", "coast") == (0, "coast: no stage uses a model; nothing will be sent\n", "")


@pytest.mark.usefixtures("echo")
def test_a_reranker_of_another_package_reranks(coast: Path) -> None:
    (coast / "corpus.yaml").write_text("search: {reranker: backwards, method: basic}\n")
    answer = Index.open("coast").ask("Who built Skerry Light?")
    assert column(answer, "Reranked", "reranker") == ["backwards@1"]
    assert column(answer, "Moved", "before")


@pytest.mark.usefixtures("echo")
def test_settings_tell_which_engines_can_do_what_is_asked() -> None:
    with pytest.raises(SettingsError, match="set reports.engine to one of extractive, llm"):
        parse_settings({"reports": {"engine": "echo"}}, "corpus.yaml")
    with pytest.raises(SettingsError, match="allowed: 'extractive', 'llm', 'gliner-rebel' or 'echo'"):
        parse_settings({"engine": "ehco"}, "corpus.yaml")
    assert parse_settings({"embeddings": {"embedder": "plain"}}, "x").embeddings.embedder == "plain"


@pytest.mark.usefixtures("echo")
def test_a_reader_of_another_package_reads(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.lines").write_text("Anna met Bert.\nBert met Cora.\n")
    with reader_process() as process:
        # It may have begun before the package was there.
        process.close()
    assert read_corpus(folder).documents["text"].to_list() == ["Anna met Bert.", "Bert met Cora."]


@pytest.mark.usefixtures("echo")
def test_what_is_of_no_use_is_left_out_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert list(engines()) == ["extractive", "llm", "gliner-rebel", "echo"]
            assert list(embedders()) == [
                "static",
                "minilm",
                "multilingual-e5",
                "sentence-transformers",
                "endpoint",
                "plain",
            ]
            assert "lines" in formats()
    told = [one.getMessage() for one in caplog.records]
    assert len(told) == 3
    assert any("'second' of toy 1.0 is left out: there is already a Engine llm" in one for one in told)
    assert any("'broken' of toy 1.0 is left out: it cannot be loaded (ModuleNotFound" in one for one in told)
    assert any("'engine' of toy 1.0 is left out: it is a Engine, not a" in one for one in told)


def test_without_the_package_its_engine_is_unknown() -> None:
    with pytest.raises(SettingsError, match="allowed: 'extractive', 'llm' or 'gliner-rebel'"):
        parse_settings({"search": {"engine": "echo"}}, "corpus.yaml")
