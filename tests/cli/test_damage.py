"""A file that is damaged is named with the way out by every command, and hides nothing else."""

import json
from pathlib import Path

import duckdb
import pytest
from fastapi.testclient import TestClient

from graphrag_dagster.errors import DamagedError
from graphrag_dagster.kernel.models.cache.cache_database import Database
from graphrag_dagster.kernel.models.cache.cache_schema import CacheFileError
from graphrag_dagster.kernel.pipeline.corpus_changes import changed_since_published
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import publish, published
from graphrag_dagster.kernel.storage.published.shrink_guard import shrink_problems
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings
from support.commands import Run
from support.corpora import write_corpus
from support.damage import Spoil, blotted, cut, holed, holed_memory, without_log

ASK = ("ask", "coast", "Who led the Dockers Union?")
SQL = ("sql", "coast", "select * from corpus.documents, graph.entities, reports.community_reports")


def snapshot() -> Path:
    found = published(Warehouse(), "coast")
    assert found is not None
    return found.file


def told(run: Run, *arguments: str) -> str:
    code, _, err = run(*arguments)
    assert code == 1, err
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    return lines[0]


def read_all(warehouse: Warehouse) -> None:
    with warehouse.reading("coast") as reader:
        for table in all_tables():
            reader.read_if_present(table)


@pytest.mark.parametrize("spoil", [cut, blotted, holed])
def test_a_damaged_snapshot_is_named_by_who_reads_it(run: Run, coast: Path, spoil: Spoil) -> None:
    file = snapshot()
    spoil(file)
    for command in (ASK, SQL):
        line = told(run, *command)
        assert str(file) in line
        assert "run 'graphrag-dagster index coast'" in line
    code, out, _ = run("status", "coast", "--json")
    assert (code, json.loads(out)["damaged"], json.loads(out)["up_to_date"]) == (6, str(file), False)
    assert str(file) in run("status", "coast")[1]
    assert run("snapshots", "coast")[0] == 0


@pytest.mark.parametrize("spoil", [cut, blotted])
def test_a_damaged_snapshot_hides_no_other_corpus(run: Run, coast: Path, home: Path, spoil: Spoil) -> None:
    write_corpus(home / "corpora", "another")
    spoil(snapshot())
    assert str(snapshot()) in told(run, "show", "coast")
    code, out, _ = run("corpora", "--json")
    listed = json.loads(out)
    assert (code, [one["corpus"] for one in listed["corpora"]]) == (0, ["another"])
    assert str(snapshot()) in listed["damaged"]["coast"]


@pytest.mark.parametrize("spoil", [cut, blotted, holed])
def test_the_next_publication_mends_a_damaged_snapshot(coast: Path, spoil: Spoil) -> None:
    before = published(Warehouse(), "coast")
    spoil(snapshot())
    with Warehouse().reading("coast") as made:
        assert shrink_problems(Warehouse(), made, 0.1) == []
    mended, _ = publish(Warehouse(), "coast")
    assert before is not None
    assert (mended.version, mended.intact()) == (before.version, True)


@pytest.mark.parametrize("spoil", [cut, blotted, holed])
def test_a_damaged_working_file_is_named_with_the_way_out(run: Run, coast: Path, spoil: Spoil) -> None:
    file = Warehouse().file("coast")
    spoil(file)
    with pytest.raises(DamagedError, match="move it away") as raised:
        read_all(Warehouse())
    assert str(file) in str(raised.value)
    # Who asks reads the snapshot.
    assert run(*ASK)[0] == 0


@pytest.mark.parametrize("file_is", ["damaged", "of another format"])
def test_an_index_of_a_folder_keeps_a_file_that_it_cannot_open(
    run: Run, home: Path, tmp_path: Path, file_is: str
) -> None:
    folder, file = tmp_path / "notes", Warehouse().file("notes")
    folder.mkdir()
    (folder / "one.txt").write_text("Ada Brack met Otto Finn in Mirefield.", "utf-8")
    file.parent.mkdir(parents=True)
    if file_is == "damaged":
        file.write_bytes(b"no DuckDB file")
    else:
        with duckdb.connect(str(file)) as connection:
            connection.execute("create table one as select 1 as number")
    before = file.read_bytes()
    code, _, err = run("index", str(folder))
    assert (code, str(file) in err) == (1, True), err
    assert file.read_bytes() == before


@pytest.mark.parametrize("spoil", [cut, blotted, holed_memory])
def test_damaged_remembered_replies_are_named_with_the_way_out(run: Run, coast: Path, spoil: Spoil) -> None:
    file = without_log(coast.parents[1] / "cache" / "replies.sqlite")
    spoil(file)
    line = told(run, "cache", "stats")
    assert str(file) in line
    assert "move it away" in line
    # Without a model nothing is read of it.
    assert run(*ASK)[0] == run("corpora")[0] == run("show", "coast")[0] == 0


def test_memory_that_breaks_while_it_is_open_is_named(tmp_path: Path) -> None:
    database = Database(tmp_path / "m.db")
    holed_memory(without_log(Path(database.place)))
    with pytest.raises(CacheFileError, match=r"m\.db is damaged"), database.reading() as connection:
        connection.execute("select * from replies").fetchall()
    with pytest.raises(CacheFileError, match=r"m\.db is damaged"):
        database.write(
            lambda connection: connection.execute("insert into finished values ('c', 'a', 'r', 1)")
        )
    database.close()


@pytest.mark.parametrize("spoil", [cut, holed])
def test_a_server_answers_from_the_other_corpora(coast: Path, home: Path, spoil: Spoil) -> None:
    spoil(snapshot())
    write_corpus(home / "corpora", "bare")
    with TestClient(make_app(ServiceSettings()), base_url="http://127.0.0.1") as client:
        answer = client.post("/corpora/coast/ask", json={"question": "Who led the Dockers Union?"})
        other = client.post("/corpora/bare/ask", json={"question": "Who?"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "damaged")
    assert snapshot().name in answer.json()["error"]["message"]
    assert str(home) not in answer.text
    assert (other.status_code, other.json()["error"]["type"]) == (409, "corpus_not_ready")


@pytest.mark.parametrize("name", ["current.json", "manifest"])
def test_what_watches_has_a_damaged_publication_made_anew(coast: Path, name: str) -> None:
    place = snapshot().with_suffix(".json") if name == "manifest" else snapshot().with_name(name)
    place.write_text("{", encoding="utf-8")
    assert changed_since_published(CorpusStore(), Warehouse(), "coast")
