"""What a chat request asks for, told by the delimiters of the data in its prompts."""

import re
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.kernel.text import prompts

_BY_SECTION = {
    "answer_1": "judge_answers",
    # Claims are asked of a text too, so their section is looked for first.
    "entity_names": "extract_claims",
    "source_text": "extract_graph",
    "descriptions": "summarize_descriptions",
    "community": "community_report",
    "reports": "global_map",
    "sources": "global_map",
    "partial_answers": "global_reduce",
}
_BY_SYSTEM = (
    "coterag_summary",
    "coterag_route",
    "coterag_answer",
    "coterag_direct",
    "coterag_validate",
    "judge_names",
    "type_entities",
    "describe_corpus",
    "write_personas",
    "write_tasks",
    "write_questions",
    "write_testset",
    "own_context",
    "claims_select",
    "claims_disambiguate",
    "claims_decompose",
    "quality_statements",
    "quality_questions",
    "quality_relevant_to_question",
    "quality_true_to_context",
    "quality_attributable_to_context",
    "quality_useful_node",
    "themes_name",
    "themes_merge",
    "themes_label",
)
CHECKS = ("glean_check", "claims_check")
CONTINUATIONS = ("glean_continue", "claims_continue")


@dataclass(frozen=True)
class Asked:
    """A conversation: its task, the message with the data, the first message, whether it was continued."""

    task: str
    data: str
    system: str
    continued: bool


def asked_of(body: dict[str, Any]) -> Asked:
    """Tell what a chat request asks for; what it asks again, after a reply that was of no use, is the same.

    The task is ``probe`` for a small question about the endpoint's capabilities and ``other`` for the rest.
    """
    messages = body.get("messages") or [{"role": "user", "content": ""}]
    turns = [text_of(one) for one in messages if one.get("role") == "user"] or [text_of(messages[-1])]
    again = prompts.load("retry").text.partition("{{")[0]
    said = [turn for turn in turns if not turn.startswith(again)] or turns
    if (task := _task_of_system(text_of(messages[0]))) is not None:
        return Asked(task, said[0], text_of(messages[0]), False)
    fixed = {prompts.load(name).text: name for name in CHECKS + CONTINUATIONS}
    continued = any(fixed.get(turn) in CONTINUATIONS for turn in said[:-1])
    task = fixed.get(said[-1]) or _task_of_data(said[0], body)
    return Asked(task, said[0], text_of(messages[0]), continued)


def _task_of_system(system: str) -> str | None:
    """The task of prompts whose data have the delimiters of other tasks."""
    for name in _BY_SYSTEM:
        if system.startswith(prompts.load(f"{name}_system").text.partition("{{")[0]):
            return name
    return None


def _task_of_data(data: str, body: dict[str, Any]) -> str:
    for tag, task in _BY_SECTION.items():
        if f"<{tag}>\n" in data and section(data, tag) is not None:
            return task
    forced = body.get("logit_bias") and limit_of(body) == 1
    return "probe" if forced or body.get("response_format") or "code words" in data else "other"


def section(text: str, tag: str) -> str | None:
    """What stands between the delimiters of a tag, None where there are none."""
    found = re.search(rf"<{tag}>\n(.*)\n</{tag}>", text, re.DOTALL)
    return found[1] if found else None


def text_of(message: dict[str, Any]) -> str:
    """The text of a message, whose content may be parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def limit_of(body: dict[str, Any]) -> int | None:
    """The most tokens of a reply, by either of its names."""
    limit = body.get("max_completion_tokens")
    return body.get("max_tokens") if limit is None else limit


def prompt_tokens(body: dict[str, Any]) -> int:
    """The tokens of a prompt, roughly: a quarter of its characters."""
    return sum(len(text_of(message)) for message in body["messages"]) // 4
