import hashlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import polars as pl
import pytest

from graphrag_dagster import Index
from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWERS
from graphrag_dagster.apps.evaluation.questions.question_tables import QUESTIONS as ASKED
from graphrag_dagster.cli.commands.corpus.show_commands import show_corpus
from graphrag_dagster.cli.commands.corpus.snapshot_commands import roll_back, show_snapshots
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.cli.result import show
from graphrag_dagster.component import compose
from graphrag_dagster.errors import HeldError, WarehouseError
from graphrag_dagster.kernel.models.cache.cache_database import database_at
from graphrag_dagster.kernel.models.cache.llm_cache import User
from graphrag_dagster.kernel.models.cache.usage_account import UsageLog
from graphrag_dagster.kernel.models.model_costs import ModelUse
from graphrag_dagster.kernel.pipeline.code_versions import code_version
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.home import cache_place
from graphrag_dagster.kernel.storage.published import (
    RESULTS,
    SEARCHED,
    Published,
    SnapshotProvenance,
    publish,
    published,
    rollback,
    snapshots,
)
from graphrag_dagster.kernel.storage.published.snapshot_contents import can_copy_base, contents
from graphrag_dagster.kernel.storage.published.snapshot_manifest import FORMAT
from graphrag_dagster.kernel.storage.sql_sandbox import QueryLimits, run_query
from graphrag_dagster.kernel.storage.warehouse import Warehouse, qualified
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables, declared_table
from graphrag_dagster.kernel.tables.usage_tables import ACCOUNTS
from support.corpora import write_corpus
from support.damage import holed, put_back_if_torn
from support.disks import files_of_at_most
from support.homes import copy_home, enter_home

INDEX = tuple(table for table in all_tables() if table not in {*RESULTS, *ACCOUNTS})
QUESTIONS = "questions: {ask: ['Who led the Dockers Union?'], methods: [basic], write: never}\n"
HOLD = "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == 'r'); {}; print('open', flush=True); {}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots") / "home"
    write_corpus(folder / "corpora", settings=QUESTIONS)
    with pytest.MonkeyPatch.context() as patch:
        enter_home(patch, folder)
        use = ModelUse(calls=2, input_tokens=30, output_tokens=4, usd=0.5)
        UsageLog(database_at(cache_place())).add(User("coast", "ask", "question"), "answer", "m", use)
        run_job("coast")
    return folder


@pytest.fixture
def warehouse(made: Path, home: Path) -> Warehouse:
    """A copy of a home with an indexed corpus."""
    copy_home(made, home)
    return Warehouse(lock_timeout_seconds=20)


def current(warehouse: Warehouse) -> Published:
    found = published(warehouse, "coast")
    assert found is not None
    return found


def entities(file: Path) -> set[str]:
    with duckdb.connect(str(file), read_only=True) as connection:
        return {title for (title,) in connection.execute("select title from graph.entities").fetchall()}


def retitle(warehouse: Warehouse, title: str) -> None:
    frame = warehouse.read(tables.ENTITIES, "coast")
    warehouse.write(tables.ENTITIES, "coast", frame.with_columns(title=pl.lit(title)))


def publish_states(warehouse: Warehouse, *titles: str, keep: int = 3) -> list[Published]:
    provenance = SnapshotProvenance(CorpusSettings(publishing={"keep": keep}))
    states = []
    for title in titles:
        retitle(warehouse, title)
        states.append(publish(warehouse, "coast", provenance)[0])
    return states


