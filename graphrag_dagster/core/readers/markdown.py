"""Markdown, with YAML front matter."""

import datetime
import re
from collections.abc import Mapping
from typing import Any

from graphrag_dagster.core.files.decoding import decode
from graphrag_dagster.core.files.records import Reading, Record, Source, error_line, one_line, plain

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)\n*", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?P<hashes>\S.*)$"
    r"|^(?P<underlined>\S.*)\n {0,3}(?:={2,}|-{2,})[ \t]*$",
    re.MULTILINE,
)
_TITLE_KEYS = ("title", "headline")
_DATE_KEYS = ("date", "published")
#: Characters of front matter; the library takes a second for each hundred thousand.
_LONGEST = 50_000
#: For open brackets it takes the square of their number.
_MOST_BRACKETS = 1_000


def read_markdown(data: bytes, _source: Source) -> Reading:
    """Read Markdown. The text is kept as written, without the front matter, which gives title, date, id
    and metadata.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    properties, text, note = _front_matter(decoded.text)
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


def _front_matter(text: str) -> tuple[dict[str, Any], str, str | None]:
    found = _FRONT_MATTER.match(text)
    if not found:
        return {}, text, None
    if len(found[1]) > _LONGEST:
        return {}, text, f"front matter of more than {_LONGEST:,} characters was kept as text"
    if found[1].count("[") + found[1].count("{") > _MOST_BRACKETS:
        return {}, text, f"front matter with more than {_MOST_BRACKETS} brackets was kept as text"
    import yaml

    try:
        # References can make a small block expand without bound.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(found[1], yaml.SafeLoader)):
            return {}, text, "front matter with YAML references was kept as text"
        properties = yaml.safe_load(found[1])
    except MemoryError:
        raise
    # What the library makes of values that contradict their tags is any error at all.
    except Exception as error:
        return {}, text, f"front matter is not valid YAML and was kept as text ({error_line(error)})"
    if properties is None:
        return {}, text[found.end() :], None
    if not isinstance(properties, Mapping):
        return {}, text, None
    return {str(plain(key)): value for key, value in properties.items()}, text[found.end() :], None


def _taken(properties: dict[str, Any], folded: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    for name in names:
        key = folded.get(name)
        value = properties.get(key) if key else None
        if isinstance(value, datetime.date):
            value = value.isoformat()
        if key and isinstance(value, str | int | float):
            del properties[key]
            return one_line(str(plain(value)))
    return None
