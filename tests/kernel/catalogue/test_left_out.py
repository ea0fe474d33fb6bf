"""What ``benchmarks/left_out.py`` counts as right, and how it keeps questions apart."""

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def left_out() -> ModuleType:
    folder = str(Path(__file__).parents[3] / "benchmarks")
    # At the end, since scripts have names that other modules have, too.
    sys.path.append(folder)
    try:
        import left_out
    finally:
        sys.path.remove(folder)
    return left_out


def test_the_plain_questions_are_what_is_told_of_them(left_out: ModuleType) -> None:
    for name in ("sample", "datasette", "httpx", "beige"):
        asked = left_out.SETS[f"plain-{name}"].questions()
        assert len({one.text for one in asked}) == 15
        assert sum(not one.gold for one in asked) == 2


def test_halves_depend_on_ids_alone_and_are_equal(left_out: ModuleType) -> None:
    in_halves = sys.modules["question_sets"].in_halves
    asked = [left_out.Question(str(number), "?", []) for number in range(10)]
    halves = {one.id: one.half for one in in_halves(asked)}
    assert sorted(halves.values()) == ["chosen"] * 5 + ["reported"] * 5
    assert {one.id: one.half for one in in_halves(asked[::-1])} == halves


def test_a_sample_is_a_part_of_a_larger_one(left_out: ModuleType) -> None:
    asked = [left_out.Question(str(number), "?", [], "chosen") for number in range(20)]
    few, more = (left_out.sample(asked, "all", most) for most in (5, 10))
    assert (len(few), len(more)) == (5, 10)
    assert {one.id for one in few} < {one.id for one in more}
    assert left_out.sample(asked, "reported", None) == []


@pytest.mark.parametrize(
    ("start", "text", "right"),
    [(10, "x" * 10, True), (0, "x" * 100, True), (15, "x" * 10, True), (16, "x" * 10, False)],
)
def test_words_are_gold_that_share_half_of_the_shorter(
    left_out: ModuleType, start: int, text: str, right: bool
) -> None:
    sets = sys.modules["question_sets"]
    gold = sets.Characters(sets.Stretch("a.txt", 10, 20))
    assert gold.holds(left_out.Piece("a.txt", start, text)) is right
    assert not gold.holds(left_out.Piece("b.txt", start, text))


def test_passages_count_by_share_and_other_gold_by_any(left_out: ModuleType) -> None:
    row = _row(left_out, units=[0, 6], tokens=[900, 5_000])
    for name, share in (("musique-titled", 0.5), ("podcast", 1.0)):
        found = left_out.measures(name)
        assert (found["recall@5"](row), found["recall@8"](row)) == (share, 1.0)
        assert (found["context 4,000"](row), found["context 8,000"](row)) == (share, 1.0)


def test_only_questions_of_both_runs_are_compared(left_out: ModuleType) -> None:
    before = [_row(left_out, id="1", statement=None), _row(left_out, id="2", statement=5)]
    after = [_row(left_out, id="2", statement=1), _row(left_out, id="3", statement=0)]
    (cells,) = left_out.compared(before, after)
    columns = ["set", "method", "n", *left_out.COLUMNS]
    shown = dict(zip(columns, cells, strict=False))
    assert shown["n"] == "1"
    assert (shown["first"], shown["first 3"]) == ("0.000 → 0.000", "0.000 → 1.000")


def test_settings_are_told_by_dotted_keys(left_out: ModuleType) -> None:
    given = ["search.reranker=none", "search.shares.reports=0.2", "embeddings.embedder=static"]
    assert left_out.parsed_settings(given) == {
        "search": {"reranker": "none", "shares": {"reports": 0.2}},
        "embeddings": {"embedder": "static"},
    }


def _row(left_out: ModuleType, **changes: Any) -> Any:
    usual = left_out.Row(
        set="podcast",
        method="local",
        id="1",
        half="chosen",
        answerable=True,
        refused=False,
        statement=0,
        units=[0],
        tokens=[1],
        seconds=0.1,
    )
    return replace(usual, **changes)
