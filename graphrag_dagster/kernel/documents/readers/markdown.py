"""Markdown, with front matter in YAML, TOML, JSON, or lines with a colon."""

import json
import re
from collections.abc import Mapping
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
_JSON = re.compile(
    r"\A(?P<fence>;;;|---json)[ \t]*\n(?P<block>.*?)^(?:;;;|---)[ \t]*(?:\n|\Z)\n*", re.DOTALL | re.MULTILINE
)
_BARE_JSON = re.compile(r"\A\{[ \t]*\n")
_LINE = re.compile(r"(?P<key>[A-Za-z][\w -]{0,40}?)[ \t]*:(?:[ \t]+(?P<value>.*)|[ \t]*)\Z")
_ITEM = re.compile(r"[ \t]*-[ \t]+(?P<value>.*)\Z")
_QUOTED = re.compile(r"(?P<mark>[\"'])(?P<inner>.*)(?P=mark)\Z")
#: Keys by which lines with a colon are told from a text that begins with labels.
_KNOWN = frozenset(
    {
        *(
            "title",
            "subtitle",
            "date",
            "author",
            "authors",
            "email",
            "category",
            "categories",
            "tags",
            "tag",
            "slug",
            "summary",
        ),
        *(
            "status",
            "lang",
            "language",
            "keywords",
            "description",
            "layout",
            "permalink",
            "modified",
            "updated",
            "published",
            "draft",
        ),
        *(
            "id",
            "aliases",
            "alias",
            "copyright",
            "template",
            "url",
            "save_as",
            "css",
            "base header level",
            "baseheaderlevel",
            "type",
        ),
        *(
            "affiliation",
            "version",
            "revision",
            "abstract",
            "created",
            "weight",
            "series",
            "translation",
            "headline",
            "comments",
            "image",
        ),
        *(
            "html header",
            "quotes language",
            "latex input",
            "latex mode",
            "bibtex",
            "license",
            "excerpt",
            "thumbnail",
            "toc",
            "robots",
        ),
    }
)
#: Characters of front matter; the library takes a second for each hundred thousand.
_LONGEST = 50_000
#: For open brackets it takes the square of their number.
_MOST_BRACKETS = 1_000
_MOST_LINES = 200


class FrontMatter(NamedTuple):
    """Properties in the order of the file, the text after them, and a note on what was not understood."""

    properties: dict[str, Any]
    text: str
    note: str | None = None


def front_matter(text: str) -> FrontMatter:
    """Take the front matter off a text; whatever is none, or is not understood, stays in the text.

    Known are YAML between ``---``, TOML between ``+++``, JSON between ``;;;`` or braces of its own, and lines
    ``Key: value`` up to a blank line or ``---``, as MultiMarkdown and Pelican have them, of keys that are
    usual there.
    """
    if found := _JSON.match(text):
        return _read(text, found["block"], found.end(), "JSON", json.loads)
    if found := _YAML.match(text):
        return _yaml(text, found["block"], found.end())
    if found := _TOML.match(text):
        import tomllib

        return _read(text, found["block"], found.end(), "TOML", tomllib.loads)
    if _BARE_JSON.match(text):
        return _bare_json(text)
    return _colon_properties(text)


def _as_text(text: str, why: str) -> FrontMatter:
    return FrontMatter({}, text, f"front matter {why} was kept as text")


def _read(text: str, block: str, end: int, kind: str, load: Any) -> FrontMatter:
    if len(block) > _LONGEST:
        return _as_text(text, f"of more than {_LONGEST:,} characters")
    try:
        properties = load(block)
    except RecursionError:
        return _as_text(text, "that is nested too deeply")
    except ValueError as error:
        lines = block.split("\n")
        if kind == "TOML" and (
            lenient := _parse_leniently([re.sub(r"^([\w-]+)[ \t]*=", r"\1:", line) for line in lines])
        ):
            return FrontMatter(
                lenient, text[end:], "front matter is not valid TOML and was read line by line"
            )
        return FrontMatter(
            {}, text, f"front matter is not valid {kind} and was kept as text ({error_line(error)})"
        )
    if not isinstance(properties, Mapping):
        return FrontMatter({}, text)
    return FrontMatter({str(json_value(key)): value for key, value in properties.items()}, text[end:])


