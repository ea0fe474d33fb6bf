"""Editing ``corpus.yaml`` in place, so that everything else in it stays as written."""

import codecs
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.settings.yaml_file import parse_bytes

_BARE_BREAK = re.compile(r"(?<!\r)\n")

#: Key with dots → value: a number, a boolean or a text.
Values = Mapping[str, Any]


def with_values(text: str, values: Values) -> str:
    """Return the text of a settings file, which may be blank, with these values set; all else stays as it is.

    Raises:
        SettingsError: one of them cannot be inserted.
    """
    for key, value in values.items():
        text = _with(text, key.split("."), value)
    return text


def write_settings(folder: Path, values: Values) -> Path:
    """Set values in the settings file of a corpus, creating it if needed, and return its path.

    Raises:
        SettingsError: the file cannot be edited, or would be invalid afterwards; it is left unchanged.
    """
    # What a link leads to is edited, not replaced by a file.
    path = (folder / SETTINGS_FILE).resolve()
    before = path.read_bytes() if path.exists() else b""
    try:
        text = before.decode("utf-8-sig")
        after = with_values(text, values)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path} cannot be edited: {' '.join(str(error).split())}") from error
    if "\r\n" in text and not _BARE_BREAK.search(text):
        after = _BARE_BREAK.sub("\r\n", after)
    data = (codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b"") + after.encode()
    edited = parse_bytes(path, data)
    parse_settings(edited.content or {}, str(path), edited.lines)
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(data)
    if path.exists():
        shutil.copymode(path, draft)
    draft.replace(path)
    return path


def _with(text: str, keys: list[str], value: Any) -> str:
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    if node is None:
        # Only comments.
        return _append(text, keys, value)
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode):
            above, name = ".".join(keys[:depth]) or "the file", ".".join(keys)
            raise SettingsError(f"{above} is not a mapping, so {name} cannot be set; set it by hand")
        child = next((inner for outer, inner in node.value if outer.value == key), None)
        if child is None:
            return _insert(text, node, keys[depth:], value)
        if isinstance(child, yaml.ScalarNode) and not child.value:
            # An empty section: put its mapping after the colon.
            return _replace(text, child, _nested(keys[depth + 1 :], value))
        node = child
    return _replace(text, node, value)


def _append(text: str, keys: list[str], value: Any) -> str:
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + _lines(keys, value)


def _insert(text: str, node: yaml.MappingNode, keys: list[str], value: Any) -> str:
    """Insert a missing key as the first of a mapping."""
    if node.flow_style:
        position = node.start_mark.index + 1
        entry = _flow(_nested(keys, value))[1:-1]
        return f"{text[:position]}{entry}{', ' if node.value else ''}{text[position:]}"
    first = node.value[0][0].start_mark
    if not first.column:
        return _append(text, keys, value)
    begin = first.index - first.column
    return text[:begin] + indent(_lines(keys, value), " " * first.column) + text[begin:]


def _replace(text: str, node: yaml.Node, value: Any) -> str:
    """Replace a value, or fill in a missing one."""
    begin, end = node.start_mark.index, node.end_mark.index
    return text[:begin] + (" " if begin == end else "") + _flow(value) + text[end:]


def _nested(keys: list[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _lines(keys: list[str], value: Any) -> str:
    return yaml.safe_dump(_nested(keys, value), allow_unicode=True)


def _flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)
