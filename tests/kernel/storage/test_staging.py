"""Staging in a folder, in a mounted one, and in a bucket."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.errors import ObjectStoreError, SettingsError
from graphrag_dagster.kernel.pipeline.corpus_deletion import delete_derived
from graphrag_dagster.kernel.storage.home import STAGING
from graphrag_dagster.kernel.storage.staging import Staging
from graphrag_dagster.kernel.storage.warehouse import Warehouse
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
