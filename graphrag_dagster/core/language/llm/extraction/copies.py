"""What a model copied from its prompt instead of reading the text: the worked example, an empty template."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from graphrag_dagster.core.language.chat.replies import NotUsable, is_placeholder
from graphrag_dagster.core.language.llm.extraction.raw_records import RawRecord, RawReply
from graphrag_dagster.core.text.similarity import normalise

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
