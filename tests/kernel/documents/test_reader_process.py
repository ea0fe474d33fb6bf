import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel.common.file_limits import FileLimits
from graphrag_dagster.kernel.documents.file_reading import Declined, FileContents
from graphrag_dagster.kernel.documents.file_records import SourceFile
from graphrag_dagster.kernel.documents.reader_process import ReaderProcess, _crash_reason, reader_process
from support.files import docx
from support.reading import read_corpus

LONG = docx("<w:p/>" * 1_000_000, packed=True)


@pytest.fixture
def reader() -> Iterator[ReaderProcess]:
    process = ReaderProcess()
    yield process
    process.close()


def read(reader: ReaderProcess, kind: str, data: bytes, **limits: float) -> FileContents | Declined:
    return reader.read(kind, data, SourceFile(f"a.{kind}", limits=FileLimits(**limits)))  # type: ignore[arg-type]


def reason(answer: FileContents | Declined) -> str:
    assert isinstance(answer, Declined)
    assert answer.status == "failed"
    return answer.reason


def is_well(reader: ReaderProcess) -> bool:
    answer = read(reader, "txt", b"Text.")
    return isinstance(answer, FileContents) and answer.documents[0].text == "Text."


def pid(reader: ReaderProcess) -> int:
    assert reader._process
    return reader._process.pid


def test_a_process_serves_many_files(reader: ReaderProcess) -> None:
    assert is_well(reader)
    first = pid(reader)
    assert "not valid JSON" in reason(read(reader, "json", b"{"))
    assert is_well(reader)
    assert pid(reader) == first


def test_a_file_that_takes_too_long_fails_alone(reader: ReaderProcess) -> None:
    told = reason(read(reader, "docx", LONG, max_seconds=0.05))
    assert (
        told
        == "more seconds needed than files.max_seconds (0.05); raise that in corpus.yaml, or split the file"
    )
    assert is_well(reader)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited on Linux only")
def test_a_file_that_needs_too_much_memory_fails_alone(reader: ReaderProcess) -> None:
    data = b'[{"text": "a", "x": [' + b"[]," * 1_000_000 + b"1]}]"
    assert "files.max_memory (20,000,000)" in reason(read(reader, "json", data, max_memory=20_000_000))
    assert is_well(reader)


def test_a_process_that_died_between_files_is_no_reason_to_fail(reader: ReaderProcess) -> None:
    assert is_well(reader)
    os.kill(pid(reader), signal.SIGKILL)
    assert is_well(reader)


def test_a_crash_is_told_by_its_signal() -> None:
    limits = FileLimits()
    assert "its reader crashed (SIGSEGV)" in _crash_reason(-signal.SIGSEGV, limits)
    assert "files.max_seconds (60.0)" in _crash_reason(-signal.SIGXCPU, limits)
    assert "code 3" in _crash_reason(3, limits)


def test_the_process_knows_no_keys(reader: ReaderProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PYTHONUTF8", "1")
    assert is_well(reader)
    inherited = Path(f"/proc/{pid(reader)}/environ")
    if inherited.exists():
        assert b"sk-secret" not in inherited.read_bytes()
        assert b"PYTHONUTF8=1" in inherited.read_bytes()


def test_the_next_corpus_gets_the_same_process() -> None:
    with reader_process() as first:
        assert is_well(first)
    with reader_process() as second, reader_process() as third:
        assert second is first
        assert third is not first


def test_without_a_process_nothing_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(CorpusError, match="cannot be started"):
        ReaderProcess().read("txt", b"a", SourceFile("a.txt"))
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(CorpusError, match="did not start"):
        ReaderProcess().read("txt", b"a", SourceFile("a.txt"))


@pytest.mark.parametrize(
    ("name", "data", "limits", "told"),
    [
        ("a.txt", b"x" * 101, FileLimits(max_characters=100), "101 characters|more characters of text"),
        ("a.csv", b"text\na\nb\nc\n", FileLimits(max_documents=2), "files.max_documents (2)"),
        (
            "a.docx",
            docx("<w:p/>" * 50_000, packed=True),
            FileLimits(max_bytes=100_000),
            "bytes when unpacked",
        ),
    ],
)
def test_limits_name_their_setting(
    tmp_path: Path, name: str, data: bytes, limits: FileLimits, told: str
) -> None:
    (tmp_path / name).write_bytes(data)
    row = read_corpus(tmp_path, limits=limits).files.row(0, named=True)
    assert row["status"] in {"failed", "refused"}
    assert any(part in row["reason"] for part in told.split("|"))
    assert "raise that in corpus.yaml" in row["reason"]
