"""Replies to prompts that ask whether names are one entity, made by a pattern, or as a test has it."""

import json
import re
from collections.abc import Callable
from typing import Any

from support.conversations import asked_of, section

_NAME = re.compile(r"^(\d+)\. ([AB]): (.*) \([^()]*\)$", re.MULTILINE)


def pairs_in(body: dict[str, Any]) -> list[tuple[str, str]] | None:
    """The pairs of names that a prompt asks about, in their order; None for another prompt."""
    asked = asked_of(body)
    if asked.task != "judge_names":
        return None
    names = {
        (int(number), letter): name
        for number, letter, name in _NAME.findall(section(asked.data, "material") or "")
    }
    return [(names[number, "A"], names[number, "B"]) for number in range(1, len(names) // 2 + 1)]


def ruling_reply(body: dict[str, Any], says: Callable[[str, str], str] | None = None) -> str | None:
    """Rule on each pair as ``says`` does, else that all are different; None for another prompt."""
    pairs = pairs_in(body)
    if pairs is None:
        return None
    verdicts = [
        {
            "id": number,
            "reason": f"So it is said of {one} and {other}.",
            "verdict": (says or _apart)(one, other),
        }
        for number, (one, other) in enumerate(pairs, start=1)
    ]
    return json.dumps({"verdicts": verdicts})


def _apart(_one: str, _other: str) -> str:
    return "different"
