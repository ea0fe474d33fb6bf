"""Data inside prompts: between delimiters that the data cannot forge."""

import re
from collections.abc import Sequence

from graphrag_dagster.core.language.tasks import Turn

#: Names of the delimiters: ``<source_text>`` … ``</source_text>``.
TAGS = (
    "source_text",
    "entity_types",
    "entity_names",
    "element",
    "descriptions",
    "community",
    "question",
    "reports",
    "sources",
    "partial_answers",
    "material",
    "conversation",
    "response_type",
    "answer_1",
    "answer_2",
)

_DELIMITER = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(TAGS)})\b)", re.IGNORECASE)
# Served models read these as turns of the conversation, tuple prompts as ends of fields.
_CONTROL = re.compile(
    r"<(?=\|(?:[^|<>\n]{0,40}\|)?>|/?s>|(?:start|end)_of_turn>|/?think>|</?SYS>>)|\[(?=/?INST\])",
    re.IGNORECASE,
)


def enclose(tag: str, text: str) -> str:
    """Return data between its delimiters, each on its own line.

    Delimiters inside the data are escaped (``&lt;``), and marks that a chat template would take for its own
    are broken by a blank (``<|im_end|>`` becomes ``< |im_end|>``).

    Args:
        tag: one of :data:`TAGS`.
        text: the data, which may hold anything.
    """
    if tag not in TAGS:
        raise ValueError(f"{tag!r} is no delimiter; there are {', '.join(TAGS)}")
    return f"<{tag}>\n{escape(text)}\n</{tag}>"


def enclosed_conversation(history: Sequence[Turn]) -> str:
    """Return the conversation so far between its delimiters."""
    told = "\n\n".join(f"Question: {turn.question}\nAnswer: {turn.answer}" for turn in history)
    return enclose("conversation", told or "(none)")


def escape(text: str) -> str:
    """Return data in which no delimiter of a prompt and no mark of a chat template stands."""
    return _CONTROL.sub(lambda match: match[0] + " ", _DELIMITER.sub("&lt;", text))
