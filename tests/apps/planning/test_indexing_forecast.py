"""What is told before an index: its size, and a range of its time."""

from pathlib import Path

import pytest

from graphrag_dagster.apps.planning.indexing_forecast import (
    Indexing,
    extractive_seconds,
    model_seconds,
    note_indexing,
    outlook,
)
from graphrag_dagster.kernel.models.call_estimates import Estimate, Range, exactly
from support.corpora import write_corpus


def test_the_time_of_an_index_is_a_range_that_grows_with_what_is_to_be_done() -> None:
    small, large = extractive_seconds(1000), extractive_seconds(10_000_000)
    assert 0 < small.low < small.expected < small.high < large.low
    work = Estimate("reports", "t", "m", exactly(10), exactly(16_000), exactly(2000))
    one, many = (model_seconds([work], 1 / 3, calls) for calls in (1, 16))
    assert one == exactly(1000.0)
    assert (many.low, many.expected, many.high) == pytest.approx((62.5, 250.0, 1000.0))
    assert model_seconds([work, work], 1 / 3, 1) == exactly(2000.0)
    assert model_seconds([], 1 / 3, 16) == exactly(0.0)


def test_a_run_and_a_megabyte_take_what_was_measured() -> None:
    assert extractive_seconds(0) == Range(0.6 * 8, 8.0, 3.0 * 8)
    assert extractive_seconds(2_000_000).expected == 8.0 + 2 * 19.0


def test_a_corpus_without_a_model_is_foretold_by_its_files_alone(home: Path) -> None:
    folder = write_corpus(home / "corpora")
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "corpus.yaml"]
    size = sum(path.stat().st_size for path in files)
    before = outlook("coast")
    assert (before.files, before.bytes, before.words) == (len(files), size, size // 6)
    assert (before.asks, before.calls, before.last) == (None, None, None)
    assert before.seconds == extractive_seconds(size)


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
    note_indexing("coast", 3.0)
    assert outlook("coast").last == Indexing(last.engines, size, 3.0)
    (folder / "corpus.yaml").write_text("extraction: {engine: llm}\nmodel: {name: gpt-4.1-mini}\n", "utf-8")
    assert outlook("coast").last is None
