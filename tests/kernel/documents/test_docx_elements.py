import io
import zipfile

import pytest

from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile, UnreadableError
from graphrag_dagster.kernel.documents.readers.office.docx import read_docx
from support.files import docx

_SPACES = {
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "v": "urn:schemas-microsoft-com:vml",
    "o": "urn:schemas-microsoft-com:office:office",
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
}
SPACES = " ".join(f'xmlns:{name}="{space}"' for name, space in _SPACES.items())


def t(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(inner: str) -> str:
    return f"<w:p>{inner}</w:p>"


def made(
    body: str, parts: dict[str, str | bytes] | None = None, kinds: dict[str, str] | None = None
) -> bytes:
    """``parts``: further parts below word/, each related by an id like its name; ``kinds``: of the relations."""
    stream = io.BytesIO()
    related = "".join(
        f'<Relationship Id="{name}" Type="x/{(kinds or {}).get(name, "part")}" Target="{name}"/>'
        for name in parts or {}
    )
    with zipfile.ZipFile(io.BytesIO(docx(""))) as old, zipfile.ZipFile(stream, "w") as new:
        for entry in old.namelist():
            if entry != "word/document.xml":
                new.writestr(entry, old.read(entry))
        new.writestr("word/document.xml", f"<w:document {SPACES}><w:body>{body}</w:body></w:document>")
        space = "http://schemas.openxmlformats.org/package/2006/relationships"
        new.writestr(
            "word/_rels/document.xml.rels", f'<Relationships xmlns="{space}">{related}</Relationships>'
        )
        for name, content in (parts or {}).items():
            new.writestr(f"word/{name}", content)
    return stream.getvalue()


def read(
    body: str, parts: dict[str, str | bytes] | None = None, kinds: dict[str, str] | None = None
) -> Reading:
    return read_docx(made(body, parts, kinds), SourceFile("a.docx"))


BOX = f"<w:txbxContent>{p(t('In the box.'))}</w:txbxContent>"
WPS = f"<w:drawing><wp:inline><a:graphic><a:graphicData><wps:wsp><wps:txbx>{BOX}</wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:inline></w:drawing>"
VML = f"<w:pict><v:shape><v:textbox>{BOX}</v:textbox></v:shape></w:pict>"


def field(instruction: str, result: str | None) -> str:
    def mark(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    shown = "" if result is None else mark("separate") + t(result)
    return f"{mark('begin')}<w:r><w:instrText>{instruction}</w:instrText></w:r>{shown}{mark('end')}"


def math(inner: str) -> str:
    return p(f"<m:oMath>{inner}</m:oMath>")


def e(name: str, text: str) -> str:
    return f"<m:{name}><m:r><m:t>{text}</m:t></m:r></m:{name}>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (p(t("Before.") + f"<w:r>{WPS}</w:r>"), "Before.\n\nIn the box."),
        (p(f"<w:r>{VML}</w:r>"), "In the box."),
        (p(f"<w:r><mc:AlternateContent><mc:Choice>{WPS}</mc:Choice></mc:AlternateContent></w:r>"), "In the box."),
        (p(f"<w:r><mc:AlternateContent><mc:Choice>{WPS}</mc:Choice><mc:Fallback>{VML}</mc:Fallback></mc:AlternateContent></w:r>"), "In the box."),
        (p(f"<w:r><mc:AlternateContent><mc:Choice/><mc:Fallback>{VML}</mc:Fallback></mc:AlternateContent></w:r>"), "In the box."),
        (p(f"<w:r>{WPS}</w:r>") + p(f"<w:r>{WPS}</w:r>"), "In the box.\n\nIn the box."),
        (f"<w:customXml>{p(t('Block.'))}</w:customXml>" + p(f"<w:customXml>{t('Run.')}</w:customXml>"), "Block.\n\nRun."),
        (f"<w:sdt><w:sdtPr><w:alias/></w:sdtPr><w:sdtContent>{p(t('Chosen'))}</w:sdtContent></w:sdt>", "Chosen"),
        (p(f"<w:sdt><w:sdtContent>{t('Inline')}</w:sdtContent></w:sdt><w:smartTag>{t(' tag')}</w:smartTag>"), "Inline tag"),
        (p(f'<w:fldSimple w:instr="AUTHOR">{t("Ada Fell")}</w:fldSimple>'), "Ada Fell"),
        (p(t("See ") + field("HYPERLINK &quot;http://x&quot;", "the page") + t(".")), "See the page."),
        (p(t("On ") + field("IF " + "1", "Monday") + t(".")), "On Monday."),
        (p(f'<w:hyperlink w:anchor="x">{t("A link")}</w:hyperlink>'), "A link"),
        (p(f"<w:ins>{t('added ')}</w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:moveFrom>{t('from')}</w:moveFrom><w:moveTo>{t('to')}</w:moveTo>"), "added to"),
        (p('<w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:r>'), "漢(kan)"),
        (p('<w:r><w:sym w:font="Arial" w:char="03B1"/></w:r>'), "α"),
        (p("<w:unknown>" + t("Unknown holds words.") + "</w:unknown>"), "Unknown holds words."),
        (p('<w:r><w:drawing><wp:inline><wp:docPr descr="Map of the quay"/><pic:pic/></wp:inline></w:drawing></w:r>'), "Map of the quay"),
        (p('<w:r><w:pict><v:shape><v:textpath string="DRAFT of May"/></v:shape></w:pict></w:r>'), "DRAFT of May"),
        (math(f"<m:f>{e('num', 'a+b')}{e('den', 'c')}</m:f>"), "a+b c"),
        (math(f"<m:sSup>{e('e', 'x')}{e('sup', '2')}</m:sSup><m:r><m:t>=4</m:t></m:r>"), "x 2 =4"),
        (math(f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>{e("sub", "i=1")}{e("sup", "n")}{e("e", "k")}</m:nary>'), "i=1 n k"),
        (math(f"<m:rad>{e('deg', '')}{e('e', 'y')}</m:rad><m:d>{e('e', 'z')}</m:d>"), "y z"),
        (p(t("so ") + f"<m:oMath>{e('acc', 'v')}</m:oMath>" + t(" holds")), "so v holds"),
        ("<w:tbl><w:tr><w:sdt><w:sdtContent><w:tc>" + p(t("a")) + "</w:tc></w:sdtContent></w:sdt><w:tc>" + p(t("b")) + "</w:tc></w:tr></w:tbl>", "| a | b |"),
    ],
)  # fmt: skip
def test_the_words_of_every_element_are_in_the_text(body: str, text: str) -> None:
    reading = read(body)
    assert reading.records[0].text == text
    assert reading.notes == ()


CHART = (
    f"<c:chartSpace {SPACES}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Ships by year</a:t></a:r></a:p></c:rich></c:tx>"
    "</c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>Ferries</c:v></c:pt></c:strCache>"
    "</c:strRef></c:tx><c:cat><c:strCache><c:pt idx='0'><c:v>1911</c:v></c:pt><c:pt idx='1'><c:v>1912</c:v></c:pt>"
    "</c:strCache></c:cat><c:val><c:numCache><c:pt idx='0'><c:v>3</c:v></c:pt><c:pt idx='1'><c:v>5</c:v></c:pt></c:numCache>"
    "</c:val></c:ser></c:barChart></c:plotArea></c:chart></c:chartSpace>"
)
DIAGRAM = f"<dgm:dataModel {SPACES}><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt/></dgm:ptLst></dgm:dataModel>"
NOTE = f"<w:footnotes {SPACES}><w:footnote w:type='separator' w:id='0'>{p(t('no'))}</w:footnote><w:footnote w:id='2'>{p(t('It sank.'))}</w:footnote></w:footnotes>"
COMMENT = (
    f"<w:comments {SPACES}><w:comment w:id='1' w:author='Ann Lee'>{p(t('Really?'))}</w:comment></w:comments>"
)
HEAD = f"<w:hdr {SPACES}>{p(t('Case 4711'))}{p(t('Page ') + field('PAGE', '3'))}</w:hdr>"


@pytest.mark.parametrize(
    ("body", "parts", "text"),
    [
        (p('<w:r><w:drawing><c:chart r:id="chart1.xml"/></w:drawing></w:r>'), {"chart1.xml": CHART}, "Ships by year\n\n|  | Ferries |\n| 1911 | 3 |\n| 1912 | 5 |"),
        (p('<w:r><w:drawing><dgm:relIds r:dm="diagramData1.xml"/></w:drawing></w:r>'), {"diagramData1.xml": DIAGRAM}, "- Plan"),
        (p(t("Lost") + '<w:r><w:footnoteReference w:id="2"/></w:r>'), {"footnotes.xml": NOTE}, "Lost[2]\n\n[2] It sank."),
        (p(t("Lost")), {"comments.xml": COMMENT}, "Lost\n\nComment by Ann Lee: Really?"),
        (p(t("Lost")), {"header1.xml": HEAD, "header2.xml": HEAD}, "Lost\n\nCase 4711"),
    ],
)  # fmt: skip
def test_the_words_of_other_parts_are_in_the_text(
    body: str, parts: dict[str, str | bytes], text: str
) -> None:
    kinds = {
        "header1.xml": "header",
        "header2.xml": "header",
        "footnotes.xml": "footnotes",
        "comments.xml": "comments",
    }
    reading = read(body, parts, kinds)
    assert reading.records[0].text == text
    assert reading.notes == ()


@pytest.mark.parametrize(
    ("body", "parts", "note"),
    [
        (p('<w:r><w:object><o:OLEObject ProgID="Excel.Sheet.12"/></w:object></w:r>') * 2, {}, "not in the text: embedded object Excel.Sheet.12 (2)"),
        ('<w:altChunk r:id="c.rtf"/>', {"c.rtf": r"{\rtf1 x}"}, "not in the text: embedded document (1)"),
        (p('<w:r><w:drawing><c:chart r:id="nowhere"/></w:drawing></w:r>'), {}, "not in the text: chart (1)"),
        (p('<w:r><w:drawing><c:chart r:id="chart1.xml"/></w:drawing></w:r>'), {"chart1.xml": "<c"}, "not in the text: chart (1), damaged part chart1.xml (1)"),
        (p('<w:r><w:sym w:font="Webdings" w:char="F021"/></w:r>'), {}, "not in the text: sign of the font Webdings (1)"),
        (p(field("EQ x", None)), {}, "not in the text: field EQ without a result (1)"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_noted_with_its_number(
    body: str, parts: dict[str, str | bytes], note: str
) -> None:
    reading = read(p(t("Words.")) + body, parts)
    assert reading.records[0].text == "Words."
    assert reading.notes == (note,)


def test_pictures_and_hidden_runs_are_remarked_on() -> None:
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>"
    reading = read(p(t("Words.") + hidden + "<w:r><w:drawing><pic:pic/></w:drawing></w:r>"))
    assert (reading.records[0].text, reading.notes) == ("Words.", ())
    assert reading.remarks == ("without text: hidden run (1), picture (1)",)


def test_the_form_of_equations_is_remarked_on() -> None:
    reading = read(math(f"<m:f>{e('num', 'a+b')}{e('den', 'c')}</m:f>"))
    assert reading.remarks == ("without text: form of an equation (1)",)


def test_lists_and_headings_by_style_and_numbering() -> None:
    numbering = (
        f"<w:numbering {SPACES}><w:abstractNum w:abstractNumId='1'><w:lvl w:ilvl='0'><w:numFmt w:val='decimal'/></w:lvl>"
        "<w:lvl w:ilvl='1'><w:numFmt w:val='bullet'/></w:lvl></w:abstractNum><w:num w:numId='7'><w:abstractNumId w:val='1'/></w:num></w:numbering>"
    )

    def item(text: str, level: int) -> str:
        return p(f"<w:pPr><w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='7'/></w:numPr></w:pPr>{t(text)}")

    styled = p(f"<w:pPr><w:pStyle w:val='Heading1'/></w:pPr>{t('Board')}")
    outlined = p(f"<w:pPr><w:outlineLvl w:val='1'/></w:pPr>{t('Vote')}")
    body = styled + outlined + item("one", 0) + item("deep", 1) + item("two", 0)
    reading = read(body, {"numbering.xml": numbering}, {"numbering.xml": "numbering"})
    assert reading.records[0].text == "# Board\n\n## Vote\n\n1. one\n  - deep\n2. two"


@pytest.mark.parametrize("body", ["<w:p>" * 3000 + "</w:p>" * 3000, "&x;"])
def test_hostile_xml_is_declined(body: str) -> None:
    with pytest.raises(UnreadableError):
        read_docx(
            docx(body, doctype='<!DOCTYPE x [<!ENTITY x "aaaa">]>' if body == "&x;" else ""),
            SourceFile("a.docx"),
        )


def test_merged_cells_keep_the_columns() -> None:
    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(t(text) if text else '')}</w:tc>"

    double, restart, merged = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    table = (
        f"<w:tr>{cell('Boat', double)}{cell('Name')}</w:tr>"
        f"<w:tr>{cell('Wren', restart)}{cell('Cook')}{cell('Ann')}</w:tr>"
        f"<w:tr>{cell('', merged)}{cell('Mate')}{cell('Bo')}</w:tr>"
        f"<w:tr><w:trPr><w:gridBefore w:val='2'/></w:trPr>{cell('Ida')}</w:tr>"
    )
    text = read_docx(made(f"<w:tbl>{table}</w:tbl>"), SourceFile("a.docx")).records[0].text
    assert text.split("\n") == [
        "| Boat |  | Name |",
        "| Wren | Cook | Ann |",
        "|  | Mate | Bo |",
        "|  |  | Ida |",
    ]
