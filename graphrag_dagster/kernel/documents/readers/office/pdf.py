"""PDF documents, by their text layer, with the paragraphs rebuilt from the printed lines."""

import contextlib
import ctypes
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from graphrag_dagster.kernel.documents.file_records import (
    REPLACEMENT,
    FileRecord,
    Reading,
    RecordPlaces,
    SourceFile,
    UnreadableError,
    clean,
    error_line,
    one_line,
)

#: Line pitch, as a multiple of the page's usual one, above which a new paragraph begins.
_PARAGRAPH_PITCH = 1.35
_HEIGHT_RATIO = 1.25
_TERMINATORS = ".!?:…。！？"
_CLOSERS = "\"'”’»)]"
_ITEM = re.compile(r"(?:[•‣◦▪●·*–—-]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)])\s")
_CJK = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
_LONGEST_WORD = 60
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A printed line: left, right, top, bottom in points, y upwards. ``hyphen``: it ended in a hyphen,
    which ``text`` no longer has.
    """

    text: str
    hyphen: bool
    page: int
    left: float
    right: float
    top: float
    bottom: float

    @property
    def height(self) -> float:
        """Height of the font in points, at least a thousandth."""
        return max(self.top - self.bottom, 0.001)


def repeated_lines(pages: Sequence[Sequence[PrintedLine]]) -> set[PrintedLine]:
    """Return running headers, footers and page numbers: first or last lines of at least three pages and of
    half of all pages that are alike but for their digits.
    """

    def edges(page: Sequence[PrintedLine]) -> set[PrintedLine]:
        by_height = sorted(page, key=lambda line: -line.top)
        return {*by_height[:2], *by_height[-2:]} if len(page) > 4 else {*by_height[:1], *by_height[-1:]}

    def shape(line: PrintedLine) -> str:
        # Rows of figures are alike without their digits, yet no furniture; a lone page number is.
        alike = re.sub(r"\d+", "#", line.text)
        return alike if re.search(r"[^\W_]", alike) or alike.count("#") == 1 else line.text

    counts = Counter(alike for page in pages for alike in {shape(line) for line in edges(page)})
    needed = max(3, len(pages) / 2)
    repeated = {alike for alike, count in counts.items() if count >= needed}
    return {line for page in pages for line in edges(page) if shape(line) in repeated}


def paragraphs(pages: Sequence[Sequence[PrintedLine]]) -> list[str]:
    """Join lines to paragraphs, across columns and pages where a sentence goes on."""
    groups: list[list[PrintedLine]] = []
    for page in pages:
        pitch = _usual_pitch(page)
        for place, line in enumerate(page):
            neighbours = page[max(0, place - 4) : place + 4]
            if groups and not _begins_paragraph(groups[-1][-1], line, neighbours, pitch):
                groups[-1].append(line)
            else:
                groups.append([line])
    words = Counter(word.lower() for page in pages for line in page for word in _WORD.findall(line.text))
    return [_join_lines(group, words) for group in groups]


def _usual_pitch(page: Sequence[PrintedLine]) -> float:
    steps = [above.bottom - below.bottom for above, below in pairwise(page)]
    downward = [step for step in steps if step > 0]
    return median(downward) if downward else 0.0


def _begins_paragraph(
    previous: PrintedLine, line: PrintedLine, neighbours: Sequence[PrintedLine], pitch: float
) -> bool:
    """Whether ``line`` begins a paragraph after ``previous``."""
    if previous.hyphen:
        return False
    ended = previous.text.rstrip(_CLOSERS)[-1:] in _TERMINATORS
    goes_on = line.text[:1].islower() and not ended
    if previous.page != line.page or line.bottom >= previous.top:
        return not goes_on
    if _ITEM.match(line.text):
        return True
    ratio = line.height / previous.height
    if not 1 / _HEIGHT_RATIO < ratio < _HEIGHT_RATIO and not goes_on:
        return True
    if pitch and previous.bottom - line.bottom > _PARAGRAPH_PITCH * max(pitch, previous.height):
        return True
    indented = line.left - previous.left > 0.8 * line.height
    if indented and not _ITEM.match(previous.text) and not goes_on:
        return True
    return not goes_on and _stopped_short(previous, line, neighbours)


def _stopped_short(previous: PrintedLine, line: PrintedLine, neighbours: Sequence[PrintedLine]) -> bool:
    """The next word would have fitted on the line above, so the line was ended on purpose."""
    reach = 3 * previous.height
    edge = max(near.right for near in (*neighbours, previous) if abs(near.left - previous.left) < reach)
    first_word = line.text.split(" ", 1)[0]
    width = (line.right - line.left) * (len(first_word) + 1) / max(len(line.text), 1)
    return previous.right + width + previous.height < edge


def _join_lines(group: Sequence[PrintedLine], words: Counter[str]) -> str:
    # Parts, not one growing text: a paragraph may have as many lines as the file.
    parts = [group[0].text]
    end = group[0].text
    for previous, line in pairwise(group):
        between = " "
        if previous.hyphen:
            between = "-" if _keeps_hyphen(end, line.text, words) else ""
        elif _CJK.match(end[-1:]) and _CJK.match(line.text):
            between = ""
        parts += [between, line.text]
        end = (end + between + line.text)[-_LONGEST_WORD:]
    return "".join([*parts, "-" if group[-1].hyphen else ""])


def _keeps_hyphen(text: str, following: str, words: Counter[str]) -> bool:
    """Whether the hyphen between two parts of a word stays. Whichever of the two spellings stands elsewhere
    in the document wins; else the hyphen goes, unless a capital or digit follows it.
    """
    head = re.search(r"[^\W\d_]+(?:-[^\W\d_]+)*$", text[-_LONGEST_WORD:])
    tail = _WORD.match(following)
    if not head or not tail or following[0].isupper():
        return True
    solid, hyphened = (head[0] + tail[0]).lower(), f"{head[0]}-{tail[0]}".lower()
    return words[hyphened] > words[solid]


_HYPHEN = 0x02
_BLANK = frozenset({0x02, 0x09, 0x0A, 0x0D, 0x20, 0xA0, 0xAD})
#: Control characters, private use and no characters at all: what fonts map glyphs to that they do not know.
_NO_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufdd0-\ufdef\ufffd-\uffff]")
#: Stands at the place of the second half of a character.
_SECOND_HALF = 0
#: The bullets of two common fonts of signs.
_OF_SYMBOL_FONTS = {0xF0B7: 0x2022, 0xF0A7: 0x25AA}
#: Unknown glyphs beside each other.
_UNKNOWN = re.compile(f"{REPLACEMENT}(?:[ \n]?{REPLACEMENT})+")
_PASSWORD_ERROR = 4


def read_pdf(data: bytes, source: SourceFile) -> Reading:
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
        notes = list(document_annotations(document))
    except (pypdfium2.PdfiumError, ValueError) as error:
        raise UnreadableError(f"not a readable PDF: {error_line(error)}") from error
    finally:
        document.close()
    return _reading(read, properties, notes)


class _Pages:
    """The lines of pages, what stands beside them, and what is not known of them."""

    def __init__(self) -> None:
        self.lines: list[list[PrintedLine]] = []
        self.annotations: list[str] = []
        self.pictured = RecordPlaces()
        self.glyphs = self.unknown = 0
        self._characters = 0

    def add(self, document: Any, number: int, source: SourceFile) -> None:
        """Read a page.

        Raises:
            UnreadableError: there is more text than ``files.max_characters``.
        """
        from pypdfium2 import raw

        page = document[number]
        text_page = page.get_textpage()
        codes = self._codes(text_page)
        lines = list(_lines(text_page, codes, number))
        annotations = list(page_annotations(document, page))
        if not lines and not annotations and raw.FPDFPage_CountObjects(page.raw):
            self.pictured.add(number + 1)
        text_page.close()
        page.close()
        self._characters += sum(len(line.text) for line in lines) + sum(map(len, annotations))
        if self._characters > source.limits.max_characters:
            raise UnreadableError(source.limits.over_limit_reason("max_characters", "characters of text"))
        self.lines.append(lines)
        self.annotations += annotations

    def _codes(self, text_page: Any) -> list[int]:
        """Characters of a page; U+FFFD where the font does not say which one a glyph is, or says none."""
        from pypdfium2 import raw

        codes: list[int] = []
        for place in range(text_page.count_chars()):
            code = raw.FPDFText_GetUnicode(text_page.raw, place)
            code = _OF_SYMBOL_FONTS.get(code, code)
            if codes and 0xDC00 <= code <= 0xDFFF and 0xD800 <= codes[-1] <= 0xDBFF:
                codes[-1:] = [0x10000 + (codes[-1] - 0xD800) * 0x400 + code - 0xDC00, _SECOND_HALF]
                continue
            hyphen = code == _HYPHEN and raw.FPDFText_IsHyphen(text_page.raw, place) == 1
            unmapped = raw.FPDFText_HasUnicodeMapError(text_page.raw, place) == 1 and code not in _BLANK
            if unmapped or (_NO_CHARACTER.match(chr(code)) and not hyphen):
                self.unknown += 1
                code = ord(REPLACEMENT)
            self.glyphs += code not in _BLANK
            codes.append(code)
        halves = [place for place, code in enumerate(codes) if 0xD800 <= code <= 0xDFFF]
        for place in halves:
            codes[place] = ord(REPLACEMENT)
        self.unknown += len(halves)
        return codes


def _reading(read: _Pages, properties: dict[str, str], notes: list[str]) -> Reading:
    pages = read.lines
    repeated = repeated_lines(pages)
    kept = [[line for line in page if line not in repeated] for page in pages]
    text = _UNKNOWN.sub(REPLACEMENT, "\n\n".join([*paragraphs(kept), *read.annotations]))
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
    record = FileRecord(clean(text), title=_title(properties.get("Title")), metadata=metadata)
    return Reading((record,), None, tuple(notes), tuple(remarks))


def _title(title: str | None) -> str | None:
    """The title property, unless a program made it from a file name."""
    title = one_line(title)
    machine_made = ("microsoft word -", "untitled", "unnamed", "document1")
    endings = (".doc", ".docx", ".pdf", ".tex", ".dvi", ".indd", ".qxd", ".rtf")
    if title is None or title.casefold().startswith(machine_made) or title.casefold().endswith(endings):
        return None
    return title


def _lines(text_page: Any, chars: list[int], number: int) -> Iterator[PrintedLine]:
    start = 0
    for place, code in enumerate([*chars, 0x0A]):
        hyphen = code == _HYPHEN
        if code in (0x0A, 0x0D) or hyphen:
            line = _line(text_page, chars, start, place, number, hyphen)
            if line:
                yield line
            start = place + 1


def _line(
    text_page: Any, chars: list[int], start: int, end: int, page: int, hyphen: bool
) -> PrintedLine | None:
    printed = [place for place in range(start, end) if chars[place] > 0x20 and chars[place] != 0xA0]
    if not printed:
        return None
    first, last = (text_page.get_charbox(place, loose=True) for place in (printed[0], printed[-1]))
    text = "".join(chr(code) for code in chars[printed[0] : printed[-1] + 1] if code != _SECOND_HALF)
    hyphen = hyphen or (text[-1] in "-\u2010\u00ad" and len(text) > 1 and text[-2].isalpha())
    return PrintedLine(
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


def page_annotations(document: Any, page: Any) -> Iterator[str]:
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


def document_annotations(document: Any) -> Iterator[str]:
    """Yield notes of what is in the file and not read: attached files, a form of another kind."""
    import pypdfium2

    if count := document.count_attachments():
        names = []
        for number in range(min(count, _MOST_NAMED)):
            with contextlib.suppress(pypdfium2.PdfiumError):
                names.append(one_line(document.get_attachment(number).get_name()) or "without a name")
        told = f" ({', '.join(names)}{', …' if count > len(names) else ''})" if names else ""
        yield f"not in the text: {count:,} attached {'file' if count == 1 else 'files'}{told}"
    if document.get_formtype() in _XFA:
        yield "not in the text: a form in XFA; print it to a PDF to have its fields read"
