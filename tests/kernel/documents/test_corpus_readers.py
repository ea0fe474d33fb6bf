import contextlib
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.catalogue.registry import formats
from graphrag_dagster.kernel.documents.column_roles import ColumnNames
from graphrag_dagster.kernel.documents.file_reading import format_of, reader_of
from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    RefusedError,
    SourceFile,
    UnreadableError,
)

MakeDocx = Callable[..., bytes]
MakePdf = Callable[..., bytes]


def read(data: bytes | str, path: str, columns: ColumnNames | None = None) -> Reading:
    kind = format_of(path)
    assert kind is not None
    return reader_of(kind)(data.encode() if isinstance(data, str) else data, SourceFile(path, columns))


def only(data: bytes | str, path: str) -> FileRecord:
    (record,) = read(data, path).records
    return record


def test_formats_by_extension() -> None:
    assert [
        format_of(name) for name in ("a.TXT", "b.markdown", "c.htm", "d.ndjson", "e.png", "Makefile")
    ] == [
        "txt",
        "md",
        "html",
        "jsonl",
        None,
        None,
    ]


def test_text_is_kept_as_it_is() -> None:
    assert only("\r\n  A line.\r\n\r\n", "a.txt").text == "\n  A line.\n\n"


def test_markdown_is_kept_and_titled_by_its_heading() -> None:
    text = "Intro.\n\n```sh\n# no heading\n```\n\n## The *storm* ##\n\nBody.\n"
    record = only(text, "a.md")
    assert (record.text, record.title) == (text, "The storm")
    assert only("Storm Agda\n==========\n\nBody.", "a.md").title == "Storm Agda"
    assert only("No heading.", "a.md").title is None


@pytest.mark.parametrize(
    ("text", "title"),
    [
        # What heads a section names no document: other sections follow beside it.
        ("Quaylog writes logs.\n\n# Installing\n\nA.\n\n# Licence\n\nB.", None),
        ("Quaylog writes logs.\n\n## Installing\n\nA.\n\n## Licence\n\nB.", None),
        ("Quaylog writes logs.\n\n# Quaylog\n\nA.\n\n## Licence\n\nB.", "Quaylog"),
        # Pictures, links, tags and properties stand above a title.
        (
            '<p align="center"><img src="a.svg"></p>\n\n[![Build][b]][c] [Home](/)\nDate: today\n\n# Quaylog\n\n'
            "A.\n\n# Licence\n\nB.\n\n[b]: https://a.example/b.svg",
            "Quaylog",
        ),
        ("# `quaylog` for [Python](https://a.example) [![PyPI](b.svg)](c)\n\nA.", "quaylog for Python"),
        ("# ![logo](a.svg)\n\nA.", None),
    ],
)
def test_a_heading_is_the_title_where_it_heads_the_whole(text: str, title: str | None) -> None:
    assert only(text, "a.md").title == title


def test_front_matter() -> None:
    record = only(
        "---\nTitle: Storm Agda\ndate: 2021-11-25\ntags: [storm, harbour]\nauthor: E. Fell\n---\n\n# Other\nText.",
        "a.md",
    )
    assert (record.title, record.date, record.text) == ("Storm Agda", "2021-11-25", "# Other\nText.")
    assert record.metadata == {"tags": ["storm", "harbour"], "author": "E. Fell"}


@pytest.mark.parametrize(
    ("block", "noted"),
    [("a: [b", True), ("just words", False), ("a: &x 1\nb: *x", True), ("!!python/name:os.x y", True)],
)
def test_front_matter_that_is_none_stays_text(block: str, noted: bool) -> None:
    text = f"---\n{block}\n---\nText."
    reading = read(text, "a.md")
    assert reading.records[0].text == text
    assert bool(reading.notes) is noted


HTML = """<!doctype html><html><head><title>Storm Agda | The Courier</title>
<meta property="article:published_time" content="2021-11-25"><meta name="author" content="E. Fell">
<style>p { color: red }</style><script>var tracking = 1;</script></head>
<body><nav><a href="/">Home</a></nav><header><a href="/">The Courier</a></header>
<article><header><h1>Storm   Agda</h1></header>
<p>The <b>Lady Ingrith</b> left
the <a href="/quay">Wester Mole</a>.<br>It was dark &amp; cold.</p>
<ul><li>one</li><li>two</li></ul>
<table><tr><th>Ship</th><th>Year</th></tr><tr><td>Atlas</td><td>1999</td></tr></table>
<pre>kept   as
  is</pre><p hidden>secret</p><p>snake_case * 5</p></article>
<aside>Most read</aside><footer>© 2021 The Courier</footer></body></html>"""


def test_html_gives_its_content_without_scripts_and_navigation() -> None:
    record = only(HTML, "a.html")
    assert record.title == "Storm Agda | The Courier"
    assert (record.date, record.metadata) == ("2021-11-25", {"author": "E. Fell"})
    assert record.text.startswith(
        "# Storm Agda\n\nThe Lady Ingrith left the Wester Mole.\nIt was dark & cold.\n\n- one\n- two\n\n"
    )
    assert "| Ship | Year |\n| Atlas | 1999 |" in record.text
    assert "kept   as\n  is" in record.text
    assert "snake_case * 5" in record.text
    for left in ("tracking", "color", "Home", "Courier", "secret", "Most read", "2021"):
        assert left not in record.text