def whole(snapshot: Published) -> bool:
    return hashlib.sha256(snapshot.file.read_bytes()).hexdigest() == snapshot.manifest["hash"]


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A second process that has said that it is ready; killed at the end."""
    running = subprocess.Popen(
        [sys.executable, "-c", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout is not None
        assert running.stdout.readline().strip() == "open"
        yield running
    finally:
        running.kill()
        running.wait()


def answered(running: subprocess.Popen[str]) -> str:
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write("\n")
    running.stdin.flush()
    return running.stdout.readline().strip()


def test_a_snapshot_holds_every_table_and_its_manifest_tells_of_it(warehouse: Warehouse, home: Path) -> None:
    snapshot = current(warehouse)
    told = snapshot.manifest
    with warehouse.reading("coast") as reader:
        present = {table.full_name for table in all_tables() if reader.has(table)}
    with duckdb.connect(str(snapshot.file), read_only=True) as connection:
        counts = {
            f"{schema}.{name}": connection.execute(f'select count(*) from "{schema}"."{name}"').fetchone()[0]
            for schema, name in connection.execute(
                "select schema_name, table_name from duckdb_tables()"
            ).fetchall()
        }
        (usage,) = connection.execute("select run_id, calls, usd from usage.run_usage").fetchall()
    assert counts == told["counts"]
    assert set(counts) == present | {"usage.model_usage", "usage.run_usage"}
    assert usage == ("question", 2, 0.5)
    assert snapshot.file.stat().st_mode & 0o222 == 0
    assert whole(snapshot)
    assert (told["format"], told["corpus"], told["version"], told["index"]) == (
        FORMAT,
        "coast",
        snapshot.version,
        snapshot.index,
    )
    assert {file["path"] for file in told["files"]} >= {"news/strike.md", "news/merger.txt"}
    assert all(len(file["sha256"]) == 64 and file["documents"] == 1 for file in told["files"])
    assert told["settings"]["questions"]["methods"] == ["basic"]
    assert told["models"]["embedder"].startswith("static/")
    assert told["models"]["extract"] == "extractive"
    indexed = {"/".join(table.path) for table in INDEX} & set(told["code"])
    assert indexed >= {"corpus/documents", "graph/entities", "reports/community_reports"}
    for key in indexed:
        assert told["code"][key] == code_version(declared_table(key.replace("/", ".")).group)
    with dg.DagsterInstance.from_config(str(home / ".dagster_home")) as instance:
        assert told["run_id"] == instance.get_runs()[0].run_id
    assert {file.name for file in snapshot.file.parent.iterdir() if not file.name.startswith(".")} == {
        snapshot.file.name,
        f"{snapshot.version}.json",
        "current.json",
    }


def test_a_snapshot_is_the_same_whether_it_begins_as_the_file_or_is_written_by_tables(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    def rows(file: Path) -> dict[str, list[tuple[Any, ...]]]:
        with duckdb.connect(str(file), read_only=True) as connection:
            found = connection.execute("select schema_name, table_name from duckdb_tables()").fetchall()
            return {
                f"{schema}.{name}": connection.execute(f'from "{schema}"."{name}"').fetchall()
                for schema, name in found
            }

    def copied(file: Path) -> bool:
        with contents(warehouse, "coast", all_tables(), None, tmp_path / "spill") as found:
            begins = can_copy_base(found._connection, "working", warehouse.file("coast"))
            found.copy(file, None)
        return begins

    with warehouse.connect("coast") as connection:
        connection.execute("create table corpus.stray as select 'a word' as word")
    assert copied(tmp_path / "whole.duckdb")
    with warehouse.connect("coast") as connection:
        connection.execute("create view corpus.words as select word from corpus.stray")
    assert not copied(tmp_path / "tables.duckdb")
    whole = rows(tmp_path / "whole.duckdb")
    assert whole == rows(tmp_path / "tables.duckdb")
    assert whole["corpus.documents"]
    assert "corpus.stray" not in whole


def test_what_has_not_changed_makes_no_file_but_the_manifest_is_kept_up(warehouse: Warehouse) -> None:
    before = current(warehouse)
    written = before.file.stat()
    with warehouse.connect("coast") as connection:
        for table in SEARCHED:
            connection.execute(
                f"create or replace table {qualified(table)} as select * from {qualified(table)} order by random()"
            )
    settings = CorpusSettings(publishing={"keep": 5})
    again, changed = publish(
        warehouse, "coast", SnapshotProvenance(settings, "later", {"graph/entities": "v2"})
    )
    assert not changed
    assert (again.version, again.index) == (before.version, before.index)
    assert (again.file.stat().st_ino, again.file.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    same = ("published", "run_id", "counts", "hash", "files", "prompts")
    assert {key: again.manifest[key] for key in same} == {key: before.manifest[key] for key in same}
    assert again.manifest["settings"]["publishing"]["keep"] == 5
    assert again.manifest["code"] == {"graph/entities": "v2"}


def selected(warehouse: Warehouse, query: str) -> list[Any]:
    with run_query(warehouse, "coast", query, QueryLimits()) as found:
        return [row[0] for row in found.rows]


@pytest.mark.long
def test_results_are_published_beside_the_same_index_and_never_make_answers_stale(
    warehouse: Warehouse,
) -> None:
    before = current(warehouse)
    run_job("coast", job="answer")
    after = current(warehouse)
    assert after.version != before.version
    assert after.index == before.index == Index.open("coast").version
    asked = warehouse.read(ANSWERS, "coast")
    assert set(asked["snapshot"]) == {after.index}
    assert selected(warehouse, "select text from answers.answers") == asked["text"].to_list()
    assert run_job("coast", job="answer").success
    assert current(warehouse) == after
    for name in ("answer", "evaluate", "study_extraction", "study_windows"):
        job = compose(research=True).resolve_job_def(name)
        keys = {key.to_user_string() for key in job.asset_layer.executable_asset_keys}
        assert "serving/published_results" in keys
        assert "serving/published_snapshot" not in keys


def test_no_publication_shows_what_another_run_has_left_half_made(warehouse: Warehouse) -> None:
    before = current(warehouse)
    retitle(warehouse, "Half made")
    row = {"question_id": "q", "position": 0, "question": "Why?", "origin": "settings"}
    warehouse.write(ASKED, "coast", ASKED.frame([row]))
    results, changed = publish(warehouse, "coast", fresh=RESULTS)
    assert changed
    assert results.index == before.index
    assert entities(results.file) == entities(before.file)
    assert results.rows("questions.questions") == 1
    warehouse.write(ASKED, "coast", ASKED.empty())
    index, _ = publish(warehouse, "coast", fresh=INDEX)
    assert entities(index.file) == {"Half made"}
    assert index.rows("questions.questions") == 1
    documents = warehouse.read(tables.DOCUMENTS, "coast")
    warehouse.write(tables.DOCUMENTS, "coast", documents[1:])
    assert publish(warehouse, "coast", fresh=RESULTS)[0].rows("corpus.documents") == len(documents)
    without, _ = publish(warehouse, "coast", fresh=INDEX)
    assert without.rows("corpus.documents") == len(documents) - 1
    assert without.rows("questions.questions") == 0


def test_the_newest_are_kept_and_the_current_one_always(warehouse: Warehouse) -> None:
    first = current(warehouse)
    states = publish_states(warehouse, "A", "B", "C", keep=3)
    assert [one.version for one in snapshots(warehouse, "coast")] == [s.version for s in reversed(states)]
    assert not first.file.exists()
    assert not first.file.with_suffix(".json").exists()
    rollback(warehouse, "coast", states[0].version)
    assert current(warehouse) == states[0]
    made = publish_states(warehouse, "D", keep=1)
    assert {one.version for one in snapshots(warehouse, "coast")} == {made[0].version}


def test_rollback_goes_back_until_the_next_publication(
    warehouse: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    first = current(warehouse)
    a, b = publish_states(warehouse, "A", "B")
    opened = Index.published_version("coast")
    assert rollback(warehouse, "coast") == a
    assert Index.published_version("coast") == a.index != opened
    assert set(selected(warehouse, "select title from graph.entities")) == {"A"}
    assert rollback(warehouse, "coast") == first
    with pytest.raises(
        WarehouseError,
        match=rf"no snapshot older than the current one: there is nothing to roll .*{b.version}.*{a.version}",
    ):
        rollback(warehouse, "coast")
    with pytest.raises(WarehouseError, match=rf"no snapshot 'x'; there are: {b.version}"):
        rollback(warehouse, "coast", "x")
    with pytest.raises(WarehouseError, match="corpus 'inland' has been published"):
        rollback(warehouse, "inland")
    again, changed = publish(warehouse, "coast", SnapshotProvenance(run_id="again"))
    assert changed
    assert (again.version, again.file) == (b.version, b.file)
    assert again.manifest["run_id"] == "again"
    assert again.published > b.published
    capsys.readouterr()
    show(roll_back("coast", a.version), as_json=True)
    assert json.loads(capsys.readouterr().out)["before"] == b.version
    show(show_snapshots("coast"), as_json=True)
    rows = json.loads(capsys.readouterr().out)["snapshots"]
    assert [(row["version"], row["current"]) for row in rows] == [
        (b.version, False),
        (a.version, True),
        (first.version, False),
    ]
    assert rows[0]["documents"] == 4
    show(show_snapshots("coast"), as_json=False)
    assert "is read" in capsys.readouterr().out
    with pytest.raises(WarehouseError, match="corpus 'inland'"):
        show(show_snapshots("inland"), as_json=False)


def test_a_damaged_snapshot_is_not_gone_back_to(warehouse: Warehouse) -> None:
    first = current(warehouse)
    (newest,) = publish_states(warehouse, "A")
    holed(first.file)
    with pytest.raises(WarehouseError, match="is not what was published.*stays"):
        rollback(warehouse, "coast")
    assert current(warehouse) == newest


def test_snapshots_follow_each_other_though_the_clock_is_set_back(warehouse: Warehouse) -> None:
    place = current(warehouse).file.with_suffix(".json")
    manifest = json.loads(place.read_text(encoding="utf-8"))
    place.write_text(json.dumps({**manifest, "published": "2999-01-01T00:00:00.000000+00:00"}))
    (state,) = publish_states(warehouse, "A")
    assert snapshots(warehouse, "coast")[0] == state


def test_a_shell_open_on_a_snapshot_and_a_run_do_not_wait_for_each_other(
    warehouse: Warehouse, home: Path
) -> None:
    (home / "corpora" / "coast" / "corpus.yaml").write_text(QUESTIONS + "publishing: {keep: 1}\n")
    before = current(warehouse)
    count = "print(c.execute('select count(*) from corpus.documents').fetchone()[0], flush=True)"
    with process(HOLD.format("pass", f"sys.stdin.readline(); {count}"), str(before.file), "r") as shell:
        (home / "corpora" / "coast" / "news" / "strike.md").unlink()
        run_job("coast")
        after = current(warehouse)
        assert after.version != before.version
        assert not before.file.exists()
        assert answered(shell) == "4"
    writing = "c.execute('begin'); c.execute('delete from graph.entities')"
    with process(HOLD.format(writing, "sys.stdin.readline()"), str(warehouse.file("coast")), "w"):
        assert selected(warehouse, "select count(*) from graph.entities")[0] > 0
        show(show_corpus("coast", 1, "C0"), as_json=True)
        assert Index.open("coast").version == after.index
        with pytest.raises(WarehouseError, match="is in use by process"):
            publish(Warehouse(lock_timeout_seconds=0.2), "coast")


def test_a_snapshot_that_another_program_writes_to_is_named_with_the_program(warehouse: Warehouse) -> None:
    snapshot = current(warehouse)
    snapshot.file.chmod(0o644)
    with process(HOLD.format("pass", "sys.stdin.readline()"), str(snapshot.file), "w") as holder:
        told = rf"{snapshot.file} is open for writing in process {holder.pid} .*duckdb -readonly"
        with pytest.raises(HeldError, match=told):
            Index.open("coast")
        with pytest.raises(HeldError, match=told):
            publish_states(warehouse, "A")
    assert publish_states(warehouse, "A")[0] == current(warehouse)


def test_leftovers_of_a_killed_publication_are_never_read_and_go_with_the_next(warehouse: Warehouse) -> None:
    snapshot = current(warehouse)
    folder = snapshot.file.parent
    (folder / ".0123.tmp").write_bytes(b"half")
    (folder / ".0123.tmp.wal").write_bytes(b"half")
    (folder / ".0123.spill").mkdir()
    (folder / ".0123.spill" / "block").write_bytes(b"half")
    retitle(warehouse, "A")
    lost, _ = publish(warehouse, "coast")
    rollback(warehouse, "coast")
    lost.file.with_suffix(".json").unlink()
    (folder / f"{'0' * 16}.json").write_text("{}")
    assert snapshots(warehouse, "coast") == [snapshot]
    made, changed = publish(warehouse, "coast")
    assert changed
    assert made.version == lost.version
    assert whole(made)
    names = {one.stem for one in folder.iterdir() if not one.name.startswith(".")}
    assert names == {"current", snapshot.version, made.version}
    assert {one.name for one in folder.iterdir() if one.name.startswith(".")} <= {".lock"}


PUBLISHING = """
import itertools, sys
import polars as pl
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
warehouse = Warehouse()
frame = warehouse.read(tables.ENTITIES, "coast")
print("open", flush=True)
for number in itertools.count():
    warehouse.write(tables.ENTITIES, "coast", frame.with_columns(title=pl.lit(f"{sys.argv[1]}-{number}")))
    publish(warehouse, "coast")
