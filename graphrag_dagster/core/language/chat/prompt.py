"""Prompts as the language tasks see them; the texts live outside the core."""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

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
                f"prompt {self.name} needs values for {sorted(self.placeholders)}, not for {sorted(values)}"
            )
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.text)


class PromptSource(Protocol):
    """Where prompts come from."""

    def load(self, name: str) -> Prompt:
        """Return the prompt of that name.

        Raises:
            KeyError: there is none.
        """
