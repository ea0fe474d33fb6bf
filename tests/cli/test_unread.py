import json
from pathlib import Path

import pytest

from graphrag_dagster import Index
from graphrag_dagster.apps.explorer.table_pages import Order
from graphrag_dagster.cli.commands.corpus.show_commands import file_table, unread_lines, unread_rows
from graphrag_dagster.cli.result import say
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.documents.documents import describe_files
from support.commands import Run
from support.corpora import write_corpus

Told = tuple[str, str, str | None]


def files(*rows: Told, incomplete: bool = False) -> list[dict[str, object]]:
    blank = dict.fromkeys(tables.FILES.column_names) | {"bytes": 1, "documents": 0, "incomplete": incomplete}
    return [blank | {"path": path, "status": status, "reason": reason} for path, status, reason in rows]


MIXED = tables.FILES.frame(
    [
        *files(
            ("a.txt", "read", None),
            ("b.txt", "duplicate", "the same text"),
            (".git", "ignored", "hidden: its name begins with a dot"),
            ("c.png", "unsupported", "no reader for .png"),
            ("[red].json", "failed", "not valid JSON"),
            ("harmless.pdf", "read", "2 running headers left out"),
        ),
        *files(
            ("y.pdf", "read", "3 glyphs without text"),
            ("x.pdf", "read", "14 glyphs without text"),
            ("z.docx", "read", "1 equation left out"),
            incomplete=True,
        ),
    ]
)


def test_what_was_not_read_or_only_in_part_is_named_with_its_reason() -> None:
    rows = unread_rows(MIXED)
    assert rows["files_not_read"]["path"].to_list() == ["[red].json", "c.png", ".git"]
    assert rows["files_read_in_part"]["path"].to_list() == ["x.pdf", "y.pdf", "z.docx"]
    out = list(map(str, unread_lines("town", MIXED)))
    assert out[1] == "c.png was not read: no reader for .png"
    assert [out[0], *out[2:]] == [
        "[red].json was not read: not valid JSON",
        "2 .pdf files were read in part: e.g. 14 glyphs without text (x.pdf, y.pdf)",
        "z.docx was read in part: 1 equation left out",
    ]


def test_every_file_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    say(file_table(MIXED))
    out = capsys.readouterr().out
    for row in MIXED.iter_rows(named=True):
        assert row["path"] in out
    assert out.count("read in part") == 3


def test_nothing_is_said_where_all_was_read() -> None:
    read = MIXED.filter(MIXED["path"].is_in(["a.txt", "b.txt", ".git", "harmless.pdf"]))
    assert list(unread_lines("town", read)) == []


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (
            [(f"docs/{n:02}.rst", "unsupported", "no reader for .rst") for n in range(54)],
            "54 .rst files were not read: no reader for .rst (docs/00.rst, docs/01.rst, docs/02.rst, "
            "docs/03.rst, docs/04.rst and 49 more)",
        ),
        (
            [
                (name, "unsupported", "no reader for files without an extension")
                for name in ("LICENSE", ".a/b")
            ],
            "2 files were not read: no reader for files without an extension (.a/b, LICENSE)",
        ),
        (
            [
                ("a.PDF", "empty", "no text layer in 2 pages"),
                ("b.pdf", "empty", "no text layer in 1,200 pages"),
            ],
            "2 .pdf files were not read: e.g. no text layer in 2 pages (a.PDF, b.pdf)",
        ),
        ([("one.doc", "failed", None)], "one.doc was not read: "),
    ],
)
def test_files_of_a_kind_are_one_line(rows: list[Told], line: str) -> None:
    assert describe_files(tables.FILES.frame(files(*rows)))[0][0] == line


def test_more_kinds_than_lines_are_counted() -> None:
    many = [(f"a.{letter * 2}", "failed", "broken") for letter in "abcdefghijklm"]
    told = tables.FILES.frame(files(*many, ("b.mm", "failed", "broken")))
    out = "\n".join(map(str, unread_lines("town", told)))
    assert "a.ii" in out
    assert "a.jj" not in out
    assert "and 3 more files; all of them: graphrag-dagster show town --files" in out


def test_the_commands_and_the_explorer_name_them(run: Run, home: Path) -> None:
    folder = write_corpus(home / "corpora", "coast")
    (folder / "odd.txt").write_bytes(
        b"The Atlas sank off Skerry Point in the gale\x00 of May. \xc3\xa9\xc3\xa9 \xff"
    )
    for name in ("b.xyz", "c.xyz"):
        (folder / name).write_text("x")
    part = "odd.txt was read in part: 1 places are not valid utf-8"
    unread = "2 .xyz files were not read: no reader for .xyz (b.xyz, c.xyz)"
    for command in (("index", "coast"), ("show", "coast")):
        code, out, err = run(*command)
        assert (code, part in out, unread in out) == (0, True, True), out + err
    (row,) = json.loads(run("show", "coast", "--json")[1])["files_read_in_part"]
    assert row["path"] == "odd.txt"
    listed = json.loads(run("show", "coast", "--files", "--json")[1])["files"]
    assert {"odd.txt", "b.xyz", "news/strike.md"} <= {one["path"] for one in listed}
    seen = Index.explorer("coast")
    overview = seen.overview()
    assert (overview.counts.files_not_read, overview.counts.files_read_in_part) == (2, 1)
    assert any(note.startswith(part) for note in overview.notes)
    assert any(note.startswith(unread) for note in overview.notes)
    documents = seen.table("documents", Order("path"))
    (odd,) = [one for one in documents.rows if "odd.txt" in one]
    assert True in odd
    place = [column.name for column in documents.columns].index("document_id")
    file = seen.document(odd[place]).file
    assert file is not None
    assert (file.status, file.incomplete) == ("read", True)
