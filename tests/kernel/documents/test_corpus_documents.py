import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster.errors import CorpusError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.common.file_limits import FileLimits
from graphrag_dagster.kernel.common.progress import listening
from graphrag_dagster.kernel.documents.column_roles import ColumnNames
from graphrag_dagster.kernel.documents.documents import CorpusContents, require_documents
from graphrag_dagster.kernel.settings.corpus_settings import load_settings
from support.reading import read_corpus

HARBOUR = Path(__file__).resolve().parents[3] / "graphrag_dagster" / "sample" / "harbour"


def corpus(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def validated(contents: CorpusContents) -> CorpusContents:
    assert contents.files.schema == tables.FILES.empty().schema
    assert contents.documents.schema == tables.DOCUMENTS.empty().schema
    tables.FILES.validated(contents.files)
    tables.DOCUMENTS.validated(contents.documents)
    assert contents.files["documents"].sum() == contents.documents.height
    return contents


def row(frame: pl.DataFrame, path: str) -> dict[str, object]:
    return frame.row(by_predicate=pl.col("path") == path, named=True)


def test_places_in_a_text_file_are_those_of_its_characters_behind_the_front_matter(tmp_path: Path) -> None:
    """As docs/reference/answers.md says of what a range of characters counts."""
    body = "\n\n  The lamp 👍 was lit.\n\tIt  burned at\u00a0the cafe\u0301.  \n"
    matter = "---\ntitle: Log\n---\n"
    crlf = body.replace("\n", "\r\n").encode()
    corpus(
        tmp_path,
        a_dot_txt=body,
        b_dot_txt=b"\xef\xbb\xbf!" + crlf,
        c_dot_md="?" + body,
        d_dot_md=b"\xef\xbb\xbf" + matter.replace("\n", "\r\n").encode() + crlf,
    )
    texts = dict(read_corpus(tmp_path).documents.select("path", "text").iter_rows())
    assert (texts["a.txt"], texts["b.txt"], texts["c.md"]) == (body, f"!{body}", f"?{body}")
    told = texts["d.md"]
    whole = (tmp_path / "d.md").read_text(encoding="utf-8-sig")
    assert told.strip()
    assert whole == whole.removesuffix(told) + told


def test_every_file_has_a_fate(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        a_dot_txt="Same text.",
        b_dot_txt="Same text.",
        c_dot_md=b"\xef\xbb\xbfSame text.",
        d_dot_txt=" \n ",
        e_dot_png=b"\x89PNG\x00",
        f_dot_json="{",
        g_dot_txt=b"\x00\x01" * 50,
        h_dot_csv="id,text\n1,Row one.\n2,\n1,Row one.\n",
        i_dot_pdf=b"%PDF-1.4",
        j_dot_txt="x" * 2000,
    )
    files = validated(read_corpus(tmp_path, limits=FileLimits(max_bytes=1000))).files
    assert dict(files.select("path", "status").iter_rows()) == {
        "a.txt": "read",
        "b.txt": "duplicate",
        "c.md": "duplicate",
        "d.txt": "empty",
        "e.png": "unsupported",
        "f.json": "failed",
        "g.txt": "refused",
        "h.csv": "read",
        "i.pdf": "failed",
        "j.txt": "refused",
    }
    assert set(files.filter(pl.col("status") == "duplicate")["duplicate_of"]) == {"a.txt"}
    not_read = files.filter(pl.col("status") != "read")
    assert not_read["reason"].null_count() == 0
    assert files.filter(pl.col("status") == "refused")["sha256"].null_count() == 2
    assert row(files, "a.txt")["sha256"] == hashlib.sha256(b"Same text.").hexdigest()
    assert row(files, "j.txt")["bytes"] == 2000
    assert "1 rows have no text" in str(row(files, "h.csv")["reason"])
    assert "1 rows repeat documents" in str(row(files, "h.csv")["reason"])


def test_documents(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        news__storm_dot_md="---\ndate: 2021-11-25\ndesk: sea\n---\n# Storm\nText.",
        a_dot_txt="Plain.",
        t_dot_jsonl='{"text": "one", "id": 5, "title": "One"}\n{"text": "two"}\n',
    )
    documents = validated(read_corpus(tmp_path)).documents
    assert documents.select("human_readable_id", "path", "row", "source_id", "title", "date").rows() == [
        (0, "a.txt", None, None, "a", None),
        (1, "news/storm.md", None, None, "Storm", "2021-11-25"),
        (2, "t.jsonl", 0, "5", "One", None),
        (3, "t.jsonl", 1, None, "t (row 1)", None),
    ]
    assert documents["text"].to_list() == ["Plain.", "# Storm\nText.", "one", "two"]
    assert json.loads(documents["metadata"][1]) == {"desk": "sea"}
    assert documents["characters"].to_list() == [6, 13, 3, 3]


def test_ids_depend_on_content_alone(tmp_path: Path) -> None:
    one = corpus(tmp_path / "1", a_dot_txt="Text.", t_dot_csv="id,text\n1,x\n2,y\n")
    other = corpus(
        tmp_path / "2", deep__z_dot_md="Text.", s_dot_jsonl='{"id": 2, "text": "y"}\n{"id": 1, "text": "x"}'
    )
    assert set(read_corpus(one).documents["document_id"]) == set(read_corpus(other).documents["document_id"])


def test_a_table_of_known_rows_is_a_duplicate(tmp_path: Path) -> None:
    corpus(tmp_path, a_dot_csv="id,text\n1,x\n2,y\n", b_dot_jsonl='{"id": "2", "text": "y"}\n')
    files = validated(read_corpus(tmp_path)).files
    assert row(files, "b.jsonl") | {"status": "duplicate", "duplicate_of": "a.csv", "documents": 0} == row(
        files, "b.jsonl"
    )


def test_columns_by_pattern(tmp_path: Path) -> None:
    corpus(tmp_path, old__a_dot_csv="ship,story\nAtlas,Sank.\n", new__b_dot_csv="ship,story\nAtlas,Sailed.\n")
    names = {"old/*.csv": ColumnNames(text="story", title="ship"), "*.tsv": ColumnNames(text="x")}
    contents = validated(read_corpus(tmp_path, columns=names))
    assert contents.documents.select("title", "text").rows() == [("Atlas", "Sank.")]
    assert "ship, story" in str(row(contents.files, "new/b.csv")["reason"])
    assert contents.unused_columns == ("*.tsv",)
    wrong = read_corpus(tmp_path, columns={"*.csv": ColumnNames(text="tale")})
    assert "has no column 'tale'" in str(row(wrong.files, "old/a.csv")["reason"])


def test_unreadable_files_fail_with_a_reason() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o777)
        corpus(folder, a_dot_txt="a", b_dot_txt="b")
        (folder / "a.txt").chmod(0)
        if os.geteuid() == 0:
            os.seteuid(65534)
        files = validated(read_corpus(folder)).files
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        shutil.rmtree(folder)
    assert files["status"].to_list() == ["failed", "read"]
    assert "Permission denied" in files["reason"][0]