def _yaml(text: str, block: str, end: int) -> FrontMatter:
    if len(block) > _LONGEST:
        return _as_text(text, f"of more than {_LONGEST:,} characters")
    if block.count("[") + block.count("{") > _MOST_BRACKETS:
        return _as_text(text, f"with more than {_MOST_BRACKETS} brackets")
    import yaml

    try:
        # References can make a small block expand without bound.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, yaml.SafeLoader)):
            return _as_text(text, "with YAML references")
        properties = yaml.safe_load(block)
    except MemoryError:
        raise
    # What the library makes of values that contradict their tags is any error at all.
    except Exception as error:
        if lenient := _parse_leniently(block.split("\n")):
            return FrontMatter(
                lenient, text[end:], "front matter is not valid YAML and was read line by line"
            )
        return FrontMatter(
            {}, text, f"front matter is not valid YAML and was kept as text ({error_line(error)})"
        )
    if properties is None:
        return FrontMatter({}, text[end:])
    if not isinstance(properties, Mapping):
        return FrontMatter({}, text)
    return FrontMatter({str(json_value(key)): value for key, value in properties.items()}, text[end:])


def _parse_leniently(lines: list[str]) -> dict[str, Any] | None:
    """Properties of lines ``key: value`` with items below.

    None where a line is something else, or no key is usual.
    """
    found: dict[str, Any] = {}
    key = None
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if item := _ITEM.match(line):
            if key is None or not isinstance(found[key], list | None):
                return None
            found[key] = [*(found[key] or []), _unquote(item["value"])]
        elif (of_key := _LINE.match(line)) and not line[0].isspace():
            key = of_key["key"]
            found[key] = _value(of_key["value"] or "")
        else:
            return None
    return found if any(key.casefold() in _KNOWN for key in found) else None


def _value(written: str) -> Any:
    bare = written.strip()
    if bare.startswith("[") and bare.endswith("]"):
        return [_unquote(one) for one in bare[1:-1].split(",") if one.strip()]
    return _unquote(bare) or None


def _unquote(written: str) -> str:
    bare = written.strip()
    found = _QUOTED.match(bare)
    return found["inner"] if found else bare


def _bare_json(text: str) -> FrontMatter:
    head = text[:_LONGEST]
    try:
        properties, end = json.JSONDecoder().raw_decode(head)
    except (ValueError, RecursionError):
        return FrontMatter({}, text)
    # JSON alone is the text of its file.
    following = text[end:].lstrip(" \t")
    if not isinstance(properties, dict) or not following.startswith("\n") or not following.strip():
        return FrontMatter({}, text)
    return FrontMatter(properties, following.lstrip("\n"))


def _colon_properties(text: str) -> FrontMatter:
    found: dict[str, Any] = {}
    place, key = 0, ""
    for _ in range(_MOST_LINES):
        end = text.find("\n", place)
        line = text[place : end if end >= 0 else len(text)]
        following = end + 1 if end >= 0 else len(text)
        if not line.strip() or line.strip() in ("---", "..."):
            # Without a title or two keys it may as well be a label.
            known = {key.casefold() for key in found}
            if (
                not found
                or not (known & {"title", "headline"} or len(known) > 1)
                or not text[following:].strip()
            ):
                return FrontMatter({}, text)
            return FrontMatter(found, text[following:].lstrip("\n"))
        of_key = _LINE.match(line)
        if of_key and of_key["key"].casefold() in _KNOWN:
            key = of_key["key"]
            found[key] = _unquote(of_key["value"] or "") or None
        elif key and line[0] in " \t":
            found[key] = "\n".join(filter(None, (found[key], line.strip())))
        else:
            break
        place = following
    return FrontMatter({}, text)


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
