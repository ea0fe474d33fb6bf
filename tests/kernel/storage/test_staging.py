"""Staging in a folder, in a mounted one, and in a bucket."""

import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.errors import ObjectStoreError, SettingsError
from graphrag_dagster.kernel.pipeline.corpus_deletion import delete_derived
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.home import PUBLISHED, STAGING
from graphrag_dagster.kernel.storage.staging import Staging
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.commands import Run
from support.s3_server import BUCKET, SECRET_KEY, S3Server, s3_server

pytest.importorskip("obstore")
pytest.importorskip("moto")
pytest.importorskip("flask_cors")

ROWS = pl.DataFrame({"name": ["Orrin Vask", "Hanna Quill"], "places": [[1, 2], None]})


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture(params=["", "file", "s3"])
def staging(
    request: pytest.FixtureRequest, server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Staging:
    urls = {"": "", "file": f"file://{tmp_path}", "s3": f"s3://{BUCKET}/{tmp_path.name}/"}
    monkeypatch.setenv(STAGING, urls[request.param])
    return Staging.of("coast", tmp_path / "staging").below("extraction")


def test_what_is_put_is_there_until_it_is_cleared(staging: Staging) -> None:
    name = staging.put(ROWS)
    assert staging.put(ROWS) == name != staging.put(ROWS.head(1))
    assert staging.get(name).equals(ROWS)
    alike, other = Staging(staging.root, "coast2").below("extraction"), Staging(staging.root, "coast")
    kept = alike.put(ROWS)
    other.clear()
    assert alike.get(kept).equals(ROWS)
    with pytest.raises((FileNotFoundError, ObjectStoreError)):
        staging.get(name)
    staging.clear()


def test_nothing_is_deleted_that_staging_did_not_write(staging: Staging) -> None:
    name = staging.put(ROWS)
    others = ["notes.parquet", "staging.txt", f"{name}.txt", f"copy-of-{name}"]
    if isinstance(staging.root, Path):
        folder = staging.root / staging.path
        (folder / "photos").mkdir()
        (folder / f"{name}.{os.getpid()}.part").write_bytes(b"of a process that was killed")
        for other in others:
            (folder / other).write_text("mine")
    else:
        for other in others:
            staging.root.put(f"staging/coast/extraction/{other}", b"mine")
    Staging(staging.root, "coast").clear()
    if isinstance(staging.root, Path):
        assert {one.name for one in folder.iterdir()} == {*others, "photos"}
    else:
        there = {Path(one.path).name for one in staging.root.list("staging/coast")}
        assert there == set(others)


PLACES = {
    "home": "is GRAPHRAG_DAGSTER_HOME",
    "home/corpora": "is the corpora",
    "home/corpora/coast": "lies in the corpora",
    "home/warehouse": "is the warehouse",
    "home/warehouse/reports": "lies in the warehouse",
    "": "holds GRAPHRAG_DAGSTER_HOME",
    "home/cache/../corpora": "is the corpora",
    "link": "is the corpora",
    "shared": "is the published snapshots",
    "shared/of us": "lies in the published snapshots",
    "papers": "is the folder of corpus 'papers'",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_place_of_something_else_is_refused_before_anything_is_read(
    place: str, coast: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    (tmp_path / "papers").mkdir()
    CorpusStore().register(tmp_path / "papers")
    (tmp_path / "link").symlink_to(home / "corpora")
    monkeypatch.setenv(PUBLISHED, (tmp_path / "shared").as_uri())
    monkeypatch.setenv(STAGING, f"file://{tmp_path}/{place}".replace(" ", "%20"))
    before = sorted(tmp_path.rglob("*"))
    code, _, told = run("index", "coast", "--again")
    (line,) = [line for line in told.splitlines() if STAGING in line]
    assert (code, PLACES[place] in line, "of its own" in line) == (1, True, True), told
    assert sorted(tmp_path.rglob("*")) == before


def test_a_place_apart_is_no_place_of_something_else(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PUBLISHED, f"s3://{BUCKET}/shared")
    for url in (
        f"s3://{BUCKET}/shared-by-runs",
        f"s3://{BUCKET}2",
        (home / "runs").as_uri(),
        tmp_path.as_uri() + "2",
    ):
        Path(f"{tmp_path}2").mkdir(exist_ok=True)
        (home / "runs").mkdir(exist_ok=True)
        monkeypatch.setenv(STAGING, url)
        assert Warehouse().staging("coast").path == "coast"
    for url in (f"s3://{BUCKET}", f"s3://{BUCKET}/shared/", f"s3://{BUCKET}/shared/runs"):
        monkeypatch.setenv(STAGING, url)
        with pytest.raises(SettingsError, match="the published snapshots"):
            Warehouse().staging("coast")


def test_no_folder_is_left(tmp_path: Path) -> None:
    staging = Staging.of("coast", tmp_path / "staging")
    one, other = staging.below("extraction"), staging.below("reports")
    one.put(ROWS)
    name = other.put(ROWS)
    one.clear()
    assert other.get(name).equals(ROWS)
    other.clear()
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_is_emptied_with_its_corpus(
    server: S3Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STAGING, f"s3://{BUCKET}/deleted")
    left = Warehouse().staging("coast").below("extraction")
    name = left.put(ROWS)
    delete_derived(Warehouse(), "coast")
    with pytest.raises(ObjectStoreError, match=rf"{name} was deleted while a step was using it; .*{STAGING}"):
        left.get(name)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("s3://no-such-bucket/runs", f"there is no such bucket; create it, or correct {STAGING}"),
        ("http://127.0.0.1/runs", f"{STAGING} is 'http://127.0.0.1/runs'; it must be s3://"),
        (f"s3://user:{SECRET_KEY}@{BUCKET}/runs", f"{STAGING} has a user, a query or a fragment"),
        ("s3://[runs", f"{STAGING} is 's3://\\[runs'; it must be s3://"),
        ("file:///a%00b", f"{STAGING} is 'file:///a%00b'; it must be s3://"),
        (
            "file:///no/such/folder",
            f"{STAGING} is file:///no/such/folder, which is no folder; create or mount it",
        ),
    ],
)
def test_what_cannot_be_used_is_told_by_the_name_of_the_variable(
    server: S3Server, url: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STAGING, url)
    with pytest.raises((ObjectStoreError, SettingsError), match=told) as error:
        Staging.of("coast", tmp_path).put(ROWS)
    assert SECRET_KEY not in str(error.value)


def test_a_store_that_is_away_is_told(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STAGING, f"s3://{BUCKET}/away")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDAWAY")
    server.before = lambda _method, _path: False
    try:
        with pytest.raises(ObjectStoreError, match=f"s3://{BUCKET}/away does not answer at 127.0.0.1"):
            Staging.of("coast", tmp_path).put(ROWS)
    finally:
        server.before = lambda _method, _path: True
