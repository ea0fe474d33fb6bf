"""Small valid files of the formats that are read."""

import io
import zipfile
from collections.abc import Sequence

_CONTENT_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
    'officeDocument" Target="word/document.xml"/></Relationships>'
)
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_STYLES = (
    f'<w:styles xmlns:w="{_W}"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/>'
    "</w:style></w:styles>"
)
_CORE = (
    '<?xml version="1.0"?><cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/'
    'core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Minutes &amp; notes</dc:title>'
    "<dc:creator>Ada Fenwick</dc:creator></cp:coreProperties>"
)


def docx(
    body: str, *, properties: bool = False, core: str = _CORE, doctype: str = "", packed: bool = False
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as archive:
        archive.writestr("[Content_Types].xml", _CONTENT_TYPES)
        archive.writestr("_rels/.rels", _RELATIONS)
        document = f'<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", doctype + document)
        archive.writestr("word/styles.xml", _STYLES)
        if properties or core != _CORE:
            archive.writestr("docProps/core.xml", core)
    return stream.getvalue()


def _escaped(text: str) -> bytes:
    return text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _page(lines: Sequence[tuple[float, float, str]], size: int = 12) -> bytes:
    shown = (b"1 0 0 1 %g %g Tm (%s) Tj" % (x, y, _escaped(text)) for x, y, text in lines)
    return b"BT /F1 %d Tf\n%s\nET" % (size, b"\n".join(shown))


def pdf(pages: Sequence[Sequence[tuple[float, float, str]]], title: str | None = None) -> bytes:
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        content = _page(lines)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    if title:
        objects.append(b"<< /Title (%s) >>" % _escaped(title))
    data = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    info = b" /Info %d 0 R" % len(objects) if title else b""
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return (
        data
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF"
        % (
            len(objects) + 1,
            table,
            len(objects) + 1,
            info,
            len(data),
        )
    )


def zipped(parts: dict[str, str | bytes]) -> bytes:
    """An archive of these parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


_P = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
_RELS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'


def pptx(*slides: str, notes: str = "", parts: dict[str, str] | None = None) -> bytes:
    """A presentation of slides, each the XML of its shapes; ``notes``: XML of the first's speaker's notes."""
    listed = "".join(f'<p:sldId r:id="s{number}"/>' for number in range(len(slides)))
    related = "".join(
        f'<Relationship Id="s{number}" Type="x/slide" Target="slides/slide{number}.xml"/>'
        for number in range(len(slides))
    )
    made: dict[str, str | bytes] = {
        "ppt/presentation.xml": f"<p:presentation {_P}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": f"<Relationships {_RELS}>{related}</Relationships>",
    }
    for number, shapes in enumerate(slides):
        made[f"ppt/slides/slide{number}.xml"] = (
            f"<p:sld {_P}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
    if notes:
        made["ppt/notesSlides/n.xml"] = (
            f"<p:notes {_P}><p:cSld><p:spTree>{notes}</p:spTree></p:cSld></p:notes>"
        )
    also = "".join(f'<Relationship Id="{name}" Type="x/chart" Target="../{name}"/>' for name in parts or {})
    also += '<Relationship Id="n" Type="x/notesSlide" Target="../notesSlides/n.xml"/>' if notes else ""
    made["ppt/slides/_rels/slide0.xml.rels"] = f"<Relationships {_RELS}>{also}</Relationships>"
    return zipped(made | {f"ppt/{name}": content for name, content in (parts or {}).items()})


def shape(*lines: str, kind: str | None = None) -> str:
    """A shape of a slide with paragraphs, in a place of a kind."""
    place = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' if kind is not None else ""
    said = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    return f"<p:sp>{place}<p:txBody>{said}</p:txBody></p:sp>"


def epub(*chapters: str, title: str = "The Mole") -> bytes:
    """A book of chapters, each the HTML of a body."""
    items = "".join(
        f'<item id="c{n}" href="text/c{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(len(chapters))
    )
    order = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/a.opf"/></rootfiles></container>',
            "OEBPS/a.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><metadata {dc}><dc:title>{title}</dc:title>'
            f"<dc:creator>Ada Fell</dc:creator><dc:date>1911</dc:date></metadata><manifest>"
            f'<item id="nav" properties="nav" href="nav.xhtml"/>{items}</manifest><spine><itemref idref="nav"/>{order}</spine></package>',
            "OEBPS/nav.xhtml": "<html><body><p>Contents</p></body></html>",
            **{
                f"OEBPS/text/c{n}.xhtml": f'<?xml version="1.0" encoding="utf-8"?><html><head><title>x</title></head><body>{body}</body></html>'
                for n, body in enumerate(chapters)
            },
        }
    )  # fmt: skip


def odt(body: str, meta: str = "") -> bytes:
    """An open document with the XML of its text, and of its properties."""
    spaces = (
        " ".join(
            f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{full}:1.0"'
            for name, full in (
                ("office", "office"),
                ("text", "text"),
                ("table", "table"),
                ("draw", "drawing"),
                ("meta", "meta"),
            )
        )
        + ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
    )
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {spaces}><office:body><office:text>{body}</office:text></office:body></office:document-content>",
            "meta.xml": f"<office:document-meta {spaces}><office:meta>{meta}</office:meta></office:document-meta>",
        }
    )  # fmt: skip
