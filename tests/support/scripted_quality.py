"""Replies to the prompts that judge answers, made by patterns: what shares words has to do with each other.

Statements are sentences; words are runs of four letters or more. Relevant is what shares one with the question
("idk": only one of a statement with many), true what has at least half of its words in the material ("idk":
some, "no": none), attributable the same with yes and no, and useful what shares one with the right answer.
"""

import json
import re
from typing import Any

from graphrag_dagster.kernel.text import prompts
from support.conversations import asked_of, section

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_ITEM = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_CITATION = re.compile(r"\s*\[Data: [^\]]*\]")
_EVASIVE = re.compile(r"\b(?:do(?:es)? not know|cannot say|hard to say|no answer)\b", re.IGNORECASE)
_KINDS = ("relevant_to_question", "true_to_context", "attributable_to_context", "useful_node")


def quality_reply(body: dict[str, Any]) -> str | None:
    """Answer a prompt that judges answers, None where the prompt is another."""
    asked = asked_of(body)
    task = _task(asked.system)
    if task is None:
        return None
    text = section(asked.data, "source_text") or ""
    if task == "statements":
        return json.dumps({"statements": _statements(text)})
    if task == "questions":
        return _questions(text, int(re.findall(r"exactly (\d+) different", asked.system)[0]))
    material, question = section(asked.data, "material") or "", section(asked.data, "question") or ""
    items = _ITEM.findall(material if task == "useful_node" else text)
    against = {
        "relevant_to_question": question,
        "true_to_context": material,
        "attributable_to_context": material,
        "useful_node": text,
    }[task]
    known = _words(against)
    return json.dumps(
        {
            "verdicts": [
                {"id": int(number), "reason": _reason(item, known), "verdict": _verdict(task, item, known)}
                for number, item in items
            ]
        }
    )


def _task(system: str) -> str | None:
    for task in ("statements", "questions", *_KINDS):
        before, _, after = prompts.load(f"quality_{task}_system").text.partition("{{count}}")
        if system.startswith(before) and system.endswith(after):
            return task
    return None


def _statements(text: str) -> list[str]:
    found = (" ".join(one.split()) for one in _SENTENCE.findall(_CITATION.sub("", text)))
    return [one for one in found if len(one.split()) > 1 and not one.endswith("?")]


def _questions(answer: str, count: int) -> str:
    said = [one.rstrip(".!") for one in _statements(answer)] or ["this"]
    questions = [f"Is it so that {said[place % len(said)]}?" for place in range(count)]
    return json.dumps({"questions": questions, "noncommittal": bool(_EVASIVE.search(answer))})


def _words(text: str) -> set[str]:
    return {one.lower() for one in re.findall(r"[^\W\d_]{4,}", text)}


def _verdict(task: str, item: str, known: set[str]) -> str:
    words = _words(item)
    shared = len(words & known)
    half = bool(words) and 2 * shared >= len(words)
    if task == "relevant_to_question":
        return "no" if not shared else "idk" if shared == 1 and len(words) > 5 else "yes"
    if task == "true_to_context":
        return "yes" if half else "idk" if shared else "no"
    if task == "attributable_to_context":
        return "yes" if half else "no"
    return "yes" if shared else "no"


def _reason(item: str, known: set[str]) -> str:
    shared = sorted(_words(item) & known)
    return f"It shares {', '.join(shared[:3])}." if shared else "It shares no word."
