"""Prompts of the language tasks, and the data that they enclose; the prompt texts are separate files."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Prompt:
    """A prompt text with placeholders such as ``{{question}}``."""

    name: str
    text: str

    @cached_property
    def hash(self) -> str:
        """32 hexadecimal characters of the text's SHA-256."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]

    @cached_property
    def placeholders(self) -> frozenset[str]:
        """The names of the placeholders."""
        return frozenset(_PLACEHOLDER.findall(self.text))

    def render(self, **values: str) -> str:
        """Return the text with every placeholder replaced; braces inside values stay as they are.

        Raises:
            ValueError: a placeholder has no value, or a value no placeholder.
        """
        if values.keys() != self.placeholders:
            raise ValueError(
                f"prompt {self.name} has the placeholders {sorted(self.placeholders)}, but the values are "
                f"for {sorted(values)}"
            )
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.text)


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
        raise ValueError(f"{tag!r} is not a delimiter; use one of {', '.join(TAGS)}")
    return f"<{tag}>\n{escape(text)}\n</{tag}>"


def one_line(text: str) -> str:
    """Return data on one line, so that nothing in it can pass for another entry of a list."""
    return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a conversation and its answer."""

    question: str
    answer: str


def enclosed_conversation(history: Sequence[Turn]) -> str:
    """Return the conversation so far between its delimiters."""
    told = "\n\n".join(f"Question: {turn.question}\nAnswer: {turn.answer}" for turn in history)
    return enclose("conversation", told or "(none)")


def escape(text: str) -> str:
    """Return data in which no delimiter of a prompt and no mark of a chat template stands."""
    return _CONTROL.sub(lambda match: match[0] + " ", _DELIMITER.sub("&lt;", text))
