"""The worked example of a prompt, which small models at times copy instead of speaking of the data."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from graphrag_dagster.core.language.chat.replies import NotUsable

_STRING = re.compile(r'"((?:[^"\\]|\\.)+)"')


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """The sentences of the reply that a prompt shows as its example."""

    sentences: frozenset[str]

    @classmethod
    def of(cls, system_prompt: str) -> "WorkedExample":
        """Take the strings of more than one word from the reply at the end of a system prompt."""
        found = _STRING.findall(system_prompt.rpartition("Reply:\n")[2])
        return cls(frozenset(_folded(one) for one in found if " " in one))

    def refuse_copies(self, said: Iterable[str], text: str) -> None:
        """Check that nothing that is said comes from the example, unless it stands in the text too.

        Raises:
            NotUsable: something does.
        """
        shown = _folded(text)
        for one in said:
            if (folded := _folded(one)) in self.sentences and folded not in shown:
                raise NotUsable(f"{one!r} is copied from the example; speak of what is given instead")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".?!")
