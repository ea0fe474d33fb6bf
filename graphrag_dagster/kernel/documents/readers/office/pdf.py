"""PDF documents, by their text layer."""

import ctypes
import re
from collections.abc import Callable, Iterator
from typing import Any

from graphrag_dagster.kernel.documents.files.records import (
    REPLACEMENT,
    Places,
    Reading,
    Record,
    Source,
    UnreadableError,
    clean,
    error_line,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.office.pdf_layout import Line, furniture, paragraphs

_HYPHEN = 0x02
_BLANK = frozenset({0, 0x02, 0x09, 0x0A, 0x0D, 0x20, 0xA0, 0xAD})
#: Unknown glyphs beside each other.
_UNKNOWN = re.compile(f"{REPLACEMENT}(?:[ \n]?{REPLACEMENT})+")
_PASSWORD_ERROR = 4


def read_pdf(data: bytes, source: Source) -> Reading:
    """Read the text of a PDF: one line per paragraph, words joined that a line end had divided.

    Comments and the fields of forms that are filled in follow the pages. Running headers, footers and page
    numbers are left out. Pages without a text layer, glyphs without known characters and attached files are
    noted; a PDF without a text layer gives a blank text.

    Raises:
        UnreadableError: damaged, or protected by a password.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_ERROR:
            raise UnreadableError("protected by a password; save it without one") from error
        raise UnreadableError(f"not a readable PDF: {error_line(error)}") from error
    try:
        if document.get_formtype():
            document.init_forms()
        read = _Pages()
        for number in range(len(document)):
            read.add(document, number, source)
        properties = document.get_metadata_dict(skip_empty=True)
        notes = list(beside_pages(document))
    except (pypdfium2.PdfiumError, ValueError) as error:
        raise UnreadableError(f"not a readable PDF: {error_line(error)}") from error
    finally:
        document.close()
    return _reading(read, properties, notes)


class _Pages:
    """The lines of pages, what stands beside them, and what is not known of them."""

    def __init__(self) -> None:
        self.lines: list[list[Line]] = []
        self.beside: list[str] = []
        self.pictured = Places()
        self.glyphs = self.unknown = 0
        self._characters = 0

    def add(self, document: Any, number: int, source: Source) -> None:
        """Read a page.

        Raises:
            UnreadableError: there is more text than ``files.max_characters``.
        """
        from pypdfium2 import raw

        page = document[number]
        text_page = page.get_textpage()
        codes = self._codes(text_page)
        lines = list(_lines(text_page, codes, number))
        beside = list(beside_page(document, page))
        if not lines and not beside and raw.FPDFPage_CountObjects(page.raw):
            self.pictured.add(number + 1)
        text_page.close()
        page.close()
        self._characters += sum(len(line.text) for line in lines) + sum(map(len, beside))
        if self._characters > source.limits.max_characters:
            raise UnreadableError(source.limits.beyond("max_characters", "characters of text"))
        self.lines.append(lines)
        self.beside += beside

    def _codes(self, text_page: Any) -> list[int]:
        """Characters of a page; U+FFFD where the font does not say which one a glyph is."""
        from pypdfium2 import raw

        codes = []
        for place in range(text_page.count_chars()):
            code = raw.FPDFText_GetUnicode(text_page.raw, place)
            if raw.FPDFText_HasUnicodeMapError(text_page.raw, place) == 1 and code not in _BLANK:
                self.unknown += 1
                code = ord(REPLACEMENT)
            self.glyphs += code not in _BLANK
            codes.append(code)
        return codes


def _reading(read: _Pages, properties: dict[str, str], notes: list[str]) -> Reading:
    pages = read.lines
    repeated = furniture(pages)
    kept = [[line for line in page if line not in repeated] for page in pages]
    text = _UNKNOWN.sub(REPLACEMENT, "\n\n".join([*paragraphs(kept), *read.beside]))
    text = text if text.replace(REPLACEMENT, "").strip() else ""
    remarks = []
    if repeated:
        example = min(repeated, key=lambda line: line.text).text
        remarks.append(
            f"{len(repeated)} running headers, footers and page numbers left out, e.g. {example!r}"
        )
    if read.unknown:
        notes.append(
            f"{read.unknown:,} of {read.glyphs:,} glyphs are of fonts that do not say which characters they "
            f"are; they stand as {REPLACEMENT}"
        )
    if not text.strip():
        notes.append(f"no text layer in {len(pages)} pages; scanned pages need text recognition first")
    elif read.pictured:
        pages_of = "page has" if len(read.pictured) == 1 else "pages have"
        notes.append(
            f"{len(read.pictured)} of {len(pages)} {pages_of} no text layer and need text recognition: "
            f"{read.pictured}"
        )
    wanted = {"author": "Author", "subject": "Subject", "created": "CreationDate"}
    metadata = {role: one_line(properties.get(key)) for role, key in wanted.items()}
    record = Record(clean(text), title=_title(properties.get("Title")), metadata=metadata)
    return Reading((record,), None, tuple(notes), tuple(remarks))


def _title(title: str | None) -> str | None:
    """The title property, unless a program made it from a file name."""
    title = one_line(title)
    machine_made = ("microsoft word -", "untitled", "unnamed", "document1")
    endings = (".doc", ".docx", ".pdf", ".tex", ".dvi", ".indd", ".qxd", ".rtf")
    if title is None or title.casefold().startswith(machine_made) or title.casefold().endswith(endings):
        return None
    return title


def _lines(text_page: Any, chars: list[int], number: int) -> Iterator[Line]:
    start = 0
    for place, code in enumerate([*chars, 0x0A]):
        hyphen = code == _HYPHEN
        if code in (0x0A, 0x0D) or hyphen:
            line = _line(text_page, chars, start, place, number, hyphen)
            if line:
                yield line
            start = place + 1


def _line(text_page: Any, chars: list[int], start: int, end: int, page: int, hyphen: bool) -> Line | None:
    printed = [place for place in range(start, end) if chars[place] > 0x20 and chars[place] != 0xA0]
    if not printed:
        return None
    first, last = (text_page.get_charbox(place, loose=True) for place in (printed[0], printed[-1]))
    text = "".join(chr(code) for code in chars[printed[0] : printed[-1] + 1] if 0 < code <= 0x10FFFF)
    hyphen = hyphen or (text[-1] in "-\u2010\u00ad" and len(text) > 1 and text[-2].isalpha())
    return Line(
        text=" ".join(text.rstrip("-\u2010\u00ad").split()) if hyphen else " ".join(text.split()),
        hyphen=hyphen,
        page=page,
        left=first[0],
        right=last[2],
        top=max(first[3], last[3]),
        bottom=min(first[1], last[1]),
    )


#: Kinds of annotations: text, free text, highlighted, underlined, wavy, struck out, stamp, caret.
_SAID = frozenset({1, 3, 9, 10, 11, 12, 13, 14})
_FIELD = 20
_TICKED = frozenset({2, 3})
_BUTTON, _SIGNATURE = 1, 7
_MOST = 2_000
_MOST_NAMED = 3
#: Bytes of one value; a longer one is left out.
_LONGEST = 20_000_000
_XFA = frozenset({2, 3})


def beside_page(document: Any, page: Any) -> Iterator[str]:
    """Yield the comments on a page, and the fields that are filled in: ``Keeper: Tomas Weill``."""
    from pypdfium2 import raw

    for number in range(min(raw.FPDFPage_GetAnnotCount(page.raw), _MOST)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, number)
        if not annotation:
            continue
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        if kind in _SAID:
            said = _string(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
            author = _string(raw.FPDFAnnot_GetStringValue, annotation, b"T")
            if said:
                yield said if kind == 3 else f"Comment{f' by {author}' if author else ''}: {said}"
        elif kind == _FIELD and document.formenv is not None:
            yield from _field(document.formenv.raw, annotation)
        raw.FPDFPage_CloseAnnot(annotation)


def _field(form: Any, annotation: Any) -> Iterator[str]:
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in (_BUTTON, _SIGNATURE):
        return
    name = _string(raw.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    name = name or _string(raw.FPDFAnnot_GetFormFieldName, form, annotation)
    value = _string(raw.FPDFAnnot_GetFormFieldValue, form, annotation)
    if kind in _TICKED:
        value = value if raw.FPDFAnnot_IsChecked(form, annotation) else None
    if value:
        yield f"{name}: {value}" if name else value


def _string(read: Callable[..., int], *of: Any) -> str | None:
    """A UTF-16 string written by a library function, on one line."""
    from pypdfium2 import raw

    size = read(*of, None, 0)
    if not 2 < size < _LONGEST:
        return None
    buffer = ctypes.create_string_buffer(size)
    read(*of, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return one_line(buffer.raw[: size - 2].decode("utf-16-le", "replace"))


def beside_pages(document: Any) -> Iterator[str]:
    """Yield notes of what is in the file and not read: attached files, a form of another kind."""
    from pypdfium2 import raw

    count = raw.FPDFDoc_GetAttachmentCount(document.raw)
    if count > 0:
        names = [name for n in range(min(count, _MOST_NAMED)) if (name := _attached(document, n))]
        told = f" ({', '.join(names)}{', …' if count > len(names) else ''})" if names else ""
        yield f"not in the text: {count:,} attached {'file' if count == 1 else 'files'}{told}"
    if document.get_formtype() in _XFA:
        yield "not in the text: a form in XFA; print it to a PDF to have its fields read"


def _attached(document: Any, number: int) -> str | None:
    from pypdfium2 import raw

    attached = raw.FPDFDoc_GetAttachment(document.raw, number)
    return _string(raw.FPDFAttachment_GetName, attached) if attached else None
