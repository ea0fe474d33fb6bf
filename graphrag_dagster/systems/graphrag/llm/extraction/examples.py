"""Detects replies that copy the worked example of a prompt, as small models sometimes do."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from graphrag_dagster.kernel.models.chat.replies import NotUsable, is_placeholder
from graphrag_dagster.kernel.text.similarity import normalise
from graphrag_dagster.systems.graphrag.llm.extraction.raw_records import RawRecord, RawReply

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
                raise NotUsable(f"{one!r} is copied from the example; use what you are given instead")


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".?!")


_NAMES = ("name", "source", "target", "subject")
_IN_JSON = re.compile(r'"(?:name|source|target|subject)": "([^"]+)"')
_IN_TUPLES = re.compile(r'\("(?:entity|claim)"<\|>([^<]+)<\|>')


@dataclass(frozen=True, slots=True)
class Copies:
    """Knows the names of a prompt's worked example, normalised."""

    names: frozenset[str]

    @classmethod
    def of(cls, system_prompt: str, shown: Iterable[str] = ()) -> "Copies":
        """Take the names from the example in a system prompt, JSON or delimited tuples.

        Args:
            system_prompt: with its example.
            shown: names of the corpus's own examples.
        """
        found = (*_IN_JSON.findall(system_prompt), *_IN_TUPLES.findall(system_prompt), *shown)
        return cls(frozenset(map(normalise, found)))

    def put_aside(self, reply: RawReply, text: str) -> RawReply:
        """Return the reply with records copied from the prompt among its bad ones.

        A record is a copy if a name in it is a placeholder, or one of the example that ``text`` lacks.

        Raises:
            NotUsable: all its records are copies.
        """
        reasons = [(record, self._reason(record, text)) for record in reply.records]
        copied = [(record, reason) for record, reason in reasons if reason]
        if not copied:
            return reply
        if len(copied) == len(reasons):
            raise NotUsable(f"{copied[0][1]}; read the text between the delimiters instead")
        kept = [record for record, reason in reasons if not reason]
        return RawReply(kept, [*reply.bad, *((record.kind, record.raw, why) for record, why in copied)])

    def _reason(self, record: RawRecord, text: str) -> str | None:
        for field in _NAMES:
            value = record.fields.text(field)
            if not value:
                continue
            if is_placeholder(value):
                return f"the {field} {value!r} is a placeholder of the prompt"
            name = normalise(value)
            if name in self.names and name not in normalise(text):
                return f"{value!r} is copied from the example of the prompt"
        return None
