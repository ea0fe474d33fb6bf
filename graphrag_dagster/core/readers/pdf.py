"""PDF documents, by their text layer."""

from collections.abc import Iterator
from typing import Any

from graphrag_dagster.core.files.records import (
    Reading,
    Record,
    Source,
    UnreadableError,
    clean,
    error_line,
    one_line,
)
from graphrag_dagster.core.readers.pdf_layout import Line, furniture, paragraphs

_HYPHEN = 0x02
_PASSWORD_ERROR = 4


def read_pdf(data: bytes, source: Source) -> Reading:
    """Read the text of a PDF: one line per paragraph, words joined that a line end had divided.

    Running headers, footers and page numbers are left out and noted. A PDF without a text layer gives a
    blank text.

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
        pages = list(_pages(document, source))
        properties = document.get_metadata_dict(skip_empty=True)
    except (pypdfium2.PdfiumError, ValueError) as error:
        raise UnreadableError(f"not a readable PDF: {error_line(error)}") from error
    finally:
        document.close()
    return _reading(pages, properties)


def _pages(document: Any, source: Source) -> Iterator[list[Line]]:
    characters = 0
    for number in range(len(document)):
        page = list(_lines(document, number))
        characters += sum(len(line.text) for line in page)
        if characters > source.limits.max_characters:
            raise UnreadableError(source.limits.beyond("max_characters", "characters of text"))
        yield page


def _reading(pages: list[list[Line]], properties: dict[str, str]) -> Reading:
    repeated = furniture(pages)
    kept = [[line for line in page if line not in repeated] for page in pages]
    text = "\n\n".join(paragraphs(kept))
    notes, remarks = [], []
    if repeated:
        example = min(repeated, key=lambda line: line.text).text
        remarks.append(
            f"{len(repeated)} running headers, footers and page numbers left out, e.g. {example!r}"
        )
    if not text.strip():
        notes.append(f"no text layer in {len(pages)} pages; scanned pages need text recognition first")
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


def _lines(document: Any, number: int) -> Iterator[Line]:
    from pypdfium2 import raw

    page = document[number]
    text_page = page.get_textpage()
    start, chars = 0, [raw.FPDFText_GetUnicode(text_page.raw, i) for i in range(text_page.count_chars())]
    for place, code in enumerate([*chars, 0x0A]):
        hyphen = code == _HYPHEN
        if code in (0x0A, 0x0D) or hyphen:
            line = _line(text_page, chars, start, place, number, hyphen)
            if line:
                yield line
            start = place + 1
    text_page.close()
    page.close()


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
