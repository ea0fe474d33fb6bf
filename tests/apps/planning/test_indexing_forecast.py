"""What is told before an index: its size, and its time where that is known."""

from pathlib import Path

import pytest

from graphrag_dagster.apps.planning.indexing_forecast import (
    Indexing,
    Indexings,
    engines_of,
    note_indexing,
    outlook,
)
from graphrag_dagster.kernel.models.cache.cache_database import own_database
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from support.corpora import write_corpus


def test_a_corpus_without_a_model_is_foretold_by_its_files_alone(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "corpus.yaml"]
    size = sum(path.stat().st_size for path in files)
    before = outlook("coast")
    assert (before.files, before.bytes, before.words) == (len(files), size, size // 6)
    assert (before.asks, before.calls, before.last) == (None, None, None)
    assert before.seconds is None


def test_of_other_formats_nobody_knows_the_words(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    (folder / "scan.pdf").write_bytes(b"%PDF-1.7 nothing")
    assert outlook("coast").words is None


def test_an_index_is_foretold_by_the_last_of_the_same_engines(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    note_indexing("coast", 12.5)
    last, size = outlook("coast").last, outlook("coast").bytes
    assert last is not None
    assert last == Indexing(last.engines, size, 12.5)
    assert last.engines.endswith(", no model")
    assert outlook("coast").seconds is None
    note_indexing("coast", 3.0, whole=False)
    assert outlook("coast").last == Indexing(last.engines, size, 12.5)
    note_indexing("coast", 3.0)
    assert outlook("coast").last == Indexing(last.engines, size, 3.0)
    (folder / "corpus.yaml").write_text("extraction: {engine: llm}\nmodel: {name: gpt-4.1-mini}\n", "utf-8")
    assert outlook("coast").last is None
    note_indexing("coast", 90.0, whole=False)
    assert outlook("coast").last is not None


@pytest.mark.parametrize(
    ("fixed", "rate"), [(8.0, 0.0), (0.0, 0.001), (8.0, 0.001)], ids=["fixed", "by size", "both"]
)
@pytest.mark.parametrize("ratio", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_the_time_is_told_within_a_factor_of_two_by_an_index_of_like_size(
    home: Path, fixed: float, rate: float, ratio: float
) -> None:
    write_corpus(home / "corpora")
    size = outlook("coast").bytes
    known = Indexings(own_database())
    engines = engines_of(CorpusStore().settings("coast"))
    known.note("other", Indexing(engines, round(size / ratio), fixed + rate * size / ratio))
    known.note("far", Indexing(engines, 1000 * size, 5000.0))
    known.note("by a model", Indexing("extraction llm", size, 9000.0))
    told, true = outlook("coast").seconds, fixed + rate * size
    assert told is not None
    assert true / 2.01 <= told <= true * 2.01


def test_an_index_of_another_size_or_engine_tells_nothing(home: Path) -> None:
    write_corpus(home / "corpora")
    size, known = outlook("coast").bytes, Indexings(own_database())
    engines = engines_of(CorpusStore().settings("coast"))
    known.note("small", Indexing(engines, size // 5, 4.0))
    known.note("large", Indexing(engines, size * 5, 400.0))
    known.note("by a model", Indexing("extraction llm", size, 40.0))
    assert outlook("coast").seconds is None
