"""Reader of ``corpus.yaml``: a safe subset of YAML, with the line of each value."""

import math
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.printable import shorten
from graphrag_dagster.kernel.settings.credentials import CREDENTIAL, KEYS_STAND, looks_like_a_key, names_a_key

#: Keys and list positions, from the top down to a value.
Location = tuple[str | int, ...]

_MOST_BYTES = 500_000
_DEEPEST = 20
_LONGEST_NUMBER = 40
_LONGEST_SHOWN = 40
_TAG = "tag:yaml.org,2002:"
_NUMBERS = {f"{_TAG}int", f"{_TAG}float"}
_SCALARS = _NUMBERS | {f"{_TAG}null", f"{_TAG}bool"}
_RESOLVER = yaml.resolver.Resolver()
_CONSTRUCTOR = yaml.constructor.SafeConstructor()
# libyaml if PyYAML was built with it: ten times as fast.
_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class YamlValues:
    """Contents of a file, and the line of every value, counted from 1."""

    content: object
    lines: Mapping[Location, int] = field(default_factory=dict)


def parse_bytes(path: Path, data: bytes) -> YamlValues:
    """Parse the bytes of a file, in UTF-8, or in UTF-16 with a byte order mark.

    Numbers, texts, true, false, null, lists and mappings are read; a date is a text. Rejected are aliases (a
    short file can expand to gigabytes), tags, keys that are not text, duplicate keys, several documents,
    infinite numbers and control characters.

    Raises:
        SettingsError: what is wrong; names file and line.
    """
    try:
        return _Composer(data).compose()
    except SettingsError as error:
        raise SettingsError(f"{path} {error}") from None
    except yaml.YAMLError as error:
        raise SettingsError(f"{path} {_syntax_message(error, data)}") from None
    # Escapes of invalid characters, if PyYAML has no libyaml.
    except (ValueError, OverflowError) as error:
        raise SettingsError(f"{path} is not valid YAML: {shorten(str(error), 200)}") from None


def _syntax_message(error: yaml.YAMLError, data: bytes) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        line = data.count(b"\n", 0, error.position) + 1
        return f"is not valid YAML: it contains an invalid character (line {line})"
    if not isinstance(error, yaml.MarkedYAMLError):
        return f"is not valid YAML: {shorten(str(error), 200)}"
    mark = error.problem_mark or error.context_mark
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    # Newer PyYAML versions have a limit of their own, which is reached first when libyaml parses ahead.
    if "nesting depth" in str(error.problem):
        return f"is nested more than {_DEEPEST} levels deep{where}"
    return f"is not valid YAML: {error.problem or error.context}{where}"