"""


@pytest.mark.long
def test_a_publisher_killed_at_any_moment_leaves_a_whole_snapshot(warehouse: Warehouse) -> None:
    chance, working = random.Random(11), warehouse.file("coast")
    indexed = working.read_bytes()
    for number in range(5):
        with process(PUBLISHING, str(number)) as publisher:
            time.sleep(chance.uniform(0.0, 0.8))
            publisher.send_signal(signal.SIGKILL)
            publisher.wait()
        put_back_if_torn(working, indexed)
        snapshot = current(warehouse)
        assert whole(snapshot)
        assert entities(snapshot.file)
        assert Index.open("coast").version == snapshot.index
    made, _ = publish(warehouse, "coast")
    complete = {
        name for one in snapshots(warehouse, "coast") for name in (one.file.name, f"{one.version}.json")
    }
    assert {one.name for one in made.file.parent.iterdir()} <= {*complete, "current.json", ".lock"}


def test_a_full_disk_leaves_what_was_published(warehouse: Warehouse) -> None:
    before = current(warehouse)
    retitle(warehouse, "A")
    with (
        files_of_at_most(200_000),
        pytest.raises(WarehouseError, match="publishing in .* failed .* unchanged"),
    ):
        publish(warehouse, "coast")
    assert current(warehouse) == before
    assert whole(before)
    assert entities(publish(warehouse, "coast")[0].file) == {"A"}
    names = {one.name for one in before.file.parent.iterdir() if one.name.startswith(".")}
    assert names <= {".lock"}


def test_a_snapshot_that_was_written_to_is_made_anew(warehouse: Warehouse) -> None:
    before = current(warehouse)
    before.file.chmod(0o644)
    with duckdb.connect(str(before.file)) as connection:
        connection.execute("create table main.notes as select 1 as x")
    assert not before.intact()
    made, changed = publish(warehouse, "coast")
    assert (made.version, changed) == (before.version, False)
    assert made.intact()
    with duckdb.connect(str(made.file), read_only=True) as connection:
        assert not connection.execute("select * from duckdb_tables() where table_name = 'notes'").fetchall()


def test_publications_at_the_same_time_follow_each_other(warehouse: Warehouse) -> None:
    retitle(warehouse, "A")
    made: list[tuple[Published, bool]] = []
    threads = [threading.Thread(target=lambda: made.append(publish(warehouse, "coast"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one.version for one, _ in made}) == 1
    assert sorted(changed for _, changed in made) == [False, False, False, True]


def _half(place: Path) -> None:
    place.write_text("{", encoding="utf-8")


def _outside(place: Path) -> None:
    place.write_text(json.dumps({"version": "../../coast"}), encoding="utf-8")


def _poor(place: Path) -> None:
    place.write_text("[]", encoding="utf-8")


@pytest.mark.parametrize("damage", [_half, _outside, _poor])
@pytest.mark.parametrize("which", ["current", "manifest"])
def test_a_damaged_file_is_named_and_the_next_publication_mends_it(
    warehouse: Warehouse, damage: Callable[[Path], None], which: str
) -> None:
    snapshot = current(warehouse)
    name = "current" if which == "current" else snapshot.version
    place = snapshot.file.with_name(f"{name}.json")
    damage(place)
    with pytest.raises(WarehouseError, match=rf"{name}\.json is damaged; delete it and run"):
        Index.open("coast")
    mended, changed = publish(warehouse, "coast")
    assert changed
    assert mended.version == snapshot.version
    assert whole(mended)
    assert Index.open("coast").version == snapshot.index


def test_results_outlive_documents_that_were_only_moved(warehouse: Warehouse) -> None:
    documents = warehouse.read(tables.DOCUMENTS, "coast")

    def named(folder: str) -> pl.DataFrame:
        titles = pl.Series("title", [f"{folder} {number}" for number in range(len(documents))])
        return documents.with_columns(titles, path=folder + "/" + titles + ".md", row=pl.lit(None, pl.Int32))

    warehouse.write(tables.DOCUMENTS, "coast", named("here"))
    row = {"question_id": "q", "position": 0, "question": "Why?", "origin": "settings"}
    warehouse.write(ASKED, "coast", ASKED.frame([row]))
    publish(warehouse, "coast")
    # Of a run that is under way.
    warehouse.write(ASKED, "coast", ASKED.empty())
    warehouse.write(tables.DOCUMENTS, "coast", named("there"))
    assert publish(warehouse, "coast", fresh=INDEX)[0].rows("questions.questions") == 1
    warehouse.write(tables.DOCUMENTS, "coast", named("there").with_columns(title=pl.lit("Another")))
    assert publish(warehouse, "coast", fresh=INDEX)[0].rows("questions.questions") == 0
