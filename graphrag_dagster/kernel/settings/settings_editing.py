"""Editing ``corpus.yaml`` in place, so that everything else in it stays as written."""

import codecs
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.file_discovery import SETTINGS_FILE
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings

_BARE_BREAK = re.compile(r"(?<!\r)\n")

#: Key with dots → value: a number, a boolean or a text.
Values = Mapping[str, Any]


def lines_of(values: Values) -> str:
    """Return settings as lines of ``corpus.yaml``."""
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        mapping = nested
        for section in sections:
            mapping = mapping.setdefault(section, {})
        mapping[last] = value
    return yaml.safe_dump(nested, sort_keys=False, allow_unicode=True)


def with_values(text: str, values: Values) -> str:
    """Return the text of a settings file with these values set; comments, order and layout are preserved.

    Raises:
        SettingsError: one of them cannot be inserted.
    """
    for key, value in values.items():
        text = _with(text, key.split("."), value, key)
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
        parse_settings(yaml.safe_load(after) or {}, str(path))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{path} cannot be edited: {' '.join(str(error).split())}") from error
    if "\r\n" in text and not _BARE_BREAK.search(text):
        after = _BARE_BREAK.sub("\r\n", after)
    mark = codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b""
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(mark + after.encode())
    if path.exists():
        shutil.copymode(path, draft)
    draft.replace(path)
    return path


def _with(text: str, keys: list[str], value: Any, name: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        # Only comments.
        return _append(text, keys, value)
    node: Any = root
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode):
            raise SettingsError(
                f"{'.'.join(keys[:depth]) or 'the file'} is not a mapping, so {name} cannot be set; set it "
                "by hand"
            )
        child = next((inner for outer, inner in node.value if outer.value == key), None)
        rest = keys[depth + 1 :]
        if child is None:
            return _insert(text, node, keys[depth:], value)
        if not rest or (isinstance(child, yaml.ScalarNode) and not child.value):
            return _replace(text, child, rest, value)
        node = child
    return text


def _append(text: str, keys: list[str], value: Any) -> str:
    gap = "" if not text or text.endswith("\n") else "\n"
    return text + gap + lines_of({".".join(keys): value})


def _insert(text: str, node: yaml.MappingNode, keys: list[str], value: Any) -> str:
    """Insert a missing key as the first of a mapping."""
    if node.flow_style:
        position = node.start_mark.index + 1
        return f"{text[:position]}{_flow(keys, value)}{', ' if node.value else ''}{text[position:]}"
    first = node.value[0][0].start_mark
    if not first.column:
        return _append(text, keys, value)
    begin = first.index - first.column
    lines = "".join(
        f"{' ' * first.column}{line}\n" for line in lines_of({".".join(keys): value}).splitlines()
    )
    return text[:begin] + lines + text[begin:]


def _replace(text: str, node: yaml.Node, keys: list[str], value: Any) -> str:
    """Replace a value, or fill in a missing one."""
    begin, end = node.start_mark.index, node.end_mark.index
    if not keys:
        return text[:begin] + (" " if begin == end else "") + _shown(value) + text[end:]
    # An empty section: put its mapping after the colon.
    return f"{text[:begin]}{' ' if begin == end else ''}{{{_flow(keys, value)}}}{text[end:]}"


def _flow(keys: list[str], value: Any) -> str:
    text = _shown(value)
    for key in reversed(keys[1:]):
        text = f"{{{key}: {text}}}"
    return f"{keys[0]}: {text}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
