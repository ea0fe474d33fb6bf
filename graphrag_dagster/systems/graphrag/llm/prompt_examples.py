"""Examples in extraction prompts, and detection of replies that copy them."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.kernel.graph.graph_labels import RELATED_TO
from graphrag_dagster.kernel.models.chat.reply_parsing import NotUsable, is_placeholder
from graphrag_dagster.kernel.tasks.example_schemas import ClaimExample, ExampleRelationship, GraphExample
from graphrag_dagster.kernel.text.prompt_templates import escape
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.llm.extraction_records import Record
from graphrag_dagster.systems.graphrag.llm.record_parsing import COMPLETE, FIELD, RECORD, RawReply

#: Where the general example of a system prompt begins, which is its last part.
_GENERAL = "\n\nExample. "
_CLAIM = ("subject", "object", "type", "status", "start_date", "end_date", "description", "quotes")


def with_graph_examples(
    system: str,
    examples: Sequence[GraphExample],
    types: Iterable[str],
    *,
    tuples: bool,
    labelled: bool = False,
) -> str:
    """Return a system prompt with these examples in place of its general one; without any, as it is."""
    wanted = ", ".join(one.upper() for one in types)
    return _example_text(
        system,
        [
            (f"Wanted types: {escape(wanted)}.", one.text, _graph_reply(one, tuples, labelled))
            for one in examples
        ],
    )


def with_claim_examples(system: str, examples: Sequence[ClaimExample], *, tuples: bool) -> str:
    """Return a system prompt with these examples in place of its general one; without any, as it is."""
    return _example_text(
        system,
        [
            (f"Entities: {escape(', '.join(one.entities))}.", one.text, _claim_reply(one, tuples))
            for one in examples
        ],
    )


def _example_text(system: str, examples: Sequence[tuple[str, str, str]]) -> str:
    if not examples:
        return system
    rules = system.rpartition(_GENERAL)[0]
    shown = [
        f'Example {number}. {given} Text: "{escape(text)}"\n\nReply:\n{reply}'
        for number, (given, text, reply) in enumerate(examples, start=1)
    ]
    return "\n\n".join([rules, *shown])


def _graph_reply(example: GraphExample, tuples: bool, labelled: bool) -> str:
    entities = [one.model_dump() | {"type": one.type.upper()} for one in example.entities]
    relationships = [_relationship_json(one, labelled) for one in example.relationships]
    if not tuples:
        return _json({"entities": entities, "relationships": relationships})
    return _records(
        [("entity", *one.values()) for one in entities]
        + [("relationship", *one.values()) for one in relationships]
    )


def _relationship_json(one: ExampleRelationship, labelled: bool) -> dict[str, Any]:
    label = {"relation": one.relation or RELATED_TO} if labelled else {}
    strength = int(one.strength) if one.strength.is_integer() else one.strength
    ends = {"source": one.source, "target": one.target}
    return ends | label | {"description": one.description, "strength": strength}


def _claim_reply(example: ClaimExample, tuples: bool) -> str:
    claims = [{name: getattr(one, name) for name in _CLAIM} for one in example.claims]
    if not tuples:
        return _json({"claims": claims})
    return _records([("claim", *_fields(one)) for one in claims])


def _fields(claim: dict[str, Any]) -> list[str]:
    *fields, quotes = claim.values()
    return [*("NONE" if one is None else str(one) for one in fields), " ".join(quotes)]


def _json(lists: dict[str, list[dict[str, Any]]]) -> str:
    """Every record on a line of its own, as the general examples have it."""
    parts = []
    for name, records in lists.items():
        lines = ",\n".join(escape(json.dumps(one, ensure_ascii=False)) for one in records)
        parts.append(f'"{name}": [\n{lines}]' if records else f'"{name}": []')
    return "{" + ",\n".join(parts) + "}"


def _records(records: Iterable[Sequence[Any]]) -> str:
    lines = [f'("{kind}"{FIELD}{FIELD.join(escape(str(one)) for one in rest)})' for kind, *rest in records]
    return f"\n{RECORD}\n".join(lines) + f"\n{COMPLETE}"


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
        """Take the names from the example in a system prompt, JSON or delimited tuples."""
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