def test_nul_and_surrogates_are_replaced(tmp_path: Path) -> None:
    corpus(tmp_path, a_dot_jsonl='{"text": "a\\u0000b\\ud800c", "title": "\\udfff", "x\\ud800": 1}\n')
    documents = validated(read_corpus(tmp_path)).documents
    assert documents.select("text", "title", "metadata").row(0) == (
        "a\ufffdb\ufffdc",
        "\ufffd",
        '{"x\ufffd": 1}',
    )


def test_no_document_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="does not exist"):
        read_corpus(tmp_path / "none")
    empty = read_corpus(tmp_path)
    with pytest.raises(CorpusError, match="contains no files"):
        require_documents(validated(empty), tmp_path)
    corpus(tmp_path, **{f"f{number}_dot_png": b"x%d" % number for number in range(7)}, a_dot_json="{")
    contents = validated(read_corpus(tmp_path))
    with pytest.raises(CorpusError) as caught:
        require_documents(contents, tmp_path)
    message = str(caught.value)
    assert "8 files, 1 failed, 7 unsupported" in message
    assert "a.json: failed, not valid JSON" in message
    assert message.count("\n") == 5
    corpus(tmp_path, a_dot_txt="text")
    require_documents(read_corpus(tmp_path), tmp_path)


def test_progress_is_told(tmp_path: Path) -> None:
    heard: list[tuple[object, ...]] = []

    class Ear:
        def start(self, stage: str, total: int | None) -> None:
            heard.append((stage, total))

        def advance(self, stage: str, steps: int) -> None:
            heard.append((stage, steps))

        def finish(self, stage: str) -> None:
            heard.append((stage,))

    with listening(Ear()):
        read_corpus(corpus(tmp_path, a_dot_txt="a", b_dot_txt="b"))
    assert heard == [("Reading files", 2), ("Reading files", 1), ("Reading files", 1), ("Reading files",)]


