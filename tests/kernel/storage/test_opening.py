import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import run

import duckdb
import pytest

from graphrag_dagster.kernel.storage.duckdb_access import (
    Opened,
    attach,
    free_memory,
    is_busy,
    keep_open,
    open_alone,
    open_shared,
    writing_instance,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / 'it\'s a "file".duckdb'
    made = open_shared(path, read_only=False)
    made.connection.execute("create table numbers as select 1 as number")
    made.close()
    return path


def numbers(opened: Opened) -> list[int]:
    return [number for (number,) in opened.connection.execute("from numbers order by all").fetchall()]


def add(path: Path, number: int) -> None:
    opened = open_shared(path, read_only=False)
    opened.connection.execute("insert into numbers values (?)", [number])
    opened.close()


def test_a_closed_file_is_whole_and_free(file: Path) -> None:
    add(file, 2)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    with duckdb.connect(str(file)) as alone:
        assert alone.execute("select count(*) from numbers").fetchall() == [(2,)]


def storage_of(path: Path) -> str:
    """The storage format that DuckDB finds in a file."""
    with duckdb.connect() as connection:
        attach(connection, path, "found", read_only=True)
        told = connection.execute("select tags from duckdb_databases() where database_name = 'found'")
        return str((told.fetchone() or ({},))[0]["storage_version"])


def test_a_file_is_made_in_a_format_that_is_opened_quickly_and_stays_in_its_own(
    file: Path, tmp_path: Path
) -> None:
    add(file, 2)
    assert storage_of(file) == "v1.2.0+"
    alone = tmp_path / "alone.duckdb"
    open_alone(alone, read_only=False, config={"threads": 1}).close()
    assert storage_of(alone) == "v1.2.0+"
    for version in ("v1.0.0", "v1.5.0"):
        other = tmp_path / f"{version}.duckdb"
        with duckdb.connect(config={"storage_compatibility_version": version}) as connection:
            connection.execute(f"attach '{other}' as other")
            connection.execute("create table other.numbers as select 1 as number")
        add(other, 2)
        opened = open_alone(other, read_only=False, config={"threads": 1})
        assert numbers(opened) == [1, 2]
        opened.close()
        assert storage_of(other) == f"{version}+"


def compressions_of(path: Path, table: str) -> set[str]:
    """How DuckDB has compressed the columns of a table."""
    with duckdb.connect(str(path), read_only=True) as connection:
        found = connection.execute(f"select distinct compression from pragma_storage_info('{table}')")
        return {name for (name,) in found.fetchall()}


def test_no_file_is_written_with_the_compression_that_takes_half_of_the_time(tmp_path: Path) -> None:
    texts = "create table {} as select 'The harbour of ' || range || ' was seen' as t from range(20000)"
    with duckdb.connect(str(tmp_path / "otherwise.duckdb")) as connection:
        connection.execute(texts.format("words"))
    assert {"FSST", "DICT_FSST"} & compressions_of(tmp_path / "otherwise.duckdb", "words")
    often, alone, attached = (tmp_path / f"{name}.duckdb" for name in ("often", "alone", "attached"))
    for opened in (
        open_shared(often, read_only=False),
        open_alone(alone, read_only=False, config={"threads": 1}),
    ):
        opened.connection.execute(texts.format("words"))
        opened.close()
    with writing_instance({"threads": 1}) as connection:
        attach(connection, attached, "other", read_only=False)
        connection.execute(texts.format("other.words"))
    for file in (often, alone, attached):
        assert not {"FSST", "DICT_FSST"} & compressions_of(file, "words")


def test_what_was_not_committed_is_not_kept(file: Path) -> None:
    opened = open_shared(file, read_only=False)
    opened.connection.begin()
    opened.connection.execute("insert into numbers values (2)")
    opened.close()
    again = open_shared(file, read_only=True)
    assert numbers(again) == [1]
    again.close()


def test_openings_to_read_share_the_file_and_end_one_by_one(file: Path) -> None:
    first, second = open_shared(file, read_only=True), open_shared(file, read_only=True)
    with pytest.raises(duckdb.Error, match="read-only"):
        first.connection.execute("insert into numbers values (2)")
    first.close()
    assert numbers(second) == [1]
    with pytest.raises(duckdb.Error) as refused:
        open_shared(file, read_only=False)
    assert is_busy(refused.value)
    with pytest.raises(duckdb.Error) as refused:
        open_alone(file, read_only=False, config={"threads": 1})
    assert is_busy(refused.value)
    second.close()
    add(file, 2)


def test_a_file_that_is_open_alone_is_busy_until_it_is_closed(file: Path) -> None:
    alone = open_alone(file, read_only=False, config={"threads": 1})
    with pytest.raises(duckdb.Error) as refused:
        open_shared(file, read_only=True)
    assert is_busy(refused.value)
    alone.close()
    add(file, 2)


def test_another_file_is_opened_beside_one_that_is_open(file: Path, tmp_path: Path) -> None:
    first = open_shared(file, read_only=True)
    other = open_shared(tmp_path / "other.duckdb", read_only=False)
    other.connection.execute("create table numbers as select 7 as number")
    assert (numbers(first), numbers(other)) == ([1], [7])
    other.close()
    first.close()
    again = open_shared(tmp_path / "other.duckdb", read_only=True)
    assert numbers(again) == [7]
    again.close()


def test_what_is_no_database_is_told_and_leaves_nothing_open(file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.duckdb"
    broken.write_text("no database" * 1000)
    for _ in range(2):
        with pytest.raises(duckdb.Error) as refused:
            open_shared(broken, read_only=True)
        assert not is_busy(refused.value)
    add(file, 2)


def kept(opened: Opened) -> int:
    told = opened.connection.execute("select sum(memory_usage_bytes) from duckdb_memory()").fetchone()
    assert told
    return int(told[0])


def test_what_duckdb_keeps_of_a_file_in_memory_goes_when_nobody_uses_it(file: Path) -> None:
    with keep_open():
        first = open_shared(file, read_only=False)
        first.connection.execute("create table large as select hash(range) as number from range(20_000_000)")
        limit = first.connection.execute("select current_setting('memory_limit')").fetchone()
        assert kept(first) > 64_000_000
        first.close()
        second = open_shared(file, read_only=True)
        assert kept(second) < 40_000_000
        assert second.connection.execute("select current_setting('memory_limit')").fetchone() == limit
        second.close()


def test_what_duckdb_keeps_goes_between_two_queries_of_the_only_user(file: Path) -> None:
    only = open_shared(file, read_only=False)
    only.connection.execute("begin")
    only.connection.execute("create table large as select hash(range) as number from range(20_000_000)")
    limit = only.connection.execute("select current_setting('memory_limit')").fetchone()
    other = open_shared(file, read_only=True)
    free_memory(file)
    assert kept(only) > 64_000_000
    other.close()
    free_memory(file)
    assert kept(only) < 40_000_000
    assert only.connection.execute("select current_setting('memory_limit')").fetchone() == limit
    assert only.connection.execute("select count(*) from large").fetchone() == (20_000_000,)
    only.close()


def test_temporary_tables_and_settings_of_one_opening_are_not_those_of_the_next(file: Path) -> None:
    first = open_shared(file, read_only=False)
    first.connection.execute("create temporary table passing as select 1 as number")
    first.close()
    second = open_shared(file, read_only=False)
    with pytest.raises(duckdb.CatalogException):
        second.connection.execute("from passing")
    second.close()


def test_a_file_that_stays_open_serves_the_next_and_whoever_is_let_in(file: Path) -> None:
    with keep_open():
        add(file, 2)
        reader = open_shared(file, read_only=True)
        assert numbers(reader) == [1, 2]
        reader.close()
        # This process itself may open it in another way at once.
        alone = open_alone(file, read_only=False, config={"threads": 1})
        alone.connection.execute("insert into numbers values (3)")
        alone.close()
        add(file, 4)
        with duckdb.connect() as other:
            attach(other, file, "other", read_only=True)
            assert other.execute("select count(*) from other.numbers").fetchall() == [(4,)]
        add(file, 5)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    with duckdb.connect(str(file)) as alone_at_last:
        assert alone_at_last.execute("select count(*) from numbers").fetchall() == [(5,)]


COUNTED = """
import sys, duckdb, time
for _ in range(200):
    try:
        with duckdb.connect(sys.argv[1]) as connection:
            print(connection.execute("select count(*) from numbers").fetchall())
        break
    except duckdb.IOException:
        time.sleep(0.05)
"""


def test_a_file_that_stays_open_is_left_to_another_process_after_a_moment(file: Path) -> None:
    with keep_open():
        add(file, 2)
        told = run([sys.executable, "-c", COUNTED, str(file)], check=True, capture_output=True, timeout=60)
        assert told.stdout == b"[(2,)]\n"
        add(file, 3)


def test_a_file_that_took_the_place_of_one_that_stays_open_is_the_one_that_is_opened(
    file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.duckdb"
    with duckdb.connect(str(other)) as connection:
        connection.execute("create table numbers as select 7 as number")
    with keep_open():
        add(file, 2)
        other.replace(file)
        reader = open_shared(file, read_only=True)
        assert numbers(reader) == [7]
        reader.close()


def test_many_threads_open_and_close_at_once(file: Path) -> None:
    def read(_: int) -> list[int]:
        opened = open_shared(file, read_only=True)
        try:
            return numbers(opened)
        finally:
            opened.close()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(200))) == [[1]] * 200
    add(file, 2)


FORKS = """
import multiprocessing, sys
from pathlib import Path
from graphrag_dagster.kernel.storage.duckdb_access import open_shared

def numbers():
    opened = open_shared(Path(sys.argv[1]), read_only=True)
    return opened, opened.connection.execute("from numbers").fetchall()

def read_or_fail():
    opened, found = numbers()
    assert found == [(1,)]
    opened.close()

opened, found = numbers()
child = multiprocessing.get_context("fork").Process(target=read_or_fail)
child.start()
child.join(60)
assert child.exitcode == 0
assert opened.connection.execute("from numbers").fetchall() == [(1,)]
opened.close()
"""


def test_a_forked_process_opens_for_itself(file: Path) -> None:
    """A fresh interpreter forks: one that has run thousands of tests may be too large to be doubled."""
    run([sys.executable, "-c", FORKS, str(file)], check=True, timeout=120)
    add(file, 2)
