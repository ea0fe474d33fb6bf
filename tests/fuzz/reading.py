"""What must hold of a folder of files, whatever they are: read as the corpus asset does, and cut."""

import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl

from graphrag_dagster.engines.extractive.graph_extractor import ExtractiveGraphExtractor
from graphrag_dagster.engines.extractive.parsing.spacy_pipeline import load_pipeline
from graphrag_dagster.kernel.common.file_limits import FileLimits
from graphrag_dagster.kernel.documents.documents import CorpusContents
from graphrag_dagster.kernel.documents.text_units import check_units, cut_text_units
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tasks.task_ports import TextUnit
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.resources.io_manager import data_version
from support.reading import read_corpus

#: Less than a case may take, so that a reader which hangs is told from one that is stopped.
LIMITS = FileLimits(max_seconds=6)
_SIZE, _OVERLAP = 600, 100
_MOST_EXTRACTED = 3
_MOST_CUT = 2_000_000
_TRACE = re.compile(r"Traceback|File \"|\.py\b")


def load() -> None:
    """Load what going on needs."""
    load_pipeline()
    shared_static().embed(["Ada Fenwick"])
    get_tokenizer("cl100k_base")


def assess(write: Callable[[Path], object], home: Path, *, deep: bool) -> str:
    """Read a folder that ``write`` fills; return the fates of its files.

    Args:
        write: fills the folder, which is empty.
        home: where the folder is made.
        deep: go on with the units: embed them, extract from the first of them, keep all in tables.
    """
    folder = home / "corpus"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    write(folder)
    contents = read_corpus(folder, limits=LIMITS)
    _check(contents, home)
    units = _cut(contents, "tokens")
    if deep:
        _cut(contents, "sentences")
        _go_on(contents, units)
    return " and ".join(sorted(Counter(_fate(row) for row in contents.files.iter_rows(named=True))))


def _check(contents: CorpusContents, home: Path) -> None:
    tables.FILES.validated(contents.files)
    tables.DOCUMENTS.validated(contents.documents)
    assert contents.files["documents"].sum() == contents.documents.height
    for path, status, reason in contents.files.select("path", "status", "reason").iter_rows():
        assert status == "read" or reason, (path, status)
        assert path.isprintable(), path
        if reason:
            assert reason.isprintable(), reason
            assert len(reason) <= 1_000, reason
            assert str(home) not in reason, reason
            assert not _TRACE.search(reason), reason
    for text in contents.documents.select("text", "title", "date", "source_id", "metadata").iter_columns():
        for value in text.drop_nulls():
            assert "\0" not in value


def _cut(contents: CorpusContents, strategy: str) -> pl.DataFrame:
    documents = contents.documents.filter(pl.col("characters") < _MOST_CUT)
    units = cut_text_units(documents, strategy=strategy, size=_SIZE, overlap=_OVERLAP, encoding="cl100k_base")
    assert check_units(documents, units) == []
    return units


def _go_on(contents: CorpusContents, units: pl.DataFrame) -> None:
    warehouse = Warehouse()
    made = (
        (tables.FILES, contents.files),
        (tables.DOCUMENTS, contents.documents),
        (tables.TEXT_CHUNKS, units),
    )
    for table, frame in made:
        warehouse.write(table, "fuzz", frame)
        data_version(table, frame)
    assert (
        warehouse.read(tables.DOCUMENTS, "fuzz")
        .sort("document_id")
        .equals(contents.documents.sort("document_id"))
    )
    first = units.head(_MOST_EXTRACTED)
    shared_static().embed(first["text"].to_list())
    given = [TextUnit(*row) for row in first.select("text_unit_id", "text").iter_rows()]
    for unit, extraction in zip(given, ExtractiveGraphExtractor(processes=1).extract(given), strict=True):
        for record in (*extraction.entities, *extraction.relationships):
            for span in record.spans:
                assert 0 <= span.start < span.end <= len(unit.text)


def _fate(row: dict[str, object]) -> str:
    reason = str(row["reason"])
    for key in ("max_seconds", "max_memory"):
        if key in reason:
            return f"{row['status']} ({key})"
    return str(row["status"])
