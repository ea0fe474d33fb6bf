"""What a PDF holds besides its pages: comments, fields of forms, files."""

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from graphrag_dagster.core.files.records import one_line

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
    """What a function of the library writes as UTF-16, on one line."""
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
