import csv
import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.questions.context.context_chunks import (
    HEADER,
    fill_chunks,
    render,
    shuffle_units,
)
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit

TEXTS = st.lists(st.text(alphabet="ab |,\n\"'", max_size=60), max_size=20)


def words(text: str) -> int:
    return len(text.split())


def clumsy(text: str) -> int:
    """Tokens that do not add up: the whole has one more or fewer than its parts, as byte pairs do."""
    return len(text) // 3 + text.count("a\n")


def units_of(texts: list[str]) -> list[ContextUnit]:
    return [ContextUnit(number, f"t{number}", text) for number, text in enumerate(texts, start=1)]


@pytest.mark.parametrize("count", [len, clumsy])
@given(texts=TEXTS, limit=st.integers(32, 120), seed=st.integers(0, 9))
def test_every_unit_is_in_exactly_one_chunk_within_the_limit(count, texts, limit, seed) -> None:
    units = units_of(texts)
    chunks = fill_chunks(units, count=count, limit=limit, seed=seed)
    assert sorted(unit.id for chunk in chunks for unit in chunk.units) == [unit.id for unit in units]
    for chunk in chunks:
        assert count(chunk.rendered) <= limit
        assert chunk.rendered == render(chunk.units)
        assert len(chunk.row_tokens) == len(chunk.units)
    assert [u.id for chunk in chunks for u in chunk.units] == [u.id for u in shuffle_units(units, seed)]
    assert chunks == fill_chunks(units[::-1], count=count, limit=limit, seed=seed)


@given(texts=TEXTS, limit=st.integers(32, 120))
def test_a_chunk_is_full_before_the_next_begins(texts: list[str], limit: int) -> None:
    chunks = fill_chunks(units_of(texts), count=len, limit=limit, seed=3)
    whole = {unit.id: unit for unit in units_of(texts)}
    for before, after in pairwise(chunks):
        assert len(render([*before.units, whole[after.units[0].id]])) > limit


@given(texts=TEXTS)
def test_no_text_can_forge_a_row(texts: list[str]) -> None:
    units = units_of(texts)
    header, *rows = csv.reader(io.StringIO(render(units)), delimiter="|")
    assert "|".join(header) == HEADER
    assert rows == [[str(unit.id), unit.title, unit.text] for unit in units]


def test_the_order_depends_on_the_seed_and_the_units_alone() -> None:
    units = units_of([str(number) for number in range(30)])
    orders = [[unit.id for unit in shuffle_units(some, seed)] for some, seed in ((units, 1), (units[::-1], 1), (units, 2))]  # fmt: skip
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != sorted(orders[0])
    fewer = [number for number in orders[0] if number != 7]
    assert [unit.id for unit in shuffle_units([u for u in units if u.id != 7], 1)] == fewer


def test_a_unit_that_is_too_long_is_cut_with_its_sentences_and_a_hopeless_limit_named() -> None:
    text = "One two three. " + "word " * 100 + "Last words here."
    sentences = (("One two three.", None), ("Last words here.", None))
    (chunk,) = fill_chunks([ContextUnit(1, "t", text, sentences)], count=words, limit=20, seed=0)
    assert words(chunk.rendered) == 20
    assert chunk.units[0].sentences == sentences[:1]
    with pytest.raises(QuestionError, match=r"search\.context_tokens"):
        fill_chunks([ContextUnit(1, "t", text)], count=len, limit=12, seed=0)
