import pytest

from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile
from graphrag_dagster.kernel.documents.readers.office.pdf import read_pdf

WORDS = b"BT /F2 12 Tf 72 650 Td (Words are here.) Tj ET"


def read(
    content: bytes = WORDS,
    annotations: bytes = b"",
    also: tuple[bytes, ...] = (),
    catalog: bytes = b"",
    pages: int = 1,
    first_font: int = 5,
) -> Reading:
    """``also``: objects from number 9 on; ``pages``: how many, of which all but the first show a drawing."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalog,
        b"<< /Type /Pages /Kids [3 0 R %s] /Count %d >>" % (b"8 0 R " * (pages - 1), pages),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 %d 0 R /F2 7 0 R >> >> "
        b"/Annots [%s] >>" % (first_font, annotations),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Foo /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Foo /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) "
        b"/Supplement 0 >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 9 0 R >>",
        *also,
    ]
    data, places = b"%PDF-1.7\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    data += (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF"
        % (
            size,
            table,
            size,
            len(data),
        )
    )
    return read_pdf(data, SourceFile("a.pdf"))


DRAWING = b"<< /Length 12 >>\nstream\n0 0 10 10 re f\nendstream"
TICKED = b"<< /Yes 4 0 R /Off 4 0 R >>"


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (b"<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (Really?) /T (Ann) >>", "Comment by Ann: Really?"),
        (b"<< /Type /Annot /Subtype /FreeText /Rect [0 0 9 9] /Contents (Seen in May) >>", "Seen in May"),
        (b"<< /Type /Annot /Subtype /Highlight /Rect [0 0 9 9] /Contents <FEFF0141006F> >>", "Comment: Ło"),
        (b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (Keeper) /V (Tomas Weill) /Rect [0 0 9 9] >>", "Keeper: Tomas Weill"),
        (b"<< /Type /Annot /Subtype /Widget /FT /Ch /T (k) /TU (Kind) /V (ferry) /Opt [(ferry) (tug)] /Rect [0 0 9 9] >>", "Kind: ferry"),
        (b"<< /Type /Annot /Subtype /Widget /FT /Btn /T (Agreed) /V /Yes /AS /Yes /AP << /N %s >> /Rect [0 0 9 9] >>" % TICKED, "Agreed: Yes"),
        (b"<< /Type /Annot /Subtype /Widget /FT /Btn /T (Agreed) /V /Off /AS /Off /AP << /N %s >> /Rect [0 0 9 9] >>" % TICKED, None),
        (b"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /Contents (no) >>", None),
    ],
)  # fmt: skip
def test_comments_and_fields_are_in_the_text(annotation: bytes, text: str | None) -> None:
    reading = read(
        annotations=b"10 0 R", also=(DRAWING, annotation), catalog=b"/AcroForm << /Fields [10 0 R] >>"
    )
    assert reading.records[0].text.split("\n\n") == ["Words are here.", *([text] if text else [])]
    assert reading.notes == ()


def test_glyphs_without_known_characters_are_counted() -> None:
    reading = read(WORDS + b" BT /F1 12 Tf 72 700 Td <00410042> Tj ET")
    assert "\ufffd" in reading.records[0].text
    assert reading.notes == (
        "2 of 15 glyphs are of fonts that do not say which characters they are; they stand as \ufffd",
    )
    (none,) = read(b"BT /F1 12 Tf 72 700 Td <00410042> Tj ET").records
    assert none.text == ""


def test_pages_without_a_text_layer_and_attached_files_are_noted() -> None:
    names = b"/Names << /EmbeddedFiles << /Names [(a.xlsx) 10 0 R] >> >>"
    file = b"<< /Type /Filespec /F (a.xlsx) /UF (a.xlsx) /EF << /F 11 0 R >> >>"
    reading = read(
        also=(DRAWING, file, b"<< /Type /EmbeddedFile /Length 3 >>\nstream\nabc\nendstream"),
        catalog=names,
        pages=3,
    )
    assert reading.records[0].text == "Words are here."
    assert reading.notes == (
        "not in the text: 1 attached file (a.xlsx)",
        "2 of 3 pages have no text layer and need text recognition: 2, 3",
    )


def to_unicode(mapped: bytes) -> bytes:
    """What the second glyph of a font means; the first is O, the third c."""
    program = (
        b"begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange 3 beginbfchar "
        b"<0001> <004F> <0002> <%s> <0003> <0063> endbfchar endcmap" % mapped
    )
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(program), program)


@pytest.mark.parametrize(
    ("mapped", "text", "unknown"),
    [
        (b"0000", "O\ufffdc", 1),
        (b"000000000000", "O\ufffdc", 3),
        (b"0002", "O\ufffdc", 1),
        (b"001F", "O\ufffdc", 1),
        (b"0085", "O\ufffdc", 1),
        (b"E001", "O\ufffdc", 1),
        (b"FFFE", "O\ufffdc", 1),
        (b"FFFD", "O\ufffdc", 1),
        (b"D800", "O\ufffdc", 1),
        (b"006600660069", "Offic", 0),
        (b"F0B7", "O•c", 0),
        (b"D835DC65", "O𝑥c", 0),
    ],
)
def test_no_glyph_is_lost_in_silence(mapped: bytes, text: str, unknown: int) -> None:
    font = (
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Foo /Encoding /Identity-H /DescendantFonts [6 0 R] "
        b"/ToUnicode 10 0 R >>"
    )
    also = (DRAWING, to_unicode(mapped), font)
    content = WORDS + b" BT /F1 12 Tf 72 700 Td <000100020003> Tj ET"
    reading = read(content, also=also, first_font=11)
    assert reading.records[0].text.split("\n\n")[-1] == text
    told = "".join(reading.notes)
    assert told.startswith(f"{unknown} of ") if unknown else not told
