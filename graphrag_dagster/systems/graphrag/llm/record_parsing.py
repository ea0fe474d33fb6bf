"""Parsers of extraction replies: JSON lists and the paper's delimited records.

A record is ``("entity"<|>NAME<|>TYPE<|>description)`` or ``("relationship"<|>A<|>B<|>description<|>9)`` or
``("claim"<|>…)``; records are parted by ``##`` and a reply ends with ``<|COMPLETE|>`` (paper, Appendix E.1).
Where labels of relationships were asked for, they stand behind ``B``. What has fields and is no such record
is quarantined with the reason; what has none, such as a heading, is noise.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.models.chat.reply_parsing import CutOff, NotUsable, is_schema, parse_json
from graphrag_dagster.kernel.tasks.task_ports import Quarantined
from graphrag_dagster.kernel.text.text_similarity import clean
from graphrag_dagster.systems.graphrag.llm.extraction_records import (
    NOTHING,
    BadRecord,
    Fields,
    Instance,
    RecordType,
    make_claim,
    make_entity,
    make_relationship,
)

#: What the prompts show.
FIELD, RECORD, COMPLETE = "<|>", "##", "<|COMPLETE|>"

# Recorded replies of real models also have </|> and, after a quotation mark, |>.
_FIELD = re.compile(r"</?\|>|(?<=[\"”])\|>")
_COMPLETE = re.compile(re.escape(COMPLETE), re.IGNORECASE)
_START = re.compile(r"\(\s*[\"“]?(entity|relationship|relation|claim)[\"”]?\s*(?=</?\|>)", re.IGNORECASE)
# No pattern begins with a run that can match at many places, so that time stays linear in any garbage.
_BOUNDARY = re.compile(r"(?<=\))\s*(?:#{2,}+|\n\s*(?=\())")
_CLOSE = re.compile(r"\)[\"`]*[.,;]?[ \t]*(?=\n|\Z)")
_COLUMNS: Mapping[RecordType, tuple[str, ...]] = {
    "entity": ("name", "type", "description"),
    "relationship": ("source", "target", "description", "strength"),
    "claim": ("subject", "object", "type", "status", "start_date", "end_date", "description", "quotes"),
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
class TupleParse:
    """Contents of a reply: entities, then relationships, then claims, readable or repaired.

    ``quarantined`` are words and reasons; ``noise`` pieces without any field, such as headings and code
    fences. ``complete``: the reply has its end mark. ``cut``: it has none, and its last record has no end
    either.
    """

    records: list[RawRecord] = field(default_factory=list)
    quarantined: list[tuple[str, str]] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    complete: bool = False
    cut: bool = False


def parse_tuples(reply: str, *, labelled: bool = False) -> TupleParse:
    """Read the records of one reply (paper, Appendix E.1). Never raises and never drops a record.

    Args:
        reply: the visible reply.
        labelled: whether relationships were asked for with labels.
    """
    found = TupleParse(complete=bool(_COMPLETE.search(reply)))
    pieces = list(_record_pieces(reply))
    found.cut = not found.complete and bool(pieces) and _is_unclosed(pieces[-1])
    for piece in pieces:
        _read(piece, found, labelled)
    found.records.sort(key=lambda record: list(_MAKERS).index(record.kind))
    return found


def _is_unclosed(piece: str) -> bool:
    return "(" in piece and (not _closing(piece) or piece.count("(") > piece.count(")"))


def _closing(piece: str) -> re.Match[str] | None:
    """The end of a record: a parenthesis at the end of a line, after its last field began."""
    return _CLOSE.search(piece, max((match.end() for match in _FIELD.finditer(piece)), default=0))


def _record_pieces(reply: str) -> Iterator[str]:
    for turn in _COMPLETE.split(reply):
        for part in _BOUNDARY.split(turn):
            places = [0, *(match.start() for match in _START.finditer(part)), len(part)]
            for begin, end in pairwise(places):
                if piece := part[begin:end].strip():
                    yield piece


def _read(piece: str, found: TupleParse, labelled: bool) -> None:
    tagged, close = _START.match(piece), _closing(piece)
    if not _FIELD.search(piece):
        _note_noise(piece, found)
        return
    if not tagged or not close:
        unclosed = "the record is not closed by a parenthesis"
        found.quarantined.append((piece, unclosed if tagged else "it begins with no tag of a record"))
        return
    _note_noise(piece[close.end() :].strip(), found)
    body, raw = piece[tagged.end() : close.start()], piece[: close.end()]
    # A delimiter stands behind the tag.
    _, *parts = (clean(part.strip().strip("*`")) for part in _FIELD.split(body))
    kind = _kind(tagged[1])
    names = _COLUMNS[kind]
    if labelled and kind == "relationship":
        # A relationship without its label is one all the same.
        label = [parts.pop(2)] if len(parts) > len(names) else [""]
        names, parts = (*names, "relation"), parts + label
    if len(parts) != len(names):
        reason = (
            f"it has {len(parts)} fields, not the {len(names)} of {'an' if kind == 'entity' else 'a'} {kind}"
        )
        found.quarantined.append((raw, reason))
        return
    mended = []
    if tagged[0] != f'("{kind}"':
        mended.append(f"{tagged[0]} read as a tag")
    if any(match[0] != FIELD for match in _FIELD.finditer(body)):
        mended.append("field delimiters")
    found.records.append(RawRecord(kind, Fields(dict(zip(names, parts, strict=True)), mended), raw))


def _note_noise(words: str, found: TupleParse) -> None:
    if any(map(str.isalnum, words)):
        found.noise.append(words)


def _kind(tag: str) -> RecordType:
    return "entity" if tag[0] in "eE" else "claim" if tag[0] in "cC" else "relationship"


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
        # What stands alone where a list is asked for is a record, or quarantined.
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
    kind = named if named is not None and named in kinds else _type_by_keys(item, kinds)
    if not isinstance(item, dict):
        reply.bad.append((kind, _words(item), f"the {kind} is not an object with named fields"))
        return
    fields = Fields.of(kind, item, labelled=labelled)
    if kind != named:
        fields.mended.append(f"told to be of kind {kind} by its keys")
    reply.records.append(RawRecord(kind, fields, item))


def _words(item: Any) -> str:
    return json.dumps(item, ensure_ascii=False)


def _type_by_keys(item: Any, kinds: Sequence[RecordType]) -> RecordType:
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
    parsed = parse_tuples(text, labelled=labelled)
    if parsed.cut:
        raise CutOff("the last record of the reply is cut off")
    some = bool(parsed.records or parsed.quarantined)
    if not some and not parsed.complete and not gleaning:
        raise NotUsable("the reply holds no record and no end mark")
    bad = [(_guess_type(raw), raw, reason) for raw, reason in parsed.quarantined]
    bad += [(r.kind, r.raw, f"no {r.kind} was asked for") for r in parsed.records if r.kind not in kinds]
    return RawReply([r for r in parsed.records if r.kind in kinds], bad), some and not parsed.complete


def _guess_type(raw: str) -> RecordType:
    start = raw[:30].lower()
    return "relationship" if "relation" in start else "claim" if "claim" in start else "entity"
