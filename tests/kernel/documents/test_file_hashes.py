"""Files are known by the hashes that reading them gives."""

from pathlib import Path

import polars as pl

from graphrag_dagster.kernel.common.file_discovery import discover, hash_files
from graphrag_dagster.kernel.common.file_limits import FileLimits
from support.reading import read_corpus


def test_hashes_are_those_of_reading(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("Anna met Bert.")
    (tmp_path / "sub" / "copy.txt").write_text("Anna met Bert.")
    (tmp_path / "b.bin").write_bytes(b"\0\1")
    (tmp_path / "big.txt").write_text("x" * 2000)
    (tmp_path / "draft.txt").write_text("not yet")
    (tmp_path / "corpus.yaml").write_text("engine: extractive")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    read = read_corpus(tmp_path, limits=FileLimits(max_bytes=1000), ignore=["draft*"]).files
    assert hash_files(discover(tmp_path, max_bytes=1000, ignore=["draft*"])) == dict(
        read.filter(pl.col("status") != "ignored").select("path", "sha256").iter_rows()
    )