def test_docx_and_pdf_in_a_corpus(
    tmp_path: Path, make_docx: Callable[..., bytes], make_pdf: Callable[..., bytes]
) -> None:
    body = "<w:p><w:r><w:t>The board met.</w:t></w:r></w:p>"
    corpus(tmp_path, a_dot_docx=make_docx(body), b_dot_pdf=make_pdf([[(72, 700, "The barge sank.")]]))
    contents = validated(read_corpus(tmp_path))
    assert contents.documents["text"].to_list() == ["The board met.", "The barge sank."]
    assert contents.documents["title"].to_list() == ["a", "b"]


@pytest.mark.skipif(not HARBOUR.is_dir(), reason="the sample corpus is not at hand")
def test_the_sample_corpus_is_read_whole() -> None:
    settings = load_settings(HARBOUR)
    columns = {
        pattern: ColumnNames(
            names.text, names.title, names.id, names.date, names.metadata and tuple(names.metadata)
        )
        for pattern, names in settings.tables.items()
    }
    contents = validated(read_corpus(HARBOUR, columns=columns, ignore=settings.files.ignore))
    assert set(contents.files["status"]) == {"read", "duplicate", "unsupported", "empty"}
    assert contents.documents.height > 0


VOTES = "text,author,date\nApproved.,Hanna Brode,2021-03-04\nApproved.,Tomas Weill,2021-06-09\nDelayed.,Ada Fell,2021-06-10\n"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", VOTES, ["Hanna Brode", "Tomas Weill", "Ada Fell"]),
        (
            "a.jsonl",
            '{"id":1,"text":"Approved.","author":"A","created_at":"2021-03-04"}\n'
            '{"id":1,"text":"Approved.","author":"B","created_at":"2021-06-09"}\n',
            ["A", "B"],
        ),
        (
            "a.json",
            '[{"text": "Yes.", "author": "A"}, {"text": "Yes.", "author": "B"}, {"text": "Yes."}]',
            ["A", "B", None],
        ),
        ("a.tsv", "text\tauthor\nYes.\tA\nYes.\tA\nYes.\tB\n", ["A", "B"]),
    ],
)
def test_rows_of_one_text_are_as_many_documents_as_tell_something_else(
    tmp_path: Path, name: str, content: str, told: list[str | None]
) -> None:
    (tmp_path / name).write_text(content)
    contents = validated(read_corpus(tmp_path))
    assert [json.loads(one).get("author") for one in contents.documents["metadata"]] == told
    repeated = content.count("\n") - 1 - len(told) if name == "a.tsv" else 0
    assert (f"{repeated} rows repeat" in str(contents.files["reason"][0])) is bool(repeated)


def test_a_row_above_the_others_remakes_only_those_of_its_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(VOTES)
    before = dict(read_corpus(tmp_path).documents.select("document_id", "text").iter_rows())
    (tmp_path / "a.csv").write_text(VOTES.replace("date\n", "date\nNew.,Ada Fell,2021-01-01\n"))
    after = dict(read_corpus(tmp_path).documents.select("document_id", "text").iter_rows())
    assert before.items() <= after.items()
    (tmp_path / "a.csv").write_text(VOTES + "Approved.,Ada Fell,2021-06-11\n")
    assert (
        before.items()
        <= dict(read_corpus(tmp_path).documents.select("document_id", "text").iter_rows()).items()
    )


def test_files_of_one_text_are_two_documents_where_what_they_tell_contradicts(tmp_path: Path) -> None:
    front = "---\nauthor: {}\ndate: {}\n---\nApproved."
    corpus(
        tmp_path,
        a_dot_md=front.format("Hanna", "2021-03-04"),
        b_dot_md=front.format("Tomas", "2021-06-09"),
        c_dot_md=front.format("Tomas", "2021-06-09").replace("\n", "\r\n"),
        d_dot_txt="Approved.",
        f_dot_md="---\ntitle: First vote\n---\nDelayed.",
        g_dot_md="---\ntitle: Second vote\n---\nDelayed.",
    )
    files = validated(read_corpus(tmp_path)).files
    assert "".join(status[0] for status in files["status"]) == "rrddrr"
