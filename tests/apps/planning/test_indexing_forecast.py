"""What is told before an index: its size, and its time where that is known."""

from pathlib import Path

import pytest

from graphrag_dagster.apps.planning.indexing_forecast import (
    IndexEstimate,
    Indexing,
    Indexings,
    engines_of,
    index_estimate,
    note_indexing,
)
from graphrag_dagster.kernel.models.cache.cache_database import own_database
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from support.corpora import write_corpus


def test_a_corpus_without_a_model_is_foretold_by_its_files_alone(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "corpus.yaml"]
    size = sum(path.stat().st_size for path in files)
    assert index_estimate("coast") == IndexEstimate(len(files), size)


def test_an_index_is_foretold_by_the_last_of_the_same_engines(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    note_indexing("coast", 12.5)
    assert engines_of(CorpusStore().settings("coast")).endswith(", no model")
    assert index_estimate("coast").seconds == 12.5
    note_indexing("coast", 3.0, whole=False)
    assert index_estimate("coast").seconds == 12.5
    note_indexing("coast", 3.0)
    assert index_estimate("coast").seconds == 3.0
    (folder / "corpus.yaml").write_text("extraction: {engine: llm}\nmodel: {name: gpt-4.1-mini}\n", "utf-8")
    before = index_estimate("coast")
    assert before.seconds is None
    assert before.calls
    note_indexing("coast", 90.0, whole=False)
    after = index_estimate("coast")
    assert (after.seconds, after.calls) == (90.0, None)


@pytest.mark.parametrize(
    ("fixed", "rate"), [(8.0, 0.0), (0.0, 0.001), (8.0, 0.001)], ids=["fixed", "by size", "both"]
)
@pytest.mark.parametrize("ratio", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_the_time_is_told_within_a_factor_of_two_by_an_index_of_like_size(
    home: Path, fixed: float, rate: float, ratio: float
) -> None:
    write_corpus(home / "corpora")
    size = index_estimate("coast").bytes
    known = Indexings(own_database())
    engines = engines_of(CorpusStore().settings("coast"))
    known.note("other", Indexing(engines, round(size / ratio), fixed + rate * size / ratio))
    known.note("far", Indexing(engines, 1000 * size, 5000.0))
    known.note("by a model", Indexing("extraction llm", size, 9000.0))
    told, true = index_estimate("coast").seconds, fixed + rate * size
    assert told is not None
    assert true / 2.01 <= told <= true * 2.01


def test_an_index_of_another_size_or_engine_tells_nothing(home: Path) -> None:
    write_corpus(home / "corpora")
    size, known = index_estimate("coast").bytes, Indexings(own_database())
    engines = engines_of(CorpusStore().settings("coast"))
    known.note("small", Indexing(engines, size // 5, 4.0))
    known.note("large", Indexing(engines, size * 5, 400.0))
    known.note("by a model", Indexing("extraction llm", size, 40.0))
    assert index_estimate("coast").seconds is None
