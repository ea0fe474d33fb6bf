"""Replies to the prompts that write evaluation questions, made by patterns.

All of a set are different, and none is one that the prompt lists as already there.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from graphrag_dagster.kernel.text import prompts
from support.conversations import section, text_of

_TASKS = ("describe_corpus", "write_personas", "write_tasks", "write_questions")
_WORK = ("Comparing views", "Tracing changes", "Finding gaps", "Weighing reasons", "Preparing a lesson")
_ASKED = (
    "Which themes run through the texts",
    "How do the texts differ",
    "What changes across the texts",
    "Which reasons do the texts give",
    "What do the texts leave open",
)


@dataclass(frozen=True)
class QuestionPrompt:
    """What a prompt asks for: its task, what its material says under each label, how many, what to avoid."""

    task: str
    material: str
    said: dict[str, str]
    count: int
    avoid: tuple[str, ...]


def question_prompt(body: dict[str, Any]) -> QuestionPrompt | None:
    """Read a chat request; None where it is not one of the four prompts."""
    messages = body.get("messages") or []
    system = text_of(messages[0]) if messages else ""
    task = next((one for one in _TASKS if prompts.load(f"{one}_system").text in system), None)
    if task is None:
        return None
    user = next((text for one in messages if "<material>" in (text := text_of(one))), "")
    material = section(user, "material") or ""
    known, _, listed = material.partition("\nAlready there:\n")
    asked = re.search(r"How many \w+ to give: (\d+)", user.rpartition("</material>")[2])
    return QuestionPrompt(
        task,
        material,
        dict(re.findall(r"^(\w[\w ]*): ?(.*)$", known, re.MULTILINE)),
        int(asked[1]) if asked else 1,
        tuple(line.removeprefix("- ") for line in listed.splitlines()),
    )


def questioning_reply(body: dict[str, Any]) -> str | None:
    """Answer one of the four prompts with as many items as it asks for; None where it is another's."""
    asked = question_prompt(body)
    if asked is None:
        return None
    if asked.task == "describe_corpus":
        names = dict.fromkeys(re.findall(r"\b[A-Z][a-z]{3,}\b", asked.material))
        return json.dumps({"description": f"Texts that deal with {', '.join(list(names)[:5]) or 'things'}."})
    if asked.task == "write_personas":
        there = {line.partition(": ")[0] for line in asked.avoid}
        return json.dumps({"personas": [_person(name) for name in _new("Reader", asked.count, there)]})
    person = asked.said.get("Person", "").partition(": ")[0]
    if asked.task == "write_tasks":
        made = _cycled([f"{work} for {person}" for work in _WORK], "", asked)
        return json.dumps({"tasks": made})
    matter = f"{asked.said.get('Task', '')}, as {person} sees it"
    return json.dumps({"questions": _cycled([f"{one}: {matter}" for one in _ASKED], "?", asked)})


def _person(name: str) -> dict[str, str]:
    return {"name": name, "description": f"{name} wants to understand the whole collection."}


def _new(stem: str, wanted: int, there: Collection[str]) -> list[str]:
    return list(islice((name for n in count(1) if (name := f"{stem} {n}") not in there), wanted))


def _cycled(stems: list[str], end: str, asked: QuestionPrompt) -> list[str]:
    """The stems one after the other, from the second time on with a number."""
    made = (f"{stem}{f' ({time})' if time > 1 else ''}{end}" for time in count(1) for stem in stems)
    return list(islice((text for text in made if text not in asked.avoid), asked.count))
