"""Markdown, with front matter in YAML or TOML."""

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from graphrag_dagster.kernel.documents.file_records import (
    FileRecord,
    Reading,
    SourceFile,
    error_line,
    json_value,
    one_line,
)
from graphrag_dagster.kernel.documents.readers.data.stored_dates import iso_date
from graphrag_dagster.kernel.documents.text_decoding import decode
from graphrag_dagster.kernel.text.markup_spans import plain_text

# A rule is followed by a blank line, front matter never is.
_YAML = re.compile(
    r"\A---[ \t]*\n(?![ \t]*\n)(?P<block>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)\n*", re.DOTALL | re.MULTILINE
)
_TOML = re.compile(r"\A\+\+\+[ \t]*\n(?P<block>.*?)^\+\+\+[ \t]*(?:\n|\Z)\n*", re.DOTALL | re.MULTILINE)
#: Characters of front matter; the library takes a second for each hundred thousand.
_LONGEST = 50_000
#: For open brackets it takes the square of their number.
_MOST_BRACKETS = 1_000


class FrontMatter(NamedTuple):
    """Properties in the order of the file, the text after them, and a note on what was not understood."""

    properties: dict[str, Any]
    text: str
    note: str | None = None


def front_matter(text: str) -> FrontMatter:
    """Take the front matter off a text: YAML between ``---``, or TOML between ``+++``.

    Whatever is none, or is not understood, stays in the text.
    """
    if found := _YAML.match(text):
        return _read(text, found, "YAML", _load_yaml)
    if found := _TOML.match(text):
        return _read(text, found, "TOML", tomllib.loads)
    return FrontMatter({}, text)


def _read(text: str, found: re.Match[str], kind: str, load: Callable[[str], object]) -> FrontMatter:
    block = found["block"]
    problem = f"it has more than {_LONGEST:,} characters" if len(block) > _LONGEST else None
    properties: object = {}
    try:
        properties = {} if problem else load(block)
    except MemoryError:
        raise
    except RecursionError:
        problem = "it is nested too deeply"
    # What the library makes of values that contradict their tags is any error at all.
    except Exception as error:
        problem = error_line(error)
    if problem:
        return FrontMatter({}, text, f"front matter is not valid {kind} and was kept as text ({problem})")
    if not isinstance(properties, Mapping):
        return FrontMatter({}, text)
    return FrontMatter(
        {str(json_value(key)): value for key, value in properties.items()}, text[found.end() :]
    )


def _load_yaml(block: str) -> object:
    import yaml

    if block.count("[") + block.count("{") > _MOST_BRACKETS:
        raise ValueError(f"it has more than {_MOST_BRACKETS} brackets")
    # References can make a small block expand without bound.
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, yaml.SafeLoader)):
        raise ValueError("it has YAML references")
    properties = yaml.safe_load(block)
    return {} if properties is None else properties


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<hashes>\S.*)$"
    r"|^(?P<underlined>\S.*)\n {0,3}(?P<rule>={2,}|-{2,})[ \t]*$",
    re.MULTILINE,
)
_TARGET = r"(?:\([^()\n]{0,1000}\)|\[[^\[\]\n]{0,200}\])"
_IMAGE = re.compile(rf"!\[[^\[\]\n]{{0,400}}\]{_TARGET}")
_LINK = rf"\[[^\[\]\n]{{0,400}}\]{_TARGET}"
_EMPTY_LINK = re.compile(rf"\[\s*\]{_TARGET}")
#: What may stand above a title: links, tags, comments, targets of links, properties.
_ABOVE_TITLE = re.compile(
    rf"{_LINK}|<!--.*?-->|<[^<>]{{0,1000}}>"
    r"|^ {0,3}\[[^\[\]\n]{1,200}\]:[^\n]*$|^[A-Za-z][\w -]{0,30}:[ \t][^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_ABOVE_TITLE_CHARACTERS = 20_000
_TITLE_KEYS = ("title", "headline")
_DATE_KEYS = ("date", "published", "created")


def read_markdown(data: bytes, _source: SourceFile) -> Reading:
    """Read Markdown. The text is kept as written, without the front matter, which gives title, date, id
    and metadata.

    Raises:
        RefusedError: not text.
    """
    decoded = decode(data)
    properties, text, note = front_matter(decoded.text)
    folded = {key.casefold(): key for key in properties}
    title = _take_property(properties, folded, _TITLE_KEYS)
    record = FileRecord(
        text,
        title=title or title_heading(text),
        date=_take_property(properties, folded, _DATE_KEYS),
        source_id=_take_property(properties, folded, ("id",)),
        metadata=properties,
    )
    return Reading((record,), decoded.encoding, decoded.notes + ((note,) if note else ()))


def title_heading(text: str) -> str | None:
    """Return the words of the Markdown heading that is the title of a text, or None.

    It is the first heading outside code blocks, if nothing but pictures, links, tags and properties stands
    above it, or if no other heading is of its level or above: else it heads a section.
    """
    text = _FENCE.sub("", text)
    headings = [(found, _level(found)) for found in _HEADING.finditer(text)]
    if not headings:
        return None
    first, level = headings[0]
    above = _IMAGE.sub("", text[: min(first.start(), _ABOVE_TITLE_CHARACTERS)])
    if re.search(r"\w", _ABOVE_TITLE.sub("", above)) and any(other <= level for _, other in headings[1:]):
        return None
    words = (first["hashes"] or "").rstrip().rstrip("#") or first["underlined"]
    without_images = _EMPTY_LINK.sub("", _IMAGE.sub("", words))
    return one_line(plain_text(without_images.replace("`", ""))) or None


def _level(heading: re.Match[str]) -> int:
    return len(heading["marks"]) if heading["marks"] else 1 if heading["rule"].startswith("=") else 2


def _take_property(
    properties: dict[str, Any], folded: Mapping[str, str], names: tuple[str, ...]
) -> str | None:
    for name in names:
        key = folded.get(name)
        value = properties.get(key) if key else None
        if names is _DATE_KEYS and key:
            value = iso_date(value, key) or value
        if key and isinstance(value, str | int | float) and not isinstance(value, bool):
            del properties[key]
            return one_line(str(json_value(value)))
    return None
