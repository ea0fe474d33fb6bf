"""Markdown, with front matter."""

import re
from collections.abc import Mapping
from typing import Any

from graphrag_dagster.kernel.documents.files.decoding import decode
from graphrag_dagster.kernel.documents.files.records import Reading, Record, Source, one_line, plain
from graphrag_dagster.kernel.documents.readers.data.dates import iso_date
from graphrag_dagster.kernel.documents.readers.markup.front_matter import front_matter

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?P<hashes>\S.*)$"
    r"|^(?P<underlined>\S.*)\n {0,3}(?:={2,}|-{2,})[ \t]*$",
    re.MULTILINE,
)
_TITLE_KEYS = ("title", "headline")
_DATE_KEYS = ("date", "published", "created")


def read_markdown(data: bytes, _source: Source) -> Reading:
    """Read Markdown. The text is kept as written, without the front matter, which gives title, date, id
    and metadata.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    properties, text, note = front_matter(decoded.text)
    folded = {key.casefold(): key for key in properties}
    title = _taken(properties, folded, _TITLE_KEYS)
    record = Record(
        text,
        title=title or first_heading(text),
        date=_taken(properties, folded, _DATE_KEYS),
        source_id=_taken(properties, folded, ("id",)),
        metadata=properties,
    )
    return Reading((record,), decoded.encoding, decoded.notes + ((note,) if note else ()))


def first_heading(text: str) -> str | None:
    """Return the words of the first Markdown heading outside code blocks, or None."""
    found = _HEADING.search(_FENCE.sub("", text))
    if not found:
        return None
    return one_line((found["hashes"] or "").rstrip().rstrip("#") or found["underlined"])


def _taken(properties: dict[str, Any], folded: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    for name in names:
        key = folded.get(name)
        value = properties.get(key) if key else None
        if names is _DATE_KEYS and key:
            value = iso_date(value, key) or value
        if key and isinstance(value, str | int | float) and not isinstance(value, bool):
            del properties[key]
            return one_line(str(plain(value)))
    return None
