"""Replies to the prompts of paths: the first candidates are selected, the end of the first path is the answer."""

import re
from typing import Any

from graphrag_dagster.kernel.text import prompts
from support.conversations import text_of
from support.scripted_replies import name_pattern_script

_SELECTIONS = (
    *(f"paths_select_{level}_system" for level in ("subgraph", "path", "node", "relation", "triple")),
    "paths_refine_system",
)
_LINE = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)


def paths_script(body: dict[str, Any]) -> Any:
    """Select the first two candidates; answer by the end of the first path; take every answer for correct."""
    system, user = text_of(body["messages"][0]), text_of(body["messages"][-1])
    if _begins(system, "path_judge_system"):
        return '{"reason": "It names it.", "verdict": "yes"}'
    if _begins(system, "paths_answer_system"):
        paths = [line for line in user.splitlines() if " -> " in line]
        return paths[0].rpartition(" -> ")[2] if paths else "I do not know."
    if _begins(system, "paths_enough_system"):
        return "NO"
    if _begins(system, "paths_reason_system"):
        paths = [line for line in user.splitlines() if " -> " in line]
        return f"By the paths it is {paths[0].rpartition(' -> ')[2]}." if paths else "The paths do not say."
    if _begins(system, *_SELECTIONS):
        return "\n".join(f"{number}. {text}" for number, text in _LINE.findall(user)[:2]) or "NONE"
    return name_pattern_script(body)


def _begins(system: str, *names: str) -> bool:
    return any(system.startswith(prompts.load(name).text.partition("{{")[0][:60]) for name in names)
