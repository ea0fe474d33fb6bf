"""``sql``: any query ends with its rows or with one clear error, within its limits."""

import json
from pathlib import Path

import pytest

from support.commands import Run
from support.homes import enter_home


@pytest.fixture
def indexed(indexed_home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    enter_home(monkeypatch, indexed_home)
    return run


TYPES = """
select [1, null] as l, {'a': {'b': 1}} as s, map {'k': [2]} as m, interval 3 month as i,
    170141183460469231731687303715884105727::hugeint as h, 1.50::decimal(5, 2) as d, '\\xff'::blob as b,
    'infinity'::timestamp as t, '290000-01-01'::date as y, '12:00:00+02'::timetz as z, '101'::bit as bits,
    'a'::enum('a', 'b') as e, union_value(x := 3) as u, 'nan'::double as f, true as yes, null as nothing,
    '8b2f4f1e-0000-4000-8000-000000000000'::uuid as id, 1 as twice, 2 as twice, '' as "empty"
"""


def test_every_type_of_result_is_told_as_json_csv_and_table(indexed: Run, tmp_path: Path) -> None:
    code, out, err = indexed("sql", "coast", TYPES, "--json")
    assert code == 0, err
    (row,) = json.loads(out)
    assert row == {
        "l": [1, None],
        "s": {"a": {"b": 1}},
        "m": {"k": [2]},
        "i": "3 months",
        "h": 170141183460469231731687303715884105727,
        "d": "1.50",
        "b": "\\xFF",
        "t": "infinity",
        "y": "290000-01-01",
        "z": "12:00:00+02",
        "bits": "101",
        "e": "a",
        "u": {"x": 3},
        "f": "NaN",
        "yes": True,
        "nothing": None,
        "id": "8b2f4f1e-0000-4000-8000-000000000000",
        "twice": 1,
        "twice_2": 2,
        "empty": "",
    }
    target = tmp_path / "types.csv"
    assert indexed("sql", "coast", TYPES, "--csv", str(target))[0] == 0
    names, values = target.read_text().splitlines()
    assert names.endswith("twice,twice_2,empty")
    assert values.startswith('"[1, null]","{""a"": {""b"": 1}}","{""k"": [2]}",3 months,1701')
    assert values.endswith('true,,8b2f4f1e-0000-4000-8000-000000000000,1,2,""')
    code, out, _ = indexed("sql", "coast", TYPES)
    assert code == 0
    assert "290000-01-01" in out


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("select 1 as a where false", []),
        ("describe graph.entities", None),
        ("summarize select 1 as a", None),
        ("explain select 1", None),
        ("select 1 as a; -- done", [{"a": 1}]),
        ("from (values (2), (1)) t(a) order by a", [{"a": 1}, {"a": 2}]),
        ("select a from (select unnest([1, 3, 2]) as a) order by a desc", [{"a": 3}, {"a": 2}, {"a": 1}]),
        ("with t as (select 'x' as a) select * from t", [{"a": "x"}]),
    ],
)
def test_what_only_reads_is_run(indexed: Run, query: str, rows: list[object] | None) -> None:
    code, out, err = indexed("sql", "coast", query, "--json")
    assert code == 0, err
    assert rows is None or json.loads(out) == rows


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t", "--seconds"),
        ("select count(*) from range(100000000) a, range(1000000) b", "--seconds"),
        ("select length(repeat('x', 2000000000))", "--"),
        ("select list_sort(range(100000000))", "--memory-mb"),
        ("select string_agg(repeat('x', 1000000), ',') from range(10000)", "--memory-mb"),
        ("select " + "(" * 20_000 + "1" + ")" * 20_000, "error: "),
    ],
)
def test_what_takes_too_much_is_stopped(indexed: Run, query: str, words: str) -> None:
    seconds = "1" if words == "--seconds" else "20"
    code, out, err = indexed("sql", "coast", query, "--seconds", seconds, "--memory-mb", "100")
    assert (code, out) == (1, "")
    assert words in err
    assert "Traceback" not in err


