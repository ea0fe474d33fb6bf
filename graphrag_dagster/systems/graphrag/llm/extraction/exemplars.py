"""A corpus's own examples as shown in prompts: JSON or delimited records (paper, Appendix E.1)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from graphrag_dagster.kernel.graph.relations import RELATED_TO
from graphrag_dagster.kernel.models.chat.prompt import escape
from graphrag_dagster.kernel.tasks.exemplars import ClaimExample, ExampleRelationship, GraphExample
from graphrag_dagster.systems.graphrag.llm.extraction.tuples import COMPLETE, FIELD, RECORD

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
    """Return a system prompt with these examples in place of its general one; without any, as it is.

    Args:
        system: the prompt, whose last part is its example.
        examples: of the corpus.
        types: of entities, as they are asked for.
        tuples: show delimited records, not JSON.
        labelled: show the labels of relationships.
    """
    wanted = ", ".join(one.upper() for one in types)
    return _shown(
        system,
        [
            (f"Wanted types: {escape(wanted)}.", one.text, _graph_reply(one, tuples, labelled))
            for one in examples
        ],
    )


def with_claim_examples(system: str, examples: Sequence[ClaimExample], *, tuples: bool) -> str:
    """Return a system prompt with these examples in place of its general one; without any, as it is."""
    return _shown(
        system,
        [
            (f"Entities: {escape(', '.join(one.entities))}.", one.text, _claim_reply(one, tuples))
            for one in examples
        ],
    )


def _shown(system: str, examples: Sequence[tuple[str, str, str]]) -> str:
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
    relationships = [_shown_relationship(one, labelled) for one in example.relationships]
    if not tuples:
        return _json({"entities": entities, "relationships": relationships})
    return _records(
        [("entity", *one.values()) for one in entities]
        + [("relationship", *one.values()) for one in relationships]
    )


def _shown_relationship(one: ExampleRelationship, labelled: bool) -> dict[str, Any]:
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
