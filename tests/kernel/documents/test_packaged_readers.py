"""Presentations, books, open documents and saved pages: every word is in the text, or in a note."""

import pytest

from graphrag_dagster.kernel.common.file_limits import FileLimits
from graphrag_dagster.kernel.documents.file_reading import format_of, reader_of
from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile, UnreadableError
from kernel.documents.test_docx_elements import CHART
from support.files import epub, odt, pptx, shape, zipped


def read(data: bytes, path: str) -> Reading:
    kind = format_of(path)
    assert kind is not None
    return reader_of(kind)(data, SourceFile(path))


TABLE = (
    "<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>Ship</a:t></a:r></a:p></a:txBody></a:tc>"
    "<a:tc><a:txBody><a:p><a:r><a:t>Year</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
)


def test_slides_in_order_with_titles_lists_tables_charts_and_notes() -> None:
    first = (
        shape("The mole", kind="title") + shape("One", "Two", kind="body") + shape("A loose box") + TABLE
        + '<p:graphicFrame><a:graphic><c:chart r:id="chart1.xml"/></a:graphic></p:graphicFrame>'
        + f"<p:grpSp>{shape('In a group')}</p:grpSp>" + shape("7", kind="sldNum")
        + '<p:pic><p:nvPicPr><p:cNvPr descr="Map of the quay"/></p:nvPicPr></p:pic>'
    )  # fmt: skip
    reading = read(
        pptx(
            first,
            shape("Last words"),
            notes=shape("Say it slowly.", kind="body"),
            parts={"chart1.xml": CHART},
        ),
        "a.pptx",
    )
    (record,) = reading.records
    assert record.title == "The mole"
    assert record.text.split("\n\n") == [
        "# The mole", "- One\n- Two", "A loose box", "| Ship | Year |", "Ships by year",
        "|  | Ferries |\n| 1911 | 3 |\n| 1912 | 5 |", "In a group", "Map of the quay", "Notes: Say it slowly.", "Last words",
    ]  # fmt: skip
    assert reading.notes == ()


def test_what_a_presentation_embeds_is_noted() -> None:
    frame = '<p:graphicFrame><a:graphic><p:oleObj progId="Excel.Sheet.12"/></a:graphic></p:graphicFrame>'
    reading = read(pptx(shape("Words") + frame + "<p:pic/>"), "a.pptx")
    assert reading.notes == ("not in the text: embedded object Excel.Sheet.12 (1)",)
    assert reading.remarks == ("without text: picture (1)",)


def test_chapters_of_a_book_in_the_order_of_reading() -> None:
    reading = read(epub("<h1>Storm</h1><p>It rose.</p>", "<p>It fell.</p>"), "a.epub")
    (record,) = reading.records
    assert (record.title, record.date, record.metadata) == ("The Mole", "1911", {"author": "Ada Fell"})
    assert record.text == "# Storm\n\nIt rose.\n\nIt fell."
    assert reading.notes == ()


def test_an_open_document() -> None:
    body = (
        '<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h text:outline-level="2">Board</text:h>'
        "<text:p>It <text:span>met</text:span>.<text:s/><text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>In May.</text:p></text:note-body></text:note></text:p>"
        "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list>"
        "</text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="2"><text:p>b</text:p></table:table-cell></table:table-row></table:table>'
        "<text:p>Before.<draw:frame><draw:text-box><text:p>In the box.</text:p></draw:text-box></draw:frame></text:p>"
        "<text:p><office:annotation><dc:creator>Ann</dc:creator><text:p>Really?</text:p></office:annotation></text:p>"
        "<draw:frame><draw:object/><draw:image/></draw:frame>"
    )
    reading = read(
        odt(body, "<dc:title>Minutes</dc:title><meta:initial-creator>Ada</meta:initial-creator>"), "a.odt"
    )
    (record,) = reading.records
    assert (record.title, record.metadata) == ("Minutes", {"author": "Ada"})
    assert record.text.split("\n\n") == [
        "## Board", "It met. [1]", "- one\n  - deep", "| a | b | b |", "Before.", "In the box.", "[1] In May.",
        "Comment by Ann: Really?",
    ]  # fmt: skip
    assert reading.notes == ("not in the text: embedded object (1)",)


def test_rows_of_an_open_document_that_are_merged_nested_or_repeated() -> None:
    def cell(inner: str, attributes: str = "") -> str:
        return f"<table:table-cell {attributes}>{inner}</table:table-cell>"

    inner = f"<table:table><table:table-row>{cell('<text:p>x</text:p>')}{cell('<text:p>y</text:p>')}</table:table-row></table:table>"
    spans = 'table:number-rows-spanned="2"'
    rows = (
        f"<table:table-row>{cell('<text:p>Wren</text:p>', spans)}{cell(inner)}</table:table-row>"
        f"<table:table-row><table:covered-table-cell/>{cell('<text:p>Bo</text:p>')}</table:table-row>"
        f'<table:table-row table:number-rows-repeated="2">{cell("<text:p>Ann</text:p>")}</table:table-row>'
    )
    head = f"<table:table-header-rows><table:table-row>{cell('<text:p>Boat</text:p>')}</table:table-row></table:table-header-rows>"
    text = read(odt(f"<table:table>{head}{rows}</table:table>"), "a.odt").records[0].text
    assert text.split("\n") == ["| Boat |", "| Wren | | x | y | |", "|  | Bo |", "| Ann |", "| Ann |"]


def test_a_saved_page() -> None:
    page = (
        b"From: <Saved>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n--x\r\n"
        b"Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>It =\r\nsank.</p>\r\n--x\r\n"
        b"Content-Type: image/png\r\n\r\nno\r\n--x--\r\n"
    )
    assert read(page, "a.mhtml").records[0].text == "It sank."
    with pytest.raises(UnreadableError):
        read(b"Words", "a.mht")


@pytest.mark.parametrize("kind", ["pptx", "epub", "odt", "docx"])
def test_damaged_protected_and_exploding_packages_are_declined(kind: str) -> None:
    whole = {
        "pptx": pptx(shape("a")),
        "epub": epub("<p>a</p>"),
        "odt": odt("<text:p>a</text:p>"),
        "docx": zipped({"word/document.xml": "<a/>"}),
    }[kind]
    for data in (b"", b"PK\x03\x04", whole[: len(whole) // 2], zipped({"x": "y"})):
        with pytest.raises(UnreadableError):
            reader_of(kind)(data, SourceFile("a"))
    with pytest.raises(UnreadableError, match="max_bytes"):
        reader_of(kind)(
            zipped({"x": b"\0" * 2_000_000}), SourceFile("a", limits=FileLimits(max_bytes=1_000_000))
        )


@pytest.mark.parametrize(
    "content", ["<a>" * 400 + "</a>" * 400, '<!DOCTYPE a [<!ENTITY x "aaaa">]><a>&x;</a>', "<a>&x;</a>", "<a"]
)
def test_hostile_xml_in_a_package_is_declined(content: str) -> None:
    with pytest.raises(UnreadableError):
        read(zipped({"content.xml": content}), "a.odt")