def read_bytes(path: Path) -> bytes | None:
    """Return the bytes of a file; None if there is none.

    Raises:
        SettingsError: it is not a regular file, too large, or unreadable.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise SettingsError(f"{path} is {kind}; settings must be a text file of that name")
        if status.st_size > _MOST_BYTES:
            raise SettingsError(
                f"{path} has {status.st_size:,} bytes; the limit for settings is {_MOST_BYTES:,}"
            )
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None


class _Composer:
    """Builds values from the events of a parser, which reads one line at a time."""

    def __init__(self, data: bytes) -> None:
        self._events: Iterator[Any] = iter(yaml.parse(data, Loader=_PARSER))
        self._lines: dict[Location, int] = {}

    def compose(self) -> YamlValues:
        content, documents = None, 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _yaml_error(event, "a second document starts; keep one")
            elif isinstance(event, yaml.NodeEvent):
                content = self._value(event, ())
        return YamlValues(content, self._lines)

    def _value(self, event: Any, location: Location) -> object:
        if len(location) > _DEEPEST:
            raise _yaml_error(event, f"nested more than {_DEEPEST} levels deep")
        if isinstance(event, yaml.AliasEvent):
            raise _yaml_error(
                event, f"*{_short(event.anchor)} is an alias, which is not allowed; write the value out"
            )
        if event.tag is not None:
            raise _yaml_error(event, f"the tag {_short(event.tag)} is not supported; remove it")
        self._lines[location] = event.start_mark.line + 1
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(location)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(location)
        return _scalar(event)

    def _sequence(self, location: Location) -> list[object]:
        items: list[object] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, (*location, len(items))))
        return items

    def _mapping(self, location: Location) -> dict[str, object]:
        mapping: dict[str, object] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = _key(event)
            inner = (*location, key)
            if key in mapping:
                first = self._lines[inner]
                raise _yaml_error(event, f"duplicate key {_short(key)}, first in line {first}; keep one")
            # The line of a key is more useful than that of its value, which may start below it.
            line = event.start_mark.line + 1
            mapping[key] = self._value(next(self._events), inner)
            self._lines[inner] = line
        return mapping


def _key(event: Any) -> str:
    is_scalar = isinstance(event, yaml.ScalarEvent)
    value = _scalar(event) if is_scalar else None
    if not isinstance(value, str):
        shown = _short(event.value) if is_scalar else "a list or mapping"
        raise _yaml_error(event, f"the key {shown} is not text; put it in quotes if it is intended")
    return value


def _scalar(event: Any) -> object:
    text: str = event.value
    if any(unicodedata.category(character) in {"Cc", "Cs"} and character not in "\n\t" for character in text):
        raise _yaml_error(event, "a text contains a control character")
    tag = _RESOLVER.resolve(yaml.ScalarNode, text, event.implicit)  # type: ignore[no-untyped-call]
    # Dates, and times such as 12:30 (base-60 numbers in YAML 1.1), stay texts.
    if tag not in _SCALARS or (tag in _NUMBERS and ":" in text):
        return text
    if tag in _NUMBERS and len(text) > _LONGEST_NUMBER:
        raise _yaml_error(event, f"the number {_short(text)} is too long")
    try:
        value = _CONSTRUCTOR.yaml_constructors[tag](_CONSTRUCTOR, yaml.ScalarNode(tag, text))
    except ValueError:
        # Such as 0x_, which only looks like a number.
        return text
    if isinstance(value, float) and not math.isfinite(value):
        raise _yaml_error(event, f"{_short(text)} is not a finite number")
    return value


def _yaml_error(event: Any, why: str) -> SettingsError:
    return SettingsError(f"is invalid: line {event.start_mark.line + 1}: {why}")


def _short(text: str | None) -> str:
    return "…" if looks_like_a_key(text or "") else shorten(text or "", _LONGEST_SHOWN)


_MOST_SHOWN = 3
_LONGEST_FOUND = 80
_LONGEST_KEY = 40
_LONGEST_REASON = 250
_EXPLANATIONS = {
    "model_type": "should be a section, with keys below it",
    "dict_type": "should be a mapping, with keys below it",
    "list_type": "should be a list",
    "tuple_type": "should be a list",
    "string_type": "should be text; put it in quotes",
    "missing": "is required",
}


def validation_message(
    details: Sequence[Mapping[str, Any]], root: type[BaseModel], lines: Mapping[Location, int]
) -> str:
    """Describe the first problems in one line, each with its line in the file if known.

    Args:
        details: the errors of a pydantic ``ValidationError``.
        root: the model that was validated.
        lines: the line of every value in the file.
    """
    shown = [f"{_line(detail['loc'], lines)}{_problem(detail, root)}" for detail in details[:_MOST_SHOWN]]
    more = len(details) - len(shown)
    return "; ".join(shown) + (f"; and {more:,} more problems" if more else "")


def _problem(detail: Mapping[str, Any], root: type[BaseModel]) -> str:
    *above, last = location = tuple(part for part in detail["loc"] if part != "[key]") or ("settings",)
    key = ".".join(
        "…" if looks_like_a_key(str(part)) else shorten(str(part), _LONGEST_KEY) for part in location
    )
    if detail["type"] == CREDENTIAL:
        return f"{key} {detail['msg']}"
    if detail["type"] == "extra_forbidden" and "model" in location and names_a_key(str(last)):
        return f"{key} is not a setting; {KEYS_STAND}"
    if detail["type"] == "extra_forbidden":
        known = _allowed(root, above)
        near = get_close_matches(str(last)[:_LONGEST_FOUND], known, 1)
        # A section may have fifty keys.
        meant = f"did you mean {near[0]}?" if near else f"allowed here: {', '.join(known)}"
        return f"{key} is not a setting; {meant}"
    shown = _display_value(location, detail["input"])
    if detail["type"] == "literal_error":
        is_that = f"{key} is {shown}" if shown else f"{key} has another value"
        return f"{is_that}; allowed: {detail['ctx']['expected']}"
    message = _EXPLANATIONS.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    text = shorten(message.replace("Input should", "should"), _LONGEST_REASON)
    return f"{key}: {text}" + (f" (found {shown})" if shown else "")


def _line(location: Location, lines: Mapping[Location, int]) -> str:
    for depth in range(len(location), 0, -1):
        if line := lines.get(location[:depth]):
            return f"line {line}: "
    return ""


def _display_value(location: Location, value: object) -> str:
    """Return a value for display; blank if it may be a credential or is uninformative."""
    if value is None or isinstance(value, bool):
        return "nothing" if value is None else str(value).lower()
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, Mapping):
        return ""
    hidden = location[0] == "model" or names_a_key(str(location[-1]))
    if isinstance(value, str) and (hidden or looks_like_a_key(value)):
        return ""
    return shorten(repr(value), _LONGEST_FOUND)


def _allowed(root: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return the keys of the section at a location, which may be inside mappings and lists."""
    annotation: Any = root
    for part in location:
        model = _model_of_type(annotation)
        fields = model.model_fields if model else {}
        # A key of a mapping, or a position in a list: the annotation says what it contains.
        annotation = fields[part].annotation if isinstance(part, str) and part in fields else annotation
    section = _model_of_type(annotation)
    return sorted(section.model_fields) if section else []


def _model_of_type(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation if issubclass(annotation, BaseModel) else None
    models = (_model_of_type(inner) for inner in get_args(annotation))
    return next((model for model in models if model), None)
