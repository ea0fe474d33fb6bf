"""Raw records of one reply, before they become instances."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphrag_dagster.engines.extractive.text_places import TextPlaces
from graphrag_dagster.kernel.models.chat.replies import CutOff, NotUsable, is_schema, parse_json
from graphrag_dagster.kernel.tasks.ports import Quarantined
from graphrag_dagster.systems.graphrag.llm.extraction.records import (
    NOTHING,
    BadRecord,
    Fields,
    Instance,
    RecordType,
    make_claim,
    make_entity,
    make_relationship,
)
from graphrag_dagster.systems.graphrag.llm.extraction.tuples import RECORD, TupleParse, parse_tuples

_LISTS: Mapping[str, RecordType] = {
    "entities": "entity",
    "relationships": "relationship",
    "claims": "claim",
}
_MAKERS: Mapping[RecordType, Callable[[Fields, TextPlaces, int], Instance]] = {
    "entity": make_entity,
    "relationship": make_relationship,
    "claim": make_claim,
}


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as a reply gave it: the words of a tuple, or a JSON object."""

    kind: RecordType
    fields: Fields
    given: object

    @property
    def raw(self) -> str:
        """Its words."""
        return self.given if isinstance(self.given, str) else _words(self.given)


@dataclass(slots=True)
class RawReply:
    """The records of a reply in its order; ``bad``: kind, words and reason of what is no record."""

    records: list[RawRecord] = field(default_factory=list)
    bad: list[tuple[RecordType, str, str]] = field(default_factory=list)

    def instances(self, places: TextPlaces, round_: int) -> Iterator[tuple[Instance | Quarantined, bool]]:
        """Yield an instance or what is quarantined for every record, and whether it was repaired."""
        for record in self.records:
            try:
                record.fields.refuse_long()
                made = _MAKERS[record.kind](record.fields, places, round_)
                yield made, bool(record.fields.mended)
            except BadRecord as problem:
                yield Quarantined(record.kind, record.raw, str(problem), round=round_), False
        for kind, raw, reason in self.bad:
            yield Quarantined(kind, raw, reason, round=round_), False


def read_json_records(
    text: str, kinds: Sequence[RecordType], *, labelled: bool = False
) -> tuple[RawReply, bool]:
    """Return the records of a JSON reply, and whether its JSON was repaired.

    Args:
        text: the visible reply: an object with one list per kind, or a bare list; lists under other names
            count too, and what their items are is told by their keys.
        kinds: which records were asked for.
        labelled: relationships were asked for with labels.

    Raises:
        NotUsable: no JSON, the schema itself, or no list.
    """
    parsed = parse_json(text)
    if is_schema(parsed.value):
        raise NotUsable("the reply is the JSON schema itself, not data of that shape")
    wanted = [name for name, kind in _LISTS.items() if kind in kinds]
    reply = RawReply()
    for name, items in _lists(parsed.value, wanted):
        for item in items:
            _take(reply, _LISTS.get(name), item, kinds, labelled)
    return reply, parsed.repaired


def join_json_replies(first: str, second: str) -> str:
    """Return two readable JSON replies as one that holds the records of both."""
    values = [parse_json(text).value for text in (first, second)]
    # Mended and parsed one by one: words, fences and damage between two values could hide the second.
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return json.dumps(items, ensure_ascii=False)


def join_tuple_replies(first: str, second: str) -> str:
    """Return two readable replies in delimited tuples as one that holds the records of both."""
    return f"{first}\n{RECORD}\n{second}"


def _lists(value: Any, wanted: Sequence[str]) -> list[tuple[str, list[Any]]]:
    if isinstance(value, list):
        inside = [_lists(item, wanted) for item in value if _has_list(item)]
        loose = [item for item in value if not _has_list(item)]
        return [("", loose), *(found for each in inside for found in each)]
    if _has_list(value):
        named = [(str(name).strip().lower(), items) for name, items in value.items()]
        # What stands alone where a list is asked for is a record, or put aside as none.
        return [
            (name, items if isinstance(items, list) else [items])
            for name, items in named
            if isinstance(items, list) or (name in wanted and str(items).strip().upper() not in NOTHING)
        ]
    raise NotUsable(f"the reply has no list of {' or '.join(wanted)}")


def _has_list(value: Any) -> bool:
    return isinstance(value, dict) and any(
        isinstance(items, list) and all(isinstance(item, dict) for item in items) for items in value.values()
    )


def _take(
    reply: RawReply, named: RecordType | None, item: Any, kinds: Sequence[RecordType], labelled: bool
) -> None:
    kind = named if named is not None and named in kinds else _told_by_keys(item, kinds)
    if not isinstance(item, dict):
        reply.bad.append((kind, _words(item), f"the {kind} is not an object with named fields"))
        return
    fields = Fields.of(kind, item, labelled=labelled)
    if kind != named:
        fields.mended.append(f"told to be of kind {kind} by its keys")
    reply.records.append(RawRecord(kind, fields, item))


def _words(item: Any) -> str:
    return json.dumps(item, ensure_ascii=False)


def _told_by_keys(item: Any, kinds: Sequence[RecordType]) -> RecordType:
    if "relationship" not in kinds:
        return kinds[0]
    keys = {str(key).strip().lower() for key in item} if isinstance(item, dict) else set()
    return "relationship" if any(key.startswith(("source", "target")) for key in keys) else kinds[0]


def read_tuple_records(
    text: str, kinds: Sequence[RecordType], *, gleaning: bool, labelled: bool = False
) -> tuple[RawReply, bool]:
    """Return the records of a reply in delimited tuples; one without its end mark counts as mended.

    Small models leave the mark out, so its want alone spoils nothing. Records of kinds that were not asked
    for are quarantined.

    Raises:
        NotUsable: no record and no end mark, or the last record is cut off; in a gleaning a reply in words
            without any field is taken for "nothing more".
    """
    parsed = parse_tuples(text, claims="claim" in kinds, labelled=labelled)
    if parsed.cut:
        raise CutOff("the last record of the reply is cut off")
    if not parsed.records and not parsed.complete and not gleaning:
        raise NotUsable("the reply holds no record and no end mark")
    return _of_tuples(parsed, kinds), bool(parsed.records) and not parsed.complete


def _of_tuples(parsed: TupleParse, kinds: Sequence[RecordType]) -> RawReply:
    records = [RawRecord(r.kind, r.taken(), r.raw) for r in parsed.parsed if r.kind in kinds]
    bad = [(_guess(raw), raw, reason) for raw, reason in parsed.quarantined]
    bad += [(r.kind, r.raw, f"no {r.kind} was asked for") for r in parsed.parsed if r.kind not in kinds]
    return RawReply(records, bad)


def _guess(raw: str) -> RecordType:
    beginning = raw[:30].lower()
    return "relationship" if "relation" in beginning else "claim" if "claim" in beginning else "entity"
