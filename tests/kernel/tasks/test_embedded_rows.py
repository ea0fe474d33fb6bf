"""Rows have the vectors of their texts, and no text is embedded twice."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.tasks.embedded_rows import embed_rows, text_hash, text_of_entity, text_of_report


class Lengths:
    """The vector of a text is its length and 1; notes what it is given at once."""

    name = "lengths"

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.batches.append(list(texts))
        return np.array([[len(text), 1] for text in texts], dtype=np.float32).reshape(len(texts), 2)


TEXTS = st.lists(st.text("ab", max_size=3), max_size=8)


@given(TEXTS, TEXTS, st.integers(1, 4))
def test_every_row_has_the_vector_of_its_text_and_each_text_is_given_once(
    before: list[str], now: list[str], at_once: int
) -> None:
    def made(texts: list[str], known: pl.DataFrame | None) -> tuple[pl.DataFrame, list[list[str]]]:
        embedder = Lengths(at_once)
        keys = pl.Series("id", [f"k{place}" for place in range(len(texts))], dtype=pl.String)
        return embed_rows(keys, pl.Series(texts, dtype=pl.String), embedder, known), embedder.batches

    known, _ = made(before, None)
    found, batches = made(now, known)
    assert found["id"].to_list() == [f"k{place}" for place in range(len(now))]
    assert found["text_hash"].to_list() == [text_hash(text) for text in now]
    assert found["vector"].to_list() == [[len(text), 1.0] for text in now]
    given_texts = [text for batch in batches for text in batch if text != "dimension"]
    assert sorted(given_texts) == sorted(set(now) - set(before))
    assert all(len(batch) <= at_once for batch in batches)
    assert found.equals(made(now, None)[0])


def test_vectors_of_another_embedder_are_not_taken() -> None:
    keys, texts = pl.Series("id", ["k"]), pl.Series(["a"])
    known = embed_rows(keys, texts, Lengths(1)).with_columns(embedder=pl.lit("other"))
    embedder = Lengths(1)
    assert embed_rows(keys, texts, embedder, known)["embedder"].to_list() == ["lengths"]
    assert embedder.batches == [["a"]]


def test_what_stands_for_entities_and_reports() -> None:
    entities = pl.DataFrame({"title": ["A"], "description": ["is b"]})
    assert text_of_entity(entities).to_list() == ["A: is b"]
    reports = pl.DataFrame({"content": ["It is so [Data: Entities (4)]."]})
    assert text_of_report(reports).to_list() == ["It is so."]


@pytest.mark.parametrize("text", ["", "a", "\ud800"])
def test_a_hash_has_32_digits(text: str) -> None:
    assert len(text_hash(text)) == 32
    assert int(text_hash(text), 16) != int(text_hash(text + "b"), 16)
