"""What differs between two states of a corpus: files, documents, values."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.common.state_comparison import (
    Change,
    FileChanges,
    compare_documents,
    compare_files,
    compare_values,
    flatten,
)

folders = st.dictionaries(
    st.text("abc/", min_size=1, max_size=3), st.none() | st.sampled_from("xyz"), max_size=8
)


@given(folders, folders)
def test_every_path_is_told_once_on_either_side(
    before: dict[str, str | None], now: dict[str, str | None]
) -> None:
    found = compare_files(before, now)
    old, new = [path for path, _ in found.renamed], [path for _, path in found.renamed]
    same = [path for path in before if path in now and before[path] == now[path]]
    assert sorted([*found.removed, *old, *found.edited, *same]) == sorted(before)
    assert sorted([*found.added, *new, *found.edited, *same]) == sorted(now)
    assert found.unchanged == len(same)
    assert all(before[a] == now[b] is not None for a, b in found.renamed)
    assert bool(found) == (before != now)
    assert not {before[path] for path in found.removed} & {now[path] for path in found.added} - {None}


@given(folders, folders)
def test_the_way_back_is_the_mirror_image(before: dict[str, str | None], now: dict[str, str | None]) -> None:
    there, back = compare_files(before, now), compare_files(now, before)
    assert there.edited == back.edited
    assert len(there.renamed) == len(back.renamed)
    assert len(there.added) == len(back.removed)
    assert len(there.removed) == len(back.added)


def test_a_moved_file_is_renamed_and_a_copy_is_added() -> None:
    before = {"a.txt": "1", "b.txt": "2", "c.txt": "3", "d.txt": None}
    now = {"a.txt": "1", "a copy.txt": "1", "moved/b.txt": "2", "c.txt": "4", "e.txt": None}
    found = compare_files(before, now)
    assert found.added == ("a copy.txt", "e.txt")
    assert found.renamed == (("b.txt", "moved/b.txt"),)
    assert found.edited == ("c.txt",)
    assert found.removed == ("d.txt",)
    assert (found.unchanged, len(found)) == (1, 5)


def test_nested_values_are_compared_by_dotted_keys() -> None:
    before = flatten({"a": {"b": 1, "c": {}}, "l": [1, 2]})
    assert before == {"a.b": 1, "l": [1, 2]}
    now = flatten({"a": {"b": 1, "c": {"d": True}}, "l": [2]})
    assert compare_values(before, now) == [Change("a.c.d", None, True), Change("l", [1, 2], [2])]


def counted(*numbers: int) -> dict[str, int]:
    return dict(zip(("added", "edited", "renamed", "removed", "unchanged"), numbers, strict=True))


def _documents(*rows: tuple[str, str, str | None, int | None]) -> pl.DataFrame:
    schema = {"document_id": pl.String, "path": pl.String, "source_id": pl.String, "row": pl.Int32}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_documents_are_edited_where_they_stand() -> None:
    before = _documents(
        ("a", "a.md", None, None),
        ("b", "b.md", None, None),
        ("r0", "t.csv", "k0", 0),
        ("r1", "t.csv", "k1", 1),
    )
    now = _documents(
        ("a", "moved.md", None, None),
        ("x", "b.md", None, None),
        ("n", "t.csv", "k2", 0),
        ("e", "t.csv", "k0", 1),
    )
    assert compare_documents(before, now) == counted(1, 2, 1, 1, 0)
    assert compare_documents(before, before) == counted(0, 0, 0, 0, 4)
    assert compare_documents(before.clear(), now) == counted(4, 0, 0, 0, 0)
    assert compare_documents(before, now.clear()) == counted(0, 0, 0, 4, 0)
    shifted = _documents(("n", "t.csv", None, 0), ("r0", "t.csv", None, 1), ("r1", "t.csv", None, 2))
    rows = _documents(("r0", "t.csv", None, 0), ("r1", "t.csv", None, 1))
    assert compare_documents(rows, shifted) == counted(1, 0, 0, 0, 2)


def test_what_changed_and_what_there_is_are_counted() -> None:
    found = FileChanges(
        added=("a",), edited=("b", "c"), renamed=(("d", "e"),), removed=("f", "g"), unchanged=7
    )
    assert (len(found), found.current_count) == (6, 11)
