"""What a search looks words up in: the same in memory and in files, and the same as the library that makes it."""

import re
from dataclasses import dataclass
from pathlib import Path

import bm25s
import numpy as np
import pytest
import Stemmer
from bm25s.stopwords import STOPWORDS_EN
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.retrieval.lexical_index import Postings, WordRarity, postings_of
from graphrag_dagster.kernel.retrieval.search_words import STOP_WORDS, stems_of
from graphrag_dagster.kernel.storage import index_cache as kept
from graphrag_dagster.kernel.text.east_asian import has_east_asian
from graphrag_dagster.kernel.text.folding import INDIAN, fold, fold_case

TEXTS = ["The red fox and Zoë's hens", "", "A Red Harbour, red foxes", "the 42 ships of Ziębice", "\ud800 of"]


@dataclass(frozen=True)
class Arrays:
    numbers: NDArray[np.int64]
    by_row: NDArray[np.float32]
    none: NDArray[np.int32]
    size: int


words = st.text(st.sampled_from("abAB éß'\n.л1_"), max_size=30)
# The library knows no words of scripts without blanks, nor that signs of vowels are of their words.
any_text = st.text(max_size=20).filter(
    lambda text: not has_east_asian(text) and not re.search(f"[{INDIAN}]", fold_case(text))
)


def by_the_library(texts: list[str], question: list[str]) -> list[float]:
    index = bm25s.BM25(backend="numpy", csc_backend="numpy", auto_compile=False)
    index.index(tokens(texts), show_progress=False)
    known = [stem for stem in question if stem in index.vocab_dict]
    return index.get_scores(known).tolist() if known else [0.0] * len(texts)


def tokens(texts: list[str]) -> list[list[str]]:
    stemmer = Stemmer.Stemmer("english")
    cased = [fold_case(text) for text in texts]
    found = bm25s.tokenize(cased, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
    return [[fold(stem) for stem in stems] for stems in found]


@given(st.lists(st.one_of(words, any_text), max_size=6))
def test_stems_are_those_of_the_library(texts: list[str]) -> None:
    assert stems_of(texts) == tokens(texts)


def test_words_without_meaning_are_those_of_the_library() -> None:
    assert set(STOPWORDS_EN) == STOP_WORDS


@given(st.lists(words, min_size=1, max_size=8).filter(lambda texts: any(stems_of(texts))), words)
def test_scores_are_those_of_the_library(texts: list[str], question: str) -> None:
    stems = stems_of([question])[0]
    postings = postings_of(texts)
    found = np.zeros(len(texts), dtype=np.float32)
    for stem in stems:
        found[postings.texts[postings.of(stem)]] += postings.scores[postings.of(stem)]
    assert found.tolist() == by_the_library(texts, stems)


def test_what_was_written_is_what_is_opened(tmp_path: Path) -> None:
    for name, made, kind in (
        ("scores", postings_of(TEXTS), Postings),
        ("rarity", WordRarity.of_texts(TEXTS), WordRarity),
    ):
        first, second = tmp_path / name, tmp_path / f"{name} again"
        for folder in (first, second):
            folder.mkdir()
        kept.write_cached(first, made)
        kept.write_cached(second, kept.open_cached(first, kind))
        files = [one.relative_to(first) for one in first.rglob("*") if one.is_file()]
        assert len(files) > 3
        for file in files:
            assert (second / file).read_bytes() == (first / file).read_bytes()
    rarity, again = WordRarity.of_texts(TEXTS), kept.open_cached(tmp_path / "rarity", WordRarity)
    for word in ("red", "harbour", "of", "zoe", "unheard"):
        assert (rarity.of(word), rarity.has_word(word), rarity.is_plain(word)) == (
            *(again.of(word), again.has_word(word)),
            again.is_plain(word),
        )


@pytest.mark.parametrize("least", [0, 1 << 20])
def test_arrays_in_files_are_mapped_where_they_are_large_and_no_file_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    monkeypatch.setattr(kept, "_MAPPED_FROM", least)
    made = Arrays(np.arange(3), np.ones((2, 3), np.float32), np.empty(0, np.int32), 7)
    kept.write_cached(tmp_path, made)
    found = kept.open_cached(tmp_path, Arrays)
    assert found.size == 7
    for name in ("numbers", "by_row", "none"):
        array, again = getattr(made, name), getattr(found, name)
        assert (again.tolist(), again.dtype) == (array.tolist(), array.dtype)
        assert again.flags.writeable == bool(least)
    assert not [one for one in Path("/proc/self/fd").glob("*") if tmp_path in one.resolve().parents]
    (tmp_path / "numbers.npy").write_bytes((tmp_path / "numbers.npy").read_bytes()[:-1])
    with pytest.raises(WarehouseError, match="delete it"):
        kept.open_cached(tmp_path, Arrays)