def test_html_main_is_preferred_and_its_charset_obeyed() -> None:
    page = "<meta charset=iso-8859-2><div>menu</div><main><h1>Łódź</h1><p>Zażółć.</p></main><div>end</div>"
    record = only(page.encode("iso8859_2"), "a.htm")
    assert (record.title, record.text) == ("Łódź", "# Łódź\n\nZażółć.")


def test_html_nested_beyond_all_measure_is_read() -> None:
    assert "deep" in only("<div>" * 5000 + "deep" + "</div>" * 5000, "a.html").text


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def test_docx(make_docx: MakeDocx) -> None:
    table = "".join(
        f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>"
        for row in (("Ship", "Year"), ("Atlas", "1999"))
    )
    deleted = "<w:p><w:del><w:r><w:delText>struck</w:delText></w:r></w:del><w:r><w:t>kept</w:t></w:r></w:p>"
    body = paragraph("Harbour board", "Heading1") + paragraph("The board met. It agreed.") + deleted
    record = only(make_docx(f"{body}<w:tbl>{table}</w:tbl>", properties=True), "a.docx")
    assert record.title == "Minutes & notes"
    assert record.metadata == {"author": "Ada Fenwick"}
    assert "The board met. It agreed." in record.text
    assert "| Ship | Year |\n| Atlas | 1999 |" in record.text
    assert "kept" in record.text
    assert "struck" not in record.text


def test_docx_without_properties_is_titled_by_its_heading(make_docx: MakeDocx) -> None:
    styled = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Board</w:t></w:r></w:p>'
    record = only(make_docx(styled + paragraph("Text.")), "a.docx")
    assert (record.text, record.title) == ("# Board\n\nText.", "Board")


def test_pdf_lines_become_paragraphs_and_divided_words_whole(make_pdf: MakePdf) -> None:
    lines = [
        (72, 720, "Storm Agda"),
        (72, 680, "The crane barge broke her moorings in the night and the har-"),
        (72, 666, "bour master was told at once, as the well-known rule of the har-"),
        (72, 652, "bour asks of everybody who keeps a watch there. The well-"),
        (72, 638, "known pilot wrote “no” (twice)."),
        (72, 600, "A second paragraph begins here."),
    ]
    record = only(make_pdf([lines], title="Report of the inquiry"), "a.pdf")
    assert record.title == "Report of the inquiry"
    assert record.text.split("\n\n") == [
        "Storm Agda",
        "The crane barge broke her moorings in the night and the harbour master was told at once, as the "
        "well-known rule of the harbour asks of everybody who keeps a watch there. The well-known pilot wrote "
        "“no” (twice).",
        "A second paragraph begins here.",
    ]


def test_pdf_running_headers_are_left_out_and_sentences_cross_pages(make_pdf: MakePdf) -> None:
    def page(number: int, *texts: str) -> list[tuple[float, float, str]]:
        body = [(72.0, 700.0 - 14 * place, text) for place, text in enumerate(texts)]
        return [(72, 760, f"Inquiry, page {number}"), *body, (300, 40, str(number))]

    pages = [
        page(1, "The first page tells of the storm and", "of the barge that was moored by the"),
        page(2, "quay until the chain broke. Nobody had", "looked at the pin since the summer and"),
        page(3, "nobody did. It was late.", "The end of it all came soon, they say."),
    ]
    reading = read(make_pdf(pages), "a.pdf")
    text = reading.records[0].text
    assert "moored by the quay until the chain broke." in text
    assert "since the summer and nobody did." in text
    assert "page" in reading.remarks[0]
    assert "Inquiry, page" not in text


def test_pdf_without_text_is_noted(make_pdf: MakePdf) -> None:
    reading = read(make_pdf([[]]), "scan.pdf")
    assert not reading.records[0].text
    assert "text recognition" in reading.notes[0]


def test_damaged_files_are_unreadable(make_docx: MakeDocx, make_pdf: MakePdf) -> None:
    pdf, docx = make_pdf([[(72, 700, "x")]]), make_docx(paragraph("x"))
    for data, path in (
        (b"%PDF-1.4 nothing", "a.pdf"),
        (b"", "a.pdf"),
        (pdf[9:40], "a.pdf"),
        (docx[: len(docx) // 2], "a.docx"),
        (b"", "a.docx"),
        (docx.replace(b"word/document.xml", b"word/documemt.xml"), "a.docx"),
        (b"PAR1 nothing PAR1", "a.parquet"),
        (b"", "a.parquet"),
        (b"{", "a.json"),
        (b"\xd0\xcf\x11\xe0....", "a.docx"),
    ):
        with pytest.raises(UnreadableError):
            read(data, path)


@given(
    st.sampled_from(sorted(formats())),
    st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)),
    st.integers(0, 10**6),
    st.binary(min_size=1, max_size=3),
)
def test_readers_only_decline(
    make_docx: MakeDocx, make_pdf: MakePdf, kind: str, noise: bytes, place: int, hit: bytes
) -> None:
    whole = {
        "docx": make_docx(paragraph("Some text.")),
        "pdf": make_pdf([[(72, 700, "Some text.")]]),
        "json": json.dumps([{"text": "a"}]).encode(),
        "csv": b'id,text\n1,"a"\n',
        "html": HTML.encode(),
    }.get(kind, noise)
    at = place % (len(whole) + 1)
    for data in (noise, whole[:at], whole[:at] + hit + whole[at + len(hit) :]):
        with contextlib.suppress(UnreadableError, RefusedError):
            for record in reader_of(kind)(data, SourceFile("x")).records:
                record.text.encode()
