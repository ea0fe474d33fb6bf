"""Jupyter notebooks (ipynb)."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    SourceFile,
    UnreadableError,
    clean,
    json_value,
    note_of_counts,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.html import parse, to_text
from graphrag_dagster.kernel.documents.readers.markdown import title_heading
from graphrag_dagster.kernel.documents.text_decoding import decode

_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_FENCE = re.compile(r"`{3,}")
_PICTURE = re.compile(r"!\[([^\]\n]{0,300})\]\((?:attachment:[^)\n]{0,300}|data:image/[^)]{0,5000000})\)")
#: Forms of an output of which the words beside it, if any, say only what it is.
_DRAWN = re.compile(r"image/|png|jpeg|svg|video/|audio/|widget|plotly|vega|/javascript\Z")
#: Forms of an output that are words, the best first.
_OUTPUTS = ("text/markdown", "text/plain", "text/latex", "text/html", "application/json")


def read_notebook(data: bytes, _source: SourceFile) -> Reading:
    """Read the cells of a notebook in their order: texts as they are, code between fences, and what it gave.

    Pictures are noted; the title is the notebook's, else the heading it begins with.

    Raises:
        RefusedError: not text.
        UnreadableError: not JSON, or no notebook.
    """
    decoded = decode(data)
    if not decoded.text.strip():
        return Reading((), decoded.encoding, decoded.notes)
    try:
        content = json.loads(decoded.text)
    except RecursionError as error:
        raise UnreadableError("a notebook that is nested too deeply") from error
    except ValueError as error:
        raise UnreadableError(f"not a notebook: not valid JSON, {str(error).split(';')[0]}") from error
    cells = _cells(content)
    told = content.get("metadata")
    told = told if isinstance(told, Mapping) else {}
    language = _language(told)
    left: Counter[str] = Counter()
    text = clean("\n\n".join(part for cell in cells for part in _parts(cell, language, left) if part.strip()))
    title = told.get("title")
    record = FileRecord(
        text,
        title=one_line(title) if isinstance(title, str) and title.strip() else title_heading(text),
        metadata={"language": language, "authors": _authors(told)},
    )
    return Reading((record,), decoded.encoding, (*decoded.notes, *note_of_counts("left out", left)))


def _cells(content: Any) -> list[Any]:
    if isinstance(content, Mapping):
        cells = content.get("cells")
        if isinstance(cells, list):
            return cells
        # Before the fourth form of notebooks cells stood in sheets.
        sheets = content.get("worksheets")
        if isinstance(sheets, list):
            found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, Mapping)]
            return [cell for cells in found if isinstance(cells, list) for cell in cells]
    raise UnreadableError("not a notebook: it has no list of cells")


def _language(told: Mapping[str, Any]) -> str:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        found = told.get(key)
        if isinstance(found, Mapping) and isinstance(found.get(name), str):
            return one_line(found[name]) or ""
    return ""


def _authors(told: Mapping[str, Any]) -> list[str]:
    found = told.get("authors")
    if not isinstance(found, list):
        return []
    return [str(json_value(one.get("name") if isinstance(one, Mapping) else one)) for one in found]


def _parts(cell: Any, language: str, left: Counter[str]) -> Iterator[str]:
    if not isinstance(cell, Mapping):
        left["things that are no cells"] += 1
        return
    kind = cell.get("cell_type")
    text = _join_text(cell.get("source", cell.get("input")))
    if kind == "code":
        if text.strip():
            longest = max(map(len, _FENCE.findall(text)), default=2)
            fence = "`" * max(3, longest + 1)
            yield f"{fence}{language}\n{text.rstrip()}\n{fence}"
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            yield _output(output, left).strip("\n")
    elif kind == "heading":
        level = cell.get("level")
        yield f"{'#' * (level if isinstance(level, int) and 0 < level < 7 else 1)} {text}"
    else:
        text, pictures = _PICTURE.subn(r"\1", text)
        if pictures:
            left["pictures and widgets"] += pictures
        yield text


def _output(output: Any, left: Counter[str]) -> str:
    if not isinstance(output, Mapping):
        return ""
    if output.get("output_type") in ("error", "pyerr"):
        if output.get("traceback"):
            left["tracebacks of errors"] += 1
        return ": ".join(filter(None, (_join_text(output.get("ename")), _join_text(output.get("evalue")))))
    if output.get("output_type") == "stream":
        return _terminal_text(_join_text(output.get("text")))
    # In the third form of notebooks the kinds of data stand beside each other, under short names.
    data = output.get("data")
    data = (
        data
        if isinstance(data, Mapping)
        else {f"text/{'plain' if key == 'text' else key}": output[key] for key in output}
    )
    if any(_DRAWN.search(str(what)) for what in data):
        left["pictures and widgets"] += 1
        return ""
    for form in _OUTPUTS:
        if form in data:
            said = _join_text(data[form])
            return to_text(parse(said))[0] if form == "text/html" else _terminal_text(said)
    return ""


def _terminal_text(text: str) -> str:
    """Output as a terminal would show it: without colours, each line as last written."""
    text = _COLOURS.sub("", text.replace("\r\n", "\n"))
    if "\r" not in text:
        return text
    return "\n".join(
        next((part for part in reversed(line.split("\r")) if part.strip()), "") for line in text.split("\n")
    )


def _join_text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    if isinstance(value, str):
        return value
    return json.dumps(json_value(value), ensure_ascii=False) if value else ""
