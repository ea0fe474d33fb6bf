import json
import subprocess
import sys
from pathlib import Path

import pytest

from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.commands import Run
from support.corpora import write_corpus
from support.homes import enter_home


@pytest.fixture
def indexed(indexed_home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    enter_home(monkeypatch, indexed_home)
    return run


@pytest.mark.long
def test_a_folder_anywhere_is_indexed_by_path_and_asked_by_name(run: Run, home: Path) -> None:
    folder = write_corpus(home / "elsewhere", "the shore")
    code, out, err = run("index", str(folder), "--name", "shore", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert result["corpus"] == "shore"
    assert Path(result["warehouse"]).is_file()
    measures = {row["measure"]: row["value"] for row in result["summary"]}
    assert measures["documents"] == 4
    assert measures["coverage of entities"] > 0.5
    code, out, _ = run(
        "ask", "shore", "What did Wavecrest Energy build at Skerry Point?", "--level", "c0", "--json"
    )
    assert code == 0
    answer = json.loads(out)
    assert "turbine" in answer["text"]
    assert answer["engine"] == "extractive"
    for source in answer["sources"]:
        words = source["evidence"]
        text = (folder / words["path"]).read_text(encoding="utf-8")
        assert text[words["start_char"] : words["end_char"]] == words["quotation"]


def test_an_index_tells_first_what_changed_and_then_a_few_figures(indexed: Run) -> None:
    code, out, err = indexed("index", "coast")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("coast: up to date since ")
    assert lines[1] == "documents: 4 documents, none of them changed"
    figures = lines[2 : lines.index("details: graphrag-dagster show coast")]
    assert 0 < len(figures) <= 10
    assert figures[0].startswith("text units ")


def test_an_answer_is_printed_with_its_sources(indexed: Run) -> None:
    code, out, err = indexed("ask", "coast", "Who led the Dockers Union?", "--level", "C1")
    assert code == 0, err
    assert "Hanna Quill" in out
    assert "news/strike.md" in out


@pytest.mark.parametrize("method", ["C1", "SS", "local"])
def test_an_answer_has_as_many_sentences_as_were_asked_for(indexed: Run, method: str) -> None:
    asked = ("ask", "coast", "Who led the Dockers Union?", "--method", method, "--json")
    code, out, err = indexed(*asked, "--response-type", "single sentence")
    assert code == 0, err
    (statement,) = json.loads(out)["statements"]
    assert "Hanna Quill" in statement["text"]
    assert len(json.loads(indexed(*asked)[1])["statements"]) > 1


def test_what_the_data_does_not_hold_is_refused(indexed: Run) -> None:
    code, out, _ = indexed("ask", "coast", "How do I bake sourdough bread?", "--json")
    assert code == 0
    assert json.loads(out)["refused"]


def test_show_prints_counts_communities_and_a_report(indexed: Run) -> None:
    code, out, _ = indexed("show", "coast")
    assert code == 0
    assert out.startswith("coast: 4 documents, published ")
    assert out.count("\n") <= 24
    assert "largest communities of C0" in out
    code, out, _ = indexed("show", "coast", "--all", "--reports", "2")
    assert code == 0
    for words in ("relationship records", "coverage of entities", "largest communities of C0"):
        assert words in out
    code, out, _ = indexed("show", "coast", "--json")
    shown = json.loads(out)
    assert shown["communities"][0]["content"].startswith("# ")
    assert shown["context_sizes"][-1]["condition"] == "TS"


def test_corpora_are_listed(indexed: Run) -> None:
    code, out, _ = indexed("corpora", "--json")
    assert code == 0
    (row,) = json.loads(out)["corpora"]
    assert row["corpus"] == "coast"
    assert row["documents"] == 4
    assert "coast" in indexed("corpora")[1]


def test_init_makes_a_corpus_once(run: Run, home: Path) -> None:
    assert run("init", "mine")[0] == 0
    settings = home / "corpora" / "mine" / "corpus.yaml"
    settings.write_text(settings.read_text() + "engine: llm\n")
    code, _, err = run("init", "mine")
    assert code == 1
    assert "exists already" in err
    assert settings.read_text().endswith("engine: llm\n")


def test_sql_reads(indexed: Run, tmp_path: Path) -> None:
    code, out, _ = indexed("sql", "coast", "select count(*) as n from corpus.documents", "--json")
    assert (code, json.loads(out)) == (0, [{"n": 4}])
    assert "TALLOW MARINE" in indexed("sql", "coast", "select name from graph.entities")[1]
    target = tmp_path / "out.csv"
    assert indexed("sql", "coast", "select title from corpus.documents", "--csv", str(target))[0] == 0
    assert target.read_text().count("\n") == 5


@pytest.mark.parametrize(
    "query",
    [
        "delete from graph.entities",
        "drop table graph.entities",
        "create table x as select 1",
        "select 1; select 2",
        "attach '/tmp/x.duckdb' as x",
        "copy graph.entities to '/tmp/x.csv'",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from read_text('/etc/hostname')",
        "select * from glob('/*')",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "pragma database_list; drop table graph.entities",
        "select getenv('HOME')",
        "export database '/tmp/x'",
        "selec nonsense",
        "",
    ],
)
def test_sql_does_nothing_else(indexed: Run, query: str) -> None:
    before = Warehouse().file("coast").read_bytes()
    code, _, err = indexed("sql", "coast", query)
    assert code == 1
    assert err.startswith("error: ")
    assert Warehouse().file("coast").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["index", "nowhere"], ["there is no folder /", "no corpus 'nowhere'", "coast"]),
        (["index", "./nowhere"], ["there is no folder ./nowhere"]),
        (["index", "../corpora"], ["there is no folder ../corpora"]),
        (["ask", "nowhere", "Why?"], ["no corpus 'nowhere'"]),
        (["ask", "coast", "Why?", "--level", "C9"], ["C9", "C0"]),
        (["ask", "coast", "Why?", "--level", "root"], ["'root' is not a community level"]),
        (["ask", "coast", ""], ["question"]),
        (
            ["ask", "coast", "Why?", "--general-knowledge"],
            ["knows nothing of the world", "search.engine: llm"],
        ),
        (["ask", "coast", "Why?", "--response-type", "x" * 201], ["201 characters; at most 200"]),
        (
            ["ask", "coast", "Why?", "--response-type", "one haiku"],
            ["cannot give 'one haiku'", "a single sentence"],
        ),
        (["ask", "coast", " \t?! "], ["question"]),
        (["ask", "co'ast", "Why?"], ["is not a valid corpus name"]),
        (["show", "../coast"], ["is not a valid corpus name"]),
        (["show", "coast", "--level", "C9"], ["no level C9", "C0"]),
        (["sql", 'co"ast', "select 1"], ["is not a valid corpus name"]),
        (["sql", "other", "select 1"], ["has not been indexed"]),
        (["init", "a/b"], ["is not a valid corpus name"]),
    ],
)
def test_bad_input_is_one_clear_error(indexed: Run, arguments: list[str], words: list[str]) -> None:
    code, out, err = indexed(*arguments)
    assert code == 1
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err
    for word in words:
        assert word in err


