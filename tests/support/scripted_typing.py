"""Replies to prompts that ask what kinds of things names are, made by a pattern, or as a test has it."""

import json
import re
from collections.abc import Callable
from typing import Any

from support.conversations import asked_of, section

_NAME = re.compile(r"(\d+)\. (.*)")


def names_in(body: dict[str, Any]) -> list[str] | None:
    """The names that a prompt asks about, in their order; None for another prompt."""
    asked = asked_of(body)
    if asked.task != "type_entities":
        return None
    lines = (section(asked.data, "material") or "").splitlines()
    return [found[2] for line in lines if (found := _NAME.fullmatch(line))]


def typing_reply(body: dict[str, Any], says: Callable[[str], str] | None = None) -> str | None:
    """Label each name as ``says`` does, else with the first label; None for another prompt."""
    names = names_in(body)
    if names is None:
        return None
    first = (section(asked_of(body).data, "entity_types") or "").splitlines()[0]
    labels = [says(name) if says else first for name in names]
    return json.dumps({"results": [{"id": n, "label": one} for n, one in enumerate(labels, start=1)]})
