import json
import logging
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster import Index
from graphrag_dagster.errors import CorpusError, ObjectStoreError, SettingsError, StaleError
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import (
    Published,
    SnapshotProvenance,
    publish,
    published,
    published_here,
    reading,
    rollback,
    snapshots,
)
from graphrag_dagster.kernel.storage.published import shared_snapshots as module
from graphrag_dagster.kernel.storage.published.shared_snapshots import SharedSnapshots
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.commands import Run
from support.s3_server import BUCKET, SECRET_KEY, S3Server, s3_server

pytest.importorskip("obstore")
pytest.importorskip("moto")
pytest.importorskip("flask_cors")

_NUMBERS = count()
Machine = Callable[..., Warehouse]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture(autouse=True)
def _at_once(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Readers look at every question."""
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(module, "AWAY_SECONDS", 0.0)
    yield
    server.before = lambda _method, _path: True


@pytest.fixture
def url() -> str:
    return f"s3://{BUCKET}/test-{next(_NUMBERS)}"


@pytest.fixture
def machine(indexed_home: Path, home: Path, url: str) -> Machine:
    """Makes the warehouse of a machine: one that indexed the corpus, or one with nothing."""

    def make(name: str, *, indexed: bool = True, published: str = url, take_over: bool = False) -> Warehouse:
        folder = home / name
        if indexed and not folder.exists():
            shutil.copytree(indexed_home / "warehouse", folder, ignore=shutil.ignore_patterns("published"))
        template = str(folder / "{corpus}.duckdb")
        return Warehouse(path=template, lock_timeout_seconds=20, published=published, take_over=take_over)

    return make


def publish_state(warehouse: Warehouse, title: str, keep: int = 3) -> Published:
    frame = warehouse.read(tables.ENTITIES, "coast")
    warehouse.write(tables.ENTITIES, "coast", frame.with_columns(title=pl.lit(title)))
    settings = CorpusSettings(publishing={"keep": keep}, description="the coast")
    return publish(warehouse, "coast", SnapshotProvenance(settings))[0]


def title_read(warehouse: Warehouse) -> str:
    with reading(warehouse, "coast") as (reader, snapshot):
        assert snapshot is not None
        row = reader.connection.execute("select title from graph.entities limit 1").fetchone()
        assert row is not None
        return str(row[0])


def shared(warehouse: Warehouse) -> SharedSnapshots:
    found = SharedSnapshots.of(warehouse, "coast")
    assert found is not None
    return found


def names(warehouse: Warehouse) -> set[str]:
    return {Path(path).name for path in shared(warehouse).store.list()}


def named(*kept: Published) -> set[str]:
    return {
        "current.json",
        *(f"{one.version}.json" for one in kept),
        *(f"{one.manifest['hash']}.duckdb" for one in kept),
    }


def test_a_machine_with_nothing_but_the_url_answers_from_what_another_published(
    machine: Machine, home: Path, server: S3Server
) -> None:
    indexing, node = machine("indexing"), machine("node", indexed=False)
    first = publish(indexing, "coast", SnapshotProvenance(CorpusSettings(description="the coast")))[0]
    nowhere = CorpusStore(root=str(home / "nowhere"))
    index = Index.open("coast", corpora=nowhere, warehouse=node)
    source = index.ask("Who led the Dockers Union?", method="basic").sources[0]
    assert source.evidence is not None
    assert source.evidence.told.path == "news/strike.md"
    fetched = published(node, "coast")
    assert fetched is not None
    assert fetched.intact()
    assert fetched.manifest == first.manifest
    assert fetched.file.stat().st_mode & 0o222 == 0
    before = len(server.requests)
    assert published(node, "coast") == fetched
    assert [path.rpartition("/")[2] for _, path in server.requests[before:]] == ["current.json"]
    second = publish_state(indexing, "Newer")
    assert title_read(node) == "Newer"
    assert names(node) == named(first, second)


def test_commands_and_the_service_list_and_read_corpora_of_other_machines(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, run: Run, url: str
) -> None:
    snapshot = publish(machine("indexing"), "coast")[0]
    monkeypatch.setenv("GRAPHRAG_DAGSTER_PUBLISHED", url)
    assert Index.names() == ["coast"]
    with pytest.raises(CorpusError, match=f"no corpus 'cost' .* at {url}; there are: coast"):
        Index.open("cost")
    assert "local" in Index.methods("coast")
    assert Index.explorer("coast").overview().methods
    code, told, _ = run("snapshots", "coast", "--json")
    assert code == 0
    (row,) = json.loads(told)["snapshots"]
    assert row["url"] == f"{url}/coast/{snapshot.manifest['hash']}.duckdb"
    assert "Hanna Quill" in run("ask", "coast", "Who led the Dockers Union?", "--method", "basic")[1]
    assert json.loads(run("corpora", "--json")[1])["corpora"][0]["corpus"] == "coast"


@pytest.mark.parametrize("scheme", ["s3", "file"])
def test_who_has_not_seen_the_last_publication_is_refused(
    machine: Machine, url: str, scheme: str, tmp_path: Path
) -> None:
    if scheme == "file":
        (tmp_path / "mounted").mkdir()
        url = f"file://{tmp_path / 'mounted'}"
    one, other = machine("one", published=url), machine("other", published=url)
    mine = publish_state(one, "Mine")
    with pytest.raises(StaleError, match=rf"published corpus 'coast' .*snapshot {mine.version}.*--take-over"):
        publish_state(other, "Theirs")
    assert snapshots(other, "coast") == []
    assert title_read(other) == "Mine"
    theirs = publish_state(machine("other", published=url, take_over=True), "Theirs")
    assert title_read(one) == "Theirs"
    with pytest.raises(StaleError, match=theirs.version):
        publish_state(one, "Mine again")
    assert publish_state(other, "Theirs again").version in {one.version for one in snapshots(other, "coast")}


def test_of_two_that_publish_at_the_same_time_one_is_refused(machine: Machine, server: S3Server) -> None:
    both = threading.Barrier(2)

    def meet(method: str, path: str) -> bool:
        if method == "PUT" and path.endswith("current.json"):
            both.wait(10)
        return True

    def attempt(name: str) -> str:
        try:
            return publish_state(machine(name), name).version
        except StaleError as error:
            return str(error)

    machine("one"), machine("other")
    server.before = meet
    with ThreadPoolExecutor(2) as pool:
        won, lost = sorted(pool.map(attempt, ("one", "other")), key=len)
    assert f"snapshot {won}" in lost
    server.before = lambda _method, _path: True
    assert {title_read(machine(name)) for name in ("one", "other", "reader")} <= {"one", "other"}
    assert title_read(machine("one")) == title_read(machine("reader", indexed=False))


def test_a_store_that_is_away_delays_a_publication_and_no_answer(
    machine: Machine, server: S3Server, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    indexing, node, late = machine("indexing"), machine("node", indexed=False), machine("late", indexed=False)
    publish_state(indexing, "First")
    assert title_read(node) == "First"
    for fails in ("at the start", "in the middle"):
        if fails == "at the start":
            server.stop()
        else:
            server.before = lambda method, path: not (method == "PUT" and path.endswith("current.json"))
        begin = time.monotonic()
        with pytest.raises(
            ObjectStoreError, match=rf"{url} does not answer at 127.0.0.1.*uploads it"
        ) as told:
            publish_state(indexing, fails)
        assert time.monotonic() - begin < 8
        assert SECRET_KEY not in "".join(map(str, (told.value, told.value.__cause__, told.value.__context__)))
        assert title_read(indexing) == fails
        with caplog.at_level(logging.WARNING):
            assert title_read(node) == "First"
        if fails == "at the start":
            assert "is read as it was fetched last" in caplog.text
            with pytest.raises(ObjectStoreError, match="does not answer"):
                Index.open("coast", corpora=CorpusStore(root=late.path), warehouse=late)
            server.start()
    server.before = lambda _method, _path: True
    snapshot = publish(indexing, "coast", SnapshotProvenance(CorpusSettings()))[0]
    assert title_read(node) == title_read(late) == "in the middle"
    assert f"{snapshot.version}.json" in names(node)


def test_a_bucket_that_cannot_be_used_is_named_with_the_mend(
    machine: Machine, server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(url: str, match: str) -> None:
        with pytest.raises((ObjectStoreError, SettingsError), match=match) as told:
            publish(machine("indexing", published=url), "coast")
        assert SECRET_KEY not in str(told.value)

    refused(
        "s3://nobody/has", r"s3://nobody/has cannot be used \(NoSuchBucket\); check that the bucket exists"
    )
    refused(f"file://{tmp_path}/not-mounted", "create or mount the folder")
    refused(f"s3://key:{SECRET_KEY}@bucket/x", "credentials belong in AWS_ACCESS_KEY_ID")
    refused("ftp://somewhere/x", "must be s3://bucket/prefix or file:///folder")
    server.call("POST", "moto-api/reset-auth", b"0")
    try:
        refused(f"s3://{BUCKET}/denied", r"cannot be used \(InvalidAccessKeyId\); check .* AWS_ACCESS_KEY_ID")
    finally:
        server.call("POST", "moto-api/reset-auth", b"inf")
    monkeypatch.setitem(sys.modules, "obstore", None)
    refused(f"s3://{BUCKET}/x", r"needs the extra s3: pip install 'graphrag-dagster\[s3\]'")
    kept = published_here(machine("indexing"), "coast")
    assert kept is not None
    assert kept.intact()


PUBLISHING = """
import sys
from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
publish(Warehouse(path=sys.argv[1], published=sys.argv[2]), "coast")
"""


def test_an_upload_that_was_killed_is_never_read_and_goes_with_the_next(
    machine: Machine, server: S3Server, url: str
) -> None:
    indexing, node = machine("indexing"), machine("node", indexed=False)
    first = publish_state(indexing, "First")
    reached, killed = threading.Event(), threading.Event()

    def hold(method: str, path: str) -> bool:
        if method == "PUT" and path.endswith(".json"):
            reached.set()
            killed.wait(30)
            return False
        return True

    frame = indexing.read(tables.ENTITIES, "coast")
    indexing.write(tables.ENTITIES, "coast", frame.with_columns(title=pl.lit("Killed")))
    server.before = hold
    publisher = subprocess.Popen([sys.executable, "-c", PUBLISHING, indexing.path, url])
    assert reached.wait(30)
    publisher.kill()
    publisher.wait()
    killed.set()
    server.before = lambda _method, _path: True
    assert title_read(node) == "First"
    (left,) = names(node) - named(first)
    second = publish_state(indexing, "Second")
    assert left not in names(node)
    assert named(second) <= names(node)
    assert title_read(node) == "Second"


def test_what_is_kept_and_rolled_back_to_holds_for_all_machines(machine: Machine) -> None:
    indexing, node = machine("indexing"), machine("node", indexed=False)
    states = [publish_state(indexing, f"State {number}", keep=2) for number in range(3)]
    assert names(indexing) == named(*states[1:])
    assert rollback(node, "coast").version == states[1].version
    assert title_read(node) == title_read(indexing) == "State 1"
    assert title_read(machine("late", indexed=False)) == "State 1"
    newest = publish_state(indexing, "State 3", keep=2)
    assert title_read(node) == "State 3"
    assert names(indexing) == named(*snapshots(indexing, "coast"))
    assert newest.version in {one.version for one in snapshots(node, "coast")}
    assert states[0].version not in {one.version for one in snapshots(node, "coast")}


def test_a_large_file_goes_and_comes_in_parts(machine: Machine, tmp_path: Path, server: S3Server) -> None:
    store = shared(machine("node", indexed=False)).store
    large, fetched = tmp_path / "large", tmp_path / "fetched"
    large.write_bytes(random.Random(3).randbytes(2**24 * 2 + 5))
    before = len(server.requests)
    store.upload("coast/large.duckdb", large)
    store.upload("coast/large.duckdb", large)
    assert [method for method, _ in server.requests[before:]].count("PUT") == 3
    assert store.download("coast/large.duckdb", fetched)
    assert fetched.read_bytes() == large.read_bytes()
    assert not store.download("coast/none.duckdb", fetched)


def test_an_object_that_is_not_what_was_published_is_not_read(machine: Machine, url: str) -> None:
    indexing, node = machine("indexing"), machine("node", indexed=False)
    snapshot = publish(indexing, "coast")[0]
    name = f"coast/{snapshot.manifest['hash']}.duckdb"
    shared(indexing).store.put(name, snapshot.file.read_bytes()[:-1] + b"!")
    with pytest.raises(ObjectStoreError, match=f"{url}/{name} is not what was published; delete it"):
        title_read(node)
    assert list(shared(node).folder.glob("*.duckdb")) == []


def spoilt_manifests(whole: bytes) -> Iterator[bytes]:
    entries = json.loads(whole)
    yield from (
        b"",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        whole.decode().encode("utf-16"),
        whole[: len(whole) // 2],
    )
    yield from (b"[" * 100_000, b'{"format":' * 100_000, b"\xef\xbb\xbf" + whole)
    for key in ("format", "corpus", "index", "published", "counts", "hash"):
        yield json.dumps({name: value for name, value in entries.items() if name != key}).encode()
    for key, value in {
        "format": "2",
        "index": "../../elsewhere",
        "published": "yesterday",
        "counts": [],
        "hash": 7,
        "files": [{"path": 3}],
        "settings": {"publishing": "all"},
        "models": "none",
    }.items():
        yield json.dumps({**entries, key: value}).encode()


def spoilt_pointers(whole: bytes) -> Iterator[bytes]:
    entries = json.loads(whole)
    yield from (b"", b"{}", b"[]", b"\xff", whole.decode().encode("utf-16"), b"[" * 100_000, whole[:-9])
    for key, value in {"version": 7, "manifest": [], "publication": "us", "kept": "all"}.items():
        yield json.dumps({**entries, key: value}).encode()


@pytest.mark.parametrize("kind", ["manifest", "pointer"])
def test_a_good_copy_goes_on_whatever_is_in_the_bucket_and_the_next_index_mends_it(
    kind: str, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    indexing, reader = machine("indexing"), machine("reader", indexed=False)
    publish_state(indexing, "First")
    assert title_read(reader) == "First"
    snapshot, store = publish_state(indexing, "Second"), shared(indexing).store
    names = {"manifest": f"coast/{snapshot.version}.json", "pointer": "coast/current.json"}
    found, pointed = store.get(names[kind]), store.get("coast/current.json")
    assert found is not None
    assert pointed is not None
    spoilt = {"manifest": spoilt_manifests, "pointer": spoilt_pointers}[kind]
    for number, content in enumerate(spoilt(found[0])):
        store.put(names[kind], content)
        if kind == "manifest":
            hashed = {**json.loads(pointed[0]), "manifest": module.sha256(content)}
            store.put("coast/current.json", json.dumps(hashed).encode())
        module.CHECKS.clear()
        caplog.clear()
        assert title_read(reader) == "First"
        (line,) = caplog.messages
        assert f"{names[kind]} is damaged" in line
        with pytest.raises(ObjectStoreError, match="is damaged"):
            title_read(machine(f"late{number}", indexed=False))
        if kind == "manifest":
            assert dict(shared(reader).manifests()) == {
                one: size for one, size in shared(reader).manifests() if one.version != snapshot.version
            }
    publish(indexing, "coast")
    assert title_read(reader) == title_read(machine("late", indexed=False)) == "Second"


@pytest.mark.parametrize("content", [b"", b"no snapshot", None])
def test_an_object_that_differs_from_what_was_uploaded_is_written_again(
    content: bytes | None, machine: Machine, server: S3Server
) -> None:
    indexing = machine("indexing")
    older, newer = publish_state(indexing, "Older"), publish_state(indexing, "Newer")
    store, paths = shared(indexing).store, []
    for one in (older, newer):
        paths += [f"coast/{one.manifest['hash']}.duckdb", f"coast/{one.version}.json"]
        for path in paths[-2:]:
            whole = store.get(path)
            assert whole is not None
            store.put(path, whole[0][:-1] + b"!" if content is None else content)
    assert not publish(indexing, "coast")[1]
    assert title_read(machine("reader", indexed=False)) == "Newer"
    node = machine("node", indexed=False)
    assert rollback(node, "coast", older.version).version == older.version
    assert title_read(node) == "Older"
    before = len(server.requests)
    publish(indexing, "coast")
    sent = [path.rpartition("/")[2] for method, path in server.requests[before:] if method == "PUT"]
    assert not [name for name in sent if name.endswith(".duckdb")]


def test_a_spoilt_snapshot_hides_no_other_that_can_be_gone_back_to(machine: Machine) -> None:
    indexing, node = machine("indexing"), machine("node", indexed=False)
    older, newer = publish_state(indexing, "Older"), publish_state(indexing, "Newer")
    shared(indexing).store.put(f"coast/{newer.manifest['hash']}.duckdb", b"spoilt")
    assert rollback(node, "coast", older.version).version == older.version
    assert title_read(node) == "Older"


def test_a_damaged_pointer_is_replaced_by_none_who_has_never_published(machine: Machine) -> None:
    indexing, other = machine("indexing"), machine("other")
    publish_state(indexing, "First")
    shared(indexing).store.put("coast/current.json", b"[]")
    with pytest.raises(ObjectStoreError, match="current.json is damaged"):
        publish_state(other, "Other")
    shared(indexing).store.put("coast/current.json", b"[]")
    assert publish_state(machine("other", take_over=True), "Other")
    assert title_read(machine("reader", indexed=False)) == "Other"


@pytest.mark.parametrize("name", ["current.json", "manifest"])
def test_a_local_copy_that_was_spoilt_is_fetched_again(name: str, machine: Machine) -> None:
    indexing, node = machine("indexing"), machine("node", indexed=False)
    snapshot = publish_state(indexing, "First")
    assert title_read(node) == "First"
    file = shared(node).folder / (f"{snapshot.version}.json" if name == "manifest" else name)
    for content in (spoilt_manifests if name == "manifest" else spoilt_pointers)(file.read_bytes()):
        if name == "manifest" or b'"version": "' not in content:
            file.write_bytes(content)
            assert title_read(node) == "First", content[:80]


def test_fifty_clients_read_on_while_new_ones_are_published(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.05)
    indexing, node = machine("indexing"), machine("node", indexed=False)
    publish_state(indexing, "State 0", keep=1)
    ended = threading.Event()

    def client(_number: int) -> set[str]:
        titles: dict[str, str] = {}
        while not ended.is_set():
            found = published(node, "coast")
            assert found is not None
            if found.version not in titles:
                titles[found.version] = title_read(node)
            ended.wait(0.1)
        return set(titles.values())

    with ThreadPoolExecutor(50) as pool:
        clients = pool.map(client, range(50))
        try:
            for number in range(1, 3):
                publish_state(indexing, f"State {number}", keep=1)
            time.sleep(0.3)
        finally:
            ended.set()
        seen = set().union(*clients)
    assert "State 1" in seen or "State 2" in seen
    assert seen <= {f"State {number}" for number in range(3)}
    assert title_read(node) == "State 2"


@pytest.mark.long
def test_no_object_holds_a_deleted_document_once_that_is_said(
    coast: Path, run: Run, monkeypatch: pytest.MonkeyPatch, machine: Machine, server: S3Server, url: str
) -> None:
    monkeypatch.setenv("GRAPHRAG_DAGSTER_PUBLISHED", url)
    # Nothing has changed, but what is published here has to be there too.
    assert run("index", "coast")[0] == 0
    node = machine("node", indexed=False)

    def traces() -> list[str]:
        store = shared(node).store
        objects = {path: (store.get(path) or (b"",))[0].lower() for path in store.list()}
        return [path for path, data in objects.items() if b"piet lund" in data]

    assert traces()
    assert published(node, "coast") is not None
    (coast / "institute" / "letter.txt").unlink()
    server.before = lambda method, path: method not in {"DELETE", "POST"}
    code, _, told = run("index", "coast")
    assert code == 1
    assert "does not answer" in told
    server.before = lambda _method, _path: True
    assert run("index", "coast")[0] == 0
    assert traces() == []
    current = published(node, "coast")
    assert current is not None
    assert [one.version for one in snapshots(node, "coast")] == [current.version]
    code, out, _ = run("delete", "coast", "--yes")
    assert code == 0
    assert f"deleted {url}/coast" in out.replace("\n", "")
    assert names(node) == {"current.json"}
    assert published(node, "coast") is None
    assert list(shared(node).folder.glob("*.duckdb")) == []
    assert Index.names() == []


@pytest.mark.long
def test_a_run_that_could_not_publish_ends_before_it_reads_anything(
    coast: Path, run: Run, monkeypatch: pytest.MonkeyPatch, machine: Machine, url: str
) -> None:
    theirs = publish(machine("other"), "coast")[0]
    monkeypatch.setenv("GRAPHRAG_DAGSTER_PUBLISHED", url)
    (coast / "institute" / "letter.txt").unlink()
    code, out, told = run("index", "coast")
    assert code == 1
    assert "--take-over" in told
    assert "Reading files" not in out + told
    assert run("index", "coast", "--take-over")[0] == 0
    found = published(machine("node", indexed=False), "coast")
    assert found is not None
    assert found.version != theirs.version
    with pytest.raises(StaleError, match=found.version):
        publish_state(machine("other"), "Late")
