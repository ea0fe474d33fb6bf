"""Examples in extraction prompts, and detection of replies that copy them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.kernel.graph.graph_labels import RELATED_TO
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, is_placeholder
from graphrag_dagster.kernel.tasks.example_schemas import ClaimExample, ExampleRelationship, GraphExample
from graphrag_dagster.kernel.text.prompt_templates import escape
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.llm.extraction_records import Record, RecordType, fields_of
from graphrag_dagster.systems.graphrag.llm.record_parsing import COMPLETE, FIELD, LISTS, RECORD, RawReply

#: Where the general example of a system prompt begins, which is its last part.
_GENERAL = "\n\nExample. "


@dataclass(frozen=True, slots=True)
class ShownExample:
    """A worked example as a prompt shows it: what is given, and the records of each kind to be found.

    ``names`` are those of its entities.
    """

    given: str
    text: str
    records: Mapping[RecordType, Sequence[Mapping[str, Any]]]
    names: tuple[str, ...]


def graph_example(example: GraphExample, types: Iterable[str], *, labelled: bool) -> ShownExample:
    """Return an example of entities and relationships."""
    wanted = ", ".join(one.upper() for one in types)
    records: dict[RecordType, list[dict[str, Any]]] = {
        "entity": [one.model_dump() | {"type": one.type.upper()} for one in example.entities],
        "relationship": [_relationship(one, labelled) for one in example.relationships],
    }
    return ShownExample(f"Wanted types: {wanted}.", example.text, records, example.names)


def _relationship(one: ExampleRelationship, labelled: bool) -> dict[str, Any]:
    strength = int(one.strength) if one.strength.is_integer() else one.strength
    fields = one.model_dump() | {"relation": one.relation or RELATED_TO, "strength": strength}
    return {name: fields[name] for name in fields_of("relationship", labelled=labelled)}


def claim_example(example: ClaimExample) -> ShownExample:
    """Return an example of claims."""
    claims = [one.model_dump() for one in example.claims]
    return ShownExample(
        f"Entities: {', '.join(example.entities)}.", example.text, {"claim": claims}, example.names
    )


def with_examples(system: str, examples: Sequence[ShownExample], *, tuples: bool) -> str:
    """Return a system prompt with these examples in place of its general one; without any, as it is."""
    if not examples:
        return system
    reply = _tuples if tuples else _json
    shown = [
        f'Example {number}. {escape(one.given)} Text: "{escape(one.text)}"\n\nReply:\n{reply(one.records)}'
        for number, one in enumerate(examples, start=1)
    ]
    return "\n\n".join([system.rpartition(_GENERAL)[0], *shown])


def _json(records: Mapping[RecordType, Sequence[Mapping[str, Any]]]) -> str:
    """Every record on a line of its own, as the general examples have it."""
    parts = []
    for kind, found in records.items():
        lines = ",\n".join(escape(json.dumps(one, ensure_ascii=False)) for one in found)
        parts.append(f'"{LISTS[kind]}": [\n{lines}]' if found else f'"{LISTS[kind]}": []')
    return "{" + ",\n".join(parts) + "}"


def _tuples(records: Mapping[RecordType, Sequence[Mapping[str, Any]]]) -> str:
    lines = [
        f'("{kind}"{FIELD}{FIELD.join(escape(_field(one)) for one in record.values())})'
        for kind, found in records.items()
        for record in found
    ]
    return f"\n{RECORD}\n".join(lines) + f"\n{COMPLETE}"


def _field(value: object) -> str:
    if value is None:
        return "NONE"
    return " ".join(value) if isinstance(value, tuple | list) else str(value)


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
    def of(cls, system_prompt: str, examples: Iterable[ShownExample] = ()) -> "Copies":
        """Take the names from the example in a system prompt, JSON or delimited tuples."""
        shown = (name for one in examples for name in one.names)
        found = (*_IN_JSON.findall(system_prompt), *_IN_TUPLES.findall(system_prompt), *shown)
        return cls(frozenset(map(normalise, found)))

    def quarantine(self, reply: RawReply, text: str) -> RawReply:
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

    def _reason(self, record: Record, text: str) -> str | None:
        for field in _NAMES:
            value = record.text(field)
            if not value:
                continue
            if is_placeholder(value):
                return f"the {field} {value!r} is a placeholder of the prompt"
            name = normalise(value)
            if name in self.names and name not in normalise(text):
                return f"{value!r} is copied from the example of the prompt"
        return None
