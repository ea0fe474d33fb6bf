"""The texts of DuckDB's errors that are read, provoked one by one from the release that is installed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from graphrag_dagster.kernel.storage.duckdb_access import (
    RELEASES,
    holder_of,
    is_busy,
    is_damage,
    line_of,
    missing_column,
    missing_table,
)
from support.damage import holed

_HOLDS = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "made.duckdb"
    with duckdb.connect(str(made)) as connection:
        connection.execute("create table numbers as select range as number from range(300000)")
    return made


@pytest.fixture
def holder(file: Path) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process.pid
    process.communicate()


def refused(query: str, connection: duckdb.DuckDBPyConnection | None = None) -> str:
    with pytest.raises(duckdb.Error) as caught:
        (connection or duckdb.connect()).execute(query).fetchall()
    return str(caught.value)


def test_the_texts_are_those_of_the_release_that_is_installed() -> None:
    release = duckdb.__version__.rpartition(".")[0]
    assert release in RELEASES, "see that the other tests of this file hold, and name the release"


def test_a_file_that_another_process_has_open_is_busy(file: Path, holder: int) -> None:
    with pytest.raises(duckdb.Error) as caught:
        duckdb.connect(str(file))
    assert is_busy(caught.value)
    assert holder_of(caught.value).startswith(f"process {holder} (")


def test_a_file_that_this_process_has_open_otherwise_is_busy(file: Path) -> None:
    with duckdb.connect(str(file)) as connection:
        with pytest.raises(duckdb.Error) as caught:
            duckdb.connect(str(file), read_only=True)
        assert is_busy(caught.value)
        assert holder_of(caught.value) == "another process"
        with pytest.raises(duckdb.Error) as caught:
            connection.execute(f"attach '{file}' as again")
        assert is_busy(caught.value)


def test_a_file_that_is_none_is_not_busy_whatever_its_name(tmp_path: Path) -> None:
    none = tmp_path / "IO Error: Could not set lock on file.duckdb"
    none.write_bytes(b"no database" * 1000)
    with pytest.raises(duckdb.Error) as caught:
        duckdb.connect(str(none))
    assert not is_busy(caught.value)
    assert not is_damage(str(caught.value))


def test_a_block_that_cannot_be_read_is_damage(file: Path) -> None:
    holed(file)
    with pytest.raises(duckdb.Error) as caught, duckdb.connect(str(file)) as connection:
        connection.execute("select sum(number) from numbers").fetchall()
    assert is_damage(str(caught.value))
    assert not is_busy(caught.value)


def test_names_that_there_are_not_are_told() -> None:
    assert missing_table(refused("select * from numbrs")) == "numbrs"
    assert missing_table(refused("select 1 from range(1) where x = 1")) is None
    with duckdb.connect() as connection:
        connection.execute("create table numbers as select 1 as number")
        assert missing_column(refused("select numbr from numbers", connection)) == "numbr"
        assert missing_column(refused("select n.numbr from numbers n", connection)) == "numbr"
        assert missing_column(refused("select * from elsewhere", connection)) is None


def test_the_line_of_a_query_is_told() -> None:
    assert line_of(refused("select 1,\n  2,\n  frm")) == 3
    assert line_of("no line is told: LINE 7:") == 1