def test_a_broken_settings_file_stops_before_anything_runs(run: Run, home: Path) -> None:
    write_corpus(home / "corpora", settings="reports: {context_token: 9}")
    code, _, err = run("index", "coast")
    assert code == 1
    assert "corpus.yaml: line 1: reports.context_token is not a setting; did you mean context_tokens?" in err
    assert not (home / "warehouse").exists()


def test_a_folder_without_readable_documents_lists_why(run: Run, home: Path) -> None:
    folder = home / "corpora" / "bare"
    folder.mkdir()
    (folder / "empty.txt").touch()
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    code, _, err = run("index", "bare")
    assert code == 1
    for word in ("bare", "empty", "picture.png"):
        assert word in err
    code, out, _ = run("sql", "bare", "select path, status from corpus.files", "--json")
    assert json.loads(out) == [
        {"path": "empty.txt", "status": "empty"},
        {"path": "picture.png", "status": "unsupported"},
    ]


def test_help_imports_nothing_heavy() -> None:
    command = [Path(sys.executable).with_name("graphrag-dagster"), "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name in ("init", "index", "ask", "show", "corpora", "sql"):
        assert name in shown
    code = (
        "import sys; from graphrag_dagster.cli.app import app; "
        "from graphrag_dagster.kernel.catalogue.registry import methods; methods(); "
        "print([m for m in ('dagster', 'duckdb', 'polars', 'spacy', 'numpy') if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"
