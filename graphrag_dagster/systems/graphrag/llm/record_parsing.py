"""Readers of extraction replies: JSON of the asked shape, and the paper's delimited records.

A record is ``("entity"<|>NAME<|>TYPE<|>description)`` or ``("relationship"<|>A<|>B<|>description<|>9)`` or
``("claim"<|>…)``; records are parted by ``##`` and a reply ends with ``<|COMPLETE|>`` (paper, Appendix E.1).
Where labels of relationships were asked for, they stand behind ``B``. What is no such record is quarantined
with the reason; words without any field, such as a heading, are left out.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.models.chat.reply_parsing import (
    CutOff,
    NotUsable,
    is_schema,
    parse_json,
    with_normalised_keys,
)
from graphrag_dagster.kernel.tasks.task_ports import Quarantined
from graphrag_dagster.kernel.text.text_similarity import clean
from graphrag_dagster.systems.graphrag.llm.extraction_records import (
    BadRecord,
    Instance,
    Record,
    RecordType,
    fields_of,
    make_claim,
    make_entity,
    make_relationship,
)

#: What the prompts show.
FIELD, RECORD, COMPLETE = "<|>", "##", "<|COMPLETE|>"
#: The list of each kind of record in JSON.
LISTS: Mapping[RecordType, str] = {
    "entity": "entities",
    "relationship": "relationships",
    "claim": "claims",
}

# Recorded replies of real models also have </|> and, after a quotation mark, |>; and the tag "relation".
_FIELD = re.compile(r"</?\|>|(?<=[\"”])\|>")
_COMPLETE = re.compile(re.escape(COMPLETE), re.IGNORECASE)
_START = re.compile(r"\(\s*[\"“]?(entity|relationship|relation|claim)[\"”]?\s*(?=</?\|>)", re.IGNORECASE)
# No pattern begins with a run that can match at many places, so that time stays linear in any garbage.
_BOUNDARY = re.compile(r"(?<=\))\s*(?:#{2,}+|\n\s*(?=\())")
_CLOSE = re.compile(r"\)[\"`]*[.,;]?[ \t]*(?=\n|\Z)")

_MAKERS: Mapping[RecordType, Callable[[Record, TextPlaces, int], Instance]] = {
    "entity": make_entity,
    "relationship": make_relationship,
    "claim": make_claim,
}


@dataclass(slots=True)
class RawReply:
    """The records of a reply in its order; ``bad``: kind, words and reason of what is no record."""

    records: list[Record] = field(default_factory=list)
    bad: list[tuple[RecordType, str, str]] = field(default_factory=list)

    def instances(self, places: TextPlaces, round_: int) -> Iterator[tuple[Instance | Quarantined, bool]]:
        """Yield an instance or what is quarantined for every record, and whether it was repaired."""
        for record in self.records:
            try:
                record.check_lengths()
                made = _MAKERS[record.kind](record, places, round_)
                yield made, record.repaired
            except BadRecord as problem:
                yield Quarantined(record.kind, record.raw, str(problem), round=round_), False
        for kind, raw, reason in self.bad:
            yield Quarantined(kind, raw, reason, round=round_), False


def read_json_records(
    text: str, kinds: Sequence[RecordType], *, gleaning: bool = False, labelled: bool = False
) -> tuple[RawReply, bool]:
    """Return the records of a JSON reply, and whether its JSON was repaired.

    Args:
        text: the visible reply: an object with a list for each kind, or several one after the other. What
            stands in other lists is quarantined.
        kinds: which records were asked for.
        gleaning: an empty object says that there is nothing more.
        labelled: relationships were asked for with labels.

    Raises:
        NotUsable: no JSON, the schema itself, or none of the lists.
    """
    parsed = parse_json(text)
    if is_schema(parsed.value):
        raise NotUsable("the reply is the JSON schema itself, not data of that shape")
    if gleaning and not parsed.value:
        return RawReply(), parsed.repaired
    wanted = {LISTS[kind]: kind for kind in kinds}
    reply, found = RawReply(), False
    for value in parsed.value if isinstance(parsed.value, list) else [parsed.value]:
        fields = with_normalised_keys(value)
        if wanted.keys().isdisjoint(fields):
            reply.bad.append((kinds[0], _words(value), "it is in no list"))
            continue
        for name, items in fields.items():
            if name in wanted and items is not None:
                listed = items if isinstance(items, list) else [items]
                found |= not listed or any(isinstance(item, dict) for item in listed)
                _take_list(reply, wanted[name], listed, labelled)
            elif isinstance(items, list):
                reason = f"no list {name!r} was asked for"
                reply.bad += [(kinds[0], _words(item), reason) for item in items]
    if not found:
        raise NotUsable(f"the reply has no list of {' or '.join(wanted)}")
    return reply, parsed.repaired


def _take_list(reply: RawReply, kind: RecordType, items: Sequence[object], labelled: bool) -> None:
    for item in items:
        if isinstance(item, dict):
            given = with_normalised_keys(item)
            fields = {name: given.get(name) for name in fields_of(kind, labelled=labelled)}
            reply.records.append(Record(kind, fields, _words(item)))
        else:
            reply.bad.append((kind, _words(item), f"the {kind} is not an object with named fields"))


def _words(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def join_json_replies(first: str, second: str) -> str:
    """Return two readable JSON replies as one that holds the records of both."""
    values = [parse_json(text).value for text in (first, second)]
    # Repaired and parsed one by one: words, fences and damage between two values could hide the second.
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return json.dumps(items, ensure_ascii=False)


def join_tuple_replies(first: str, second: str) -> str:
    """Return two readable replies in delimited tuples as one that holds the records of both."""
    return f"{first}\n{RECORD}\n{second}"


def read_tuple_records(
    text: str, kinds: Sequence[RecordType], *, gleaning: bool = False, labelled: bool = False
) -> tuple[RawReply, bool]:
    """Return the records of a reply in delimited tuples (paper, Appendix E.1), and whether it was repaired.

    One without its end mark counts as repaired: small models leave the mark out, so its want alone spoils
    nothing. Records of kinds that were not asked for are quarantined.

    Args:
        text: the visible reply.
        kinds: which records were asked for.
        gleaning: a reply in words without any field is taken for "nothing more".
        labelled: relationships were asked for with labels.

    Raises:
        NotUsable: no record and no end mark, or the last record is cut off.
    """
    complete = _COMPLETE.search(text) is not None
    pieces = list(_record_pieces(text))
    if pieces and not complete and _is_unclosed(pieces[-1]):
        raise CutOff("the last record of the reply is cut off")
    reply = RawReply()
    for piece in pieces:
        if _FIELD.search(piece):
            _take_piece(reply, piece, kinds, labelled)
    some = bool(reply.records or reply.bad)
    if not some and not complete and not gleaning:
        raise NotUsable("the reply holds no record and no end mark")
    return reply, some and not complete


def _record_pieces(text: str) -> Iterator[str]:
    for turn in _COMPLETE.split(text):
        for part in _BOUNDARY.split(turn):
            places = [0, *(match.start() for match in _START.finditer(part)), len(part)]
            for begin, end in pairwise(places):
                if piece := part[begin:end].strip():
                    yield piece


def _is_unclosed(piece: str) -> bool:
    return "(" in piece and (not _closing(piece) or piece.count("(") > piece.count(")"))


def _closing(piece: str) -> re.Match[str] | None:
    """The end of a record: a parenthesis at the end of a line, after its last field began."""
    return _CLOSE.search(piece, max((match.end() for match in _FIELD.finditer(piece)), default=0))


def _take_piece(reply: RawReply, piece: str, kinds: Sequence[RecordType], labelled: bool) -> None:
    tagged, close = _START.match(piece), _closing(piece)
    if not tagged:
        reply.bad.append((kinds[0], piece, "it begins with no tag of a record"))
        return
    kind = next(one for one in _MAKERS if one.startswith(tagged[1].lower()))
    if not close:
        reply.bad.append((kind, piece, "the record is not closed by a parenthesis"))
        return
    body, raw = piece[tagged.end() : close.start()], piece[: close.end()]
    # A delimiter stands behind the tag.
    _, *parts = (clean(part.strip().strip("*`")) for part in _FIELD.split(body))
    names = fields_of(kind, labelled=labelled)
    if labelled and kind == "relationship" and len(parts) == len(names) - 1:
        # A relationship without its label is one all the same.
        parts.insert(names.index("relation"), "")
    if kind not in kinds:
        reply.bad.append((kind, raw, f"no {kind} was asked for"))
    elif len(parts) != len(names):
        article = "an" if kind == "entity" else "a"
        reason = f"it has {len(parts)} fields, not the {len(names)} of {article} {kind}"
        reply.bad.append((kind, raw, reason))
    else:
        repaired = tagged[0] != f'("{kind}"' or any(one != FIELD for one in _FIELD.findall(body))
        reply.records.append(Record(kind, dict(zip(names, parts, strict=True)), raw, repaired))
