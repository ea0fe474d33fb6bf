"""Parsers of extraction replies: JSON lists and the paper's delimited records.

A record is ``("entity"<|>NAME<|>TYPE<|>description)`` or ``("relationship"<|>A<|>B<|>description<|>9)`` or
``("claim"<|>…)``; records are parted by ``##`` and a reply ends with ``<|COMPLETE|>`` (paper, Appendix E.1).
Where labels of relationships were asked for, they stand behind ``B``. Everything in a reply becomes a record,
a repaired record, a quarantined one, or noise that holds no field.
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

_OPENING, _CLOSING = "([{", ")]}"
_QUOTE = "\"'“”‘’«»`*"
# No pattern begins with a run that can match at many places, so that time stays linear in any garbage.
_FIELD = re.compile(
    r"<[ ]?/?[ ]?\|{1,3}#?\|?[ ]?/?[ ]?>|&lt;\|{1,3}&gt;|\{tuple_?delimiter\}"
    r"|(?<=[\"”])\s{0,3}(?:<\||\|{1,2}>)(?=\s{0,3}[\"“\d])",
    re.IGNORECASE,
)
_COMPLETE = re.compile(r"<\|?\s?COMPLETED?\s?\|?>|\|COMPLETED?\||\{completion_?delimiter\}", re.IGNORECASE)
_TAG = rf"[{_QUOTE}]{{0,4}}(?P<tag>entity|entities|relationships?|relations?|claims?)[{_QUOTE}]{{0,4}}"
_NEXT = rf"(?:\s*(?:{_FIELD.pattern})|\s*[,|;]\s*[{_QUOTE}])"
_START = re.compile(rf"[(\[{{]\s{{0,3}}{_TAG}(?={_NEXT})", re.IGNORECASE)
_BARE_START = re.compile(
    rf"^[ \t]*+(?:[-•]\s{{1,3}}|\d{{1,4}}[.)]\s{{0,3}})?{_TAG}(?={_NEXT})", re.IGNORECASE | re.MULTILINE
)
_BOUNDARY = re.compile(
    r"\{record_?delimiter\}|(?<=[)\]}])\s*\#{2,}+"
    rf"|(?<!\#)\#{{2,}}+(?=\s*(?:[(\[{_QUOTE}]|\d+[.)]|\Z|(?:entity|relation|claim)))"
    r"|(?<=\n)[ \t]*\#{2,}+[ \t]*(?=\n)|(?<=[)\]}])[ \t]*\n\s*(?=[(\[{])",
    re.IGNORECASE,
)
_CLOSE = re.compile(rf"[)\]}}][{_QUOTE}]*[.,;]?[ \t]*(?=\n|\Z)")
_UNCLOSED_END = re.compile(r"\n\s*(?:\n|\*\*|#|```)")
_LIST_PART = re.compile(rf"[,|;]\s*(?=[{_QUOTE}\d-])")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_LEAST = {"entity": 2, "relationship": 2, "claim": 7}


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


def parse_tuples(reply: str, *, claims: bool = False, labelled: bool = False) -> TupleParse:
    """Read the records of one reply (paper, Appendix E.1). Never raises and never drops a record.

    Args:
        reply: the visible reply.
        claims: whether claims were asked for; then records without a tag are claims.
        labelled: whether relationships were asked for with labels.
    """
    found = TupleParse(complete=bool(_COMPLETE.search(reply)))
    pieces = list(_record_pieces(reply))
    found.cut = not found.complete and _is_unclosed(pieces)
    for piece in pieces:
        _read(piece, found, claims, labelled)
    found.records.sort(key=lambda record: list(_MAKERS).index(record.kind))
    return found


def _is_unclosed(pieces: Sequence[str]) -> bool:
    """Whether the last record is not closed, though its model does close records."""
    opened = [piece for piece in pieces if piece[0] in _OPENING]
    if not opened or opened[-1] != pieces[-1] or _is_closed(opened[-1]):
        return False
    return len(opened) == 1 or any(map(_is_closed, opened))


def _is_closed(piece: str) -> bool:
    """Whether every bracket of a piece is closed, one of them after its last field began."""
    last = max((match.end() for match in _FIELD.finditer(piece)), default=0)
    balance = sum(map(piece.count, _OPENING)) - sum(map(piece.count, _CLOSING))
    return balance <= 0 and any(mark in piece[last:] for mark in _CLOSING)


def _record_pieces(reply: str) -> Iterator[str]:
    for turn in _COMPLETE.split(reply):
        for part in _BOUNDARY.split(turn):
            starts = sorted({m.start() for p in (_START, _BARE_START) for m in p.finditer(part)})
            places = [0, *starts, len(part)]
            for begin, end in pairwise(places):
                if piece := part[begin:end].strip():
                    yield piece


def _read(piece: str, found: TupleParse, claims: bool, labelled: bool) -> None:
    tagged = _START.match(piece) or _BARE_START.match(piece)
    if not tagged and not _FIELD.search(piece):
        if piece.strip(f"{_QUOTE}#-().: \n"):
            found.noise.append(piece)
        return
    mended: list[str] = []
    body, rest = _body(piece, tagged, mended)
    if rest:
        found.noise.append(rest)
    parts = _parts(body, mended)
    kind = _kind(tagged, parts, claims, labelled, mended)
    if kind is None:
        found.quarantined.append((piece, "neither an entity nor a relationship nor a claim"))
    elif len(parts) < _LEAST[kind]:
        article = "an" if kind == "entity" else "a"
        found.quarantined.append((piece, f"{len(parts)} fields are too few for {article} {kind}"))
    else:
        label = {"relation": _label(parts)} if labelled and kind == "relationship" else {}
        values = _VALUES[kind](parts, mended) | label
        raw = piece[: len(piece) - len(rest)].strip()
        found.records.append(RawRecord(kind, Fields(values, mended), raw))


def _body(piece: str, tagged: re.Match[str] | None, mended: list[str]) -> tuple[str, str]:
    """Return what stands between tag and end of a record, and what follows the record."""
    begin = tagged.end() if tagged else 0
    if not tagged:
        opening = re.match(r"\s*(?:[-•]\s+|\d+[.)]\s*)?[(\[{]", piece)
        begin = opening.end() if opening else 0
    last = max((match.end() for match in _FIELD.finditer(piece)), default=begin)
    opened = piece.lstrip()[:1] in _OPENING
    close = _CLOSE.search(piece, last)
    if opened and close:
        return piece[begin : close.start()], piece[close.end() :].strip()
    mended.append("parentheses")
    stop = _UNCLOSED_END.search(piece, last)
    end = stop.start() if stop else len(piece)
    return piece[begin:end].rstrip(" \n)]}"), piece[end:].strip()


def _parts(body: str, mended: list[str]) -> list[str]:
    marks = [match[0].strip() for match in _FIELD.finditer(body)]
    if any(mark != FIELD for mark in marks):
        mended.append("field delimiters")
    if marks:
        parts = _FIELD.split(body)
    else:
        mended.append("commas instead of field delimiters")
        parts = _LIST_PART.split(body)
    # The body begins with a delimiter where a tag stood before it.
    return [clean(part.strip().strip("*`")) for part in (parts if parts[0].strip() else parts[1:])]


def _kind(
    tagged: re.Match[str] | None, parts: Sequence[str], claims: bool, labelled: bool, mended: list[str]
) -> RecordType | None:
    if tagged:
        if tagged["tag"] not in {"entity", "relationship", "claim"} or '"' not in tagged[0]:
            mended.append(f"{tagged[0].strip()} read as a tag")
        tag = tagged["tag"].lower()
        return "entity" if tag[0] == "e" else "relationship" if tag[0] == "r" else "claim"
    mended.append("no tag")
    if claims:
        return "claim"
    if 4 <= len(parts) <= (5 if labelled else 4) and _NUMBER.fullmatch(parts[-1]):
        return "relationship"
    return "entity" if len(parts) == 3 and not _NUMBER.fullmatch(parts[2]) else None


def _entity(parts: list[str], mended: list[str]) -> dict[str, object]:
    name, second, *further = parts
    if not further:
        mended.append("a field is missing")
        short = len(second.split()) <= 3
        return {"name": name, "type": second if short else "", "description": "" if short else second}
    if len(further) > 1:
        mended.append(f"{len(further) - 1} fields too many")
    kept = further[:-1] if len(further) > 1 and _NUMBER.fullmatch(further[-1]) else further
    return {"name": name, "type": second, "description": _join_fields(kept)}


def _relationship(parts: list[str], mended: list[str]) -> dict[str, object]:
    source, target, *further = parts
    numeric = [place for place, part in enumerate(further) if _NUMBER.fullmatch(part)]
    strength = further.pop(numeric[-1]) if numeric else ""
    if not numeric and len(further) > 1:
        strength = further.pop()
    if len(parts) > 4:
        mended.append(f"{len(parts) - 4} fields too many")
    return {"source": source, "target": target, "description": _join_fields(further), "strength": strength}


def _label(parts: list[str]) -> str:
    """Take the label out of the fields of a relationship; a blank one where there are too few for it."""
    return parts.pop(2) if len(parts) > 4 else ""


def _claim(parts: list[str], mended: list[str]) -> dict[str, object]:
    names = ("subject", "object", "type", "status", "start_date", "end_date", "description")
    quotes = parts[len(names) :]
    if len(quotes) > 1:
        mended.append(f"{len(quotes) - 1} fields too many")
    return {**dict(zip(names, parts, strict=False)), "quotes": quotes}


def _join_fields(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)


_VALUES: Mapping[RecordType, Callable[[list[str], list[str]], dict[str, object]]] = {
    "entity": _entity,
    "relationship": _relationship,
    "claim": _claim,
}
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
    parsed = parse_tuples(text, claims="claim" in kinds, labelled=labelled)
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
