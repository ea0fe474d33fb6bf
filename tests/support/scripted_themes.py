"""Replies to the prompts that read a judge's reasons, made by patterns: a theme is a word that reasons share."""

import json
import re
from collections import Counter
from typing import Any

from support.conversations import asked_of, section

_ITEM = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{5,}")
_MOST = re.compile(r"at most (\d+) themes")


def themes_reply(body: dict[str, Any]) -> str | None:
    """Answer a prompt about reasons, None where the prompt is another."""
    asked = asked_of(body)
    material = _ITEM.findall(section(asked.data, "material") or "")
    if asked.task == "themes_label":
        themes = _ITEM.findall(section(asked.data, "element") or "")
        return json.dumps(
            {"labels": [{"id": int(number), "themes": _spoken(text, themes)} for number, text in material]}
        )
    if asked.task not in ("themes_name", "themes_merge"):
        return None
    most = int(_MOST.findall(asked.system)[0])
    if asked.task == "themes_merge":
        words = Counter(text.partition(":")[0] for _, text in material)
    else:
        words = Counter(word for _, text in material for word in {one.lower() for one in _WORD.findall(text)})
    ranked = sorted(words, key=lambda word: (-words[word], word))[:most]
    return json.dumps({"themes": [{"name": one, "description": f"It speaks of {one}."} for one in ranked]})


def _spoken(text: str, themes: list[tuple[str, str]]) -> list[int]:
    said = {word.lower() for word in _WORD.findall(text)}
    return [int(number) for number, theme in themes if theme.partition(":")[0] in said]