def test_the_first_rows_of_an_endless_result_are_there_at_once(indexed: Run) -> None:
    code, out, _ = indexed("sql", "coast", "select * from range(1000000000000)")
    assert code == 0
    assert "│    99 │" in out
    assert "there is more; --json or --csv FILE gives all" in out
    code, _, err = indexed(
        "sql", "coast", "select repeat('x', 1000) from range(1000000)", "--json", "--memory-mb", "50"
    )
    assert code == 1
    assert "the result has more than 50 MB" in err


def test_many_columns_are_printed_below_each_other(indexed: Run) -> None:
    columns = ", ".join(f"{number} as c{number}" for number in range(1500))
    code, out, err = indexed("sql", "coast", f"select {columns} from range(2)")
    assert code == 0, err
    assert "row 2" in out
    assert "  c499: 499" in out
    assert "there is more" in out


def test_long_cells_are_cut_and_nothing_commands_the_terminal(indexed: Run) -> None:
    code, out, _ = indexed("sql", "coast", "select repeat('x', 5000) as a, chr(27) || '[2J[red]' as b")
    assert code == 0
    assert out.count("x") == 1001  # with that of \x1b
    assert "…" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select titel from graph.entities", ['"title"', "columns of graph.entities: entity_id"]),
        ("select * from entitis", ["graph.entities"]),
        ("select * from grph.entities", ["nearest tables: graph.entities"]),
        ("select * from paths.study", ["paths.study is not made yet: graphrag-dagster study NAME paths"]),
        ("select * from paths.summary", ["paths.summary is not made yet: graphrag-dagster paths NAME"]),
        ("select nofun(1)", ["nofun"]),
        ("select ?", ["parameter"]),
        ("select '\ud800'", ["the query failed"]),
        ("select '" + "x" * 5000, ["the query failed"]),
    ],
)
def test_what_duckdb_refuses_is_told_with_what_was_meant(indexed: Run, query: str, words: list[str]) -> None:
    code, out, err = indexed("sql", "coast", query)
    assert (code, out) == (1, "")
    for word in words:
        assert word in err
    assert len(err) < 2500


def test_formulas_in_a_csv_are_counted_and_made_safe_where_that_is_wanted(
    indexed: Run, tmp_path: Path
) -> None:
    query = "select unnest(['=1+1', '@x', '-5', 'a,b', 'c']) as t, -5 as n"
    target = tmp_path / "out.csv"
    code, out, _ = indexed("sql", "coast", query, "--csv", str(target))
    assert code == 0
    assert "3 cells begin as formulas do: use --formula-safe" in out
    assert target.read_text() == 't,n\n=1+1,-5\n@x,-5\n-5,-5\n"a,b",-5\nc,-5\n'
    assert indexed("sql", "coast", query, "--csv", str(target), "--formula-safe")[0] == 0
    assert target.read_text() == "t,n\n'=1+1,-5\n'@x,-5\n'-5,-5\n\"a,b\",-5\nc,-5\n"


@pytest.mark.parametrize("place", [".", "no/such/folder/x.csv", "x" * 300, "file/x.csv"])
def test_a_csv_that_cannot_be_written_is_one_line(indexed: Run, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    before = sorted(tmp_path.iterdir())
    code, out, err = indexed("sql", "coast", "select 1", "--csv", f"{tmp_path}/{place}")
    assert (code, out) == (1, "")
    assert f"error: {tmp_path}" in err
    assert ".tmp" not in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_query_that_fails_leaves_the_old_csv(indexed: Run, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    target = folder / "out.csv"
    target.write_text("before")
    query = "select case when i < 5000 then i else error('stop') end from range(9000) t(i)"
    assert indexed("sql", "coast", query, "--csv", str(target))[0] == 1
    assert target.read_text() == "before"
    assert list(folder.iterdir()) == [target]
