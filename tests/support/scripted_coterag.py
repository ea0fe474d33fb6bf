"""Replies to the prompts of CoTeRAG-S, made by patterns."""

import json
import re
from typing import Any

from support.conversations import asked_of, section

_ROW = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
_REPLIES = {
    "coterag_route": json.dumps({"reason": "It asks for facts.", "route": "specific"}),
    "coterag_validate": json.dumps({"reason": "It says what the rows say.", "verdict": "ok"}),
    "coterag_direct": "That is commonly known.",
}


def coterag_reply(body: dict[str, Any]) -> str | None:
    """Answer from the first sources, name what a community names; None for another prompt."""
    asked = asked_of(body)
    if asked.task in _REPLIES:
        return _REPLIES[asked.task]
    if asked.task == "coterag_summary":
        names = (section(asked.data, "entity_names") or asked.data).split("\n")[:5]
        told = ", ".join(one.strip("- ") for one in names)
        return json.dumps(
            {"title": told[:80], "focus": told, "entities": told, "relations": "They are linked."}
        )
    if asked.task == "coterag_answer":
        return _answer(section(asked.data, "material") or "")
    return None


def _answer(rows: str) -> str:
    sources = _ROW.findall(rows.rpartition("-----Sources-----")[2])[:2]
    said = [f"{text.partition(': ')[2]} [Data: Sources ({number})]." for number, text in sources]
    return "\n\n".join(said) or "SEARCH_MORE"
