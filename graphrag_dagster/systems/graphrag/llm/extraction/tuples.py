"""Parser of the paper's delimited records, tolerant of what models make of them.

A record is ``("entity"<|>NAME<|>TYPE<|>description)`` or ``("relationship"<|>A<|>B<|>description<|>9)`` or
``("claim"<|>…)``; records are parted by ``##`` and a reply ends with ``<|COMPLETE|>`` (paper, Appendix E.1).
Where labels of relationships were asked for, they stand behind ``B``. Everything in a reply becomes a record,
a repaired record, a quarantined one, or noise that holds no field.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from graphrag_dagster.kernel.text.similarity import clean
from graphrag_dagster.systems.graphrag.llm.extraction.records import Fields, RecordType

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
class TupleRecord:
    """One record: its kind, its fields under the names of the prompts, the words it came as, and mends."""

    kind: RecordType
    fields: dict[str, object]
    raw: str
    mended: tuple[str, ...] = ()

    def taken(self) -> Fields:
        """The fields for making an instance."""
        return Fields(self.fields, list(self.mended))


@dataclass(slots=True)
class TupleParse:
    """Contents of a reply. ``noise``: pieces without any field, such as headings and code fences.

    ``complete``: the reply has its end mark. ``cut``: it has none, and its last record has no end either.
    """

    entities: list[TupleRecord] = field(default_factory=list)
    relationships: list[TupleRecord] = field(default_factory=list)
    claims: list[TupleRecord] = field(default_factory=list)
    quarantined: list[tuple[str, str]] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    complete: bool = False
    cut: bool = False

    @property
    def parsed(self) -> list[TupleRecord]:
        """All readable records, repaired or not."""
        return [*self.entities, *self.relationships, *self.claims]

    @property
    def repaired(self) -> list[tuple[str, str]]:
        """Repaired records: as they came, and how they were repaired."""
        return [(record.raw, "; ".join(record.mended)) for record in self.parsed if record.mended]

    @property
    def records(self) -> int:
        """Records in the reply: readable and quarantined."""
        return len(self.parsed) + len(self.quarantined)


def parse_tuples(reply: str, *, claims: bool = False, labelled: bool = False) -> TupleParse:
    """Read the records of one reply (spec_graphrag §3). Never raises and never drops a record.

    Args:
        reply: the visible reply.
        claims: whether claims were asked for; then records without a tag are claims.
        labelled: whether relationships were asked for with labels.
    """
    found = TupleParse(complete=bool(_COMPLETE.search(reply)))
    pieces = list(_pieces(reply))
    found.cut = not found.complete and _ends_open(pieces)
    for piece in pieces:
        _read(piece, found, claims, labelled)
    return found


def _ends_open(pieces: Sequence[str]) -> bool:
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


def _pieces(reply: str) -> Iterator[str]:
    for turn in _COMPLETE.split(reply):
        for part in _split(_BOUNDARY, turn):
            starts = sorted({m.start() for p in (_START, _BARE_START) for m in p.finditer(part)})
            places = [0, *starts, len(part)]
            for begin, end in pairwise(places):
                if piece := part[begin:end].strip():
                    yield piece


def _split(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    begin = 0
    for match in pattern.finditer(text):
        yield text[begin : match.start()]
        begin = match.end()
    yield text[begin:]


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
        found.quarantined.append((piece, f"{len(parts)} fields are too few for {_article(kind)} {kind}"))
    else:
        _add(found, kind, parts, piece[: len(piece) - len(rest)].strip(), mended, labelled)


def _add(
    found: TupleParse, kind: RecordType, parts: list[str], raw: str, mended: list[str], labelled: bool
) -> None:
    if kind == "entity":
        found.entities.append(TupleRecord(kind, _entity(parts, mended), raw, tuple(mended)))
    elif kind == "relationship":
        label = {"relation": _label(parts)} if labelled else {}
        fields = _relationship(parts, mended) | label
        found.relationships.append(TupleRecord(kind, fields, raw, tuple(mended)))
    else:
        found.claims.append(TupleRecord(kind, _claim(parts, mended), raw, tuple(mended)))


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
    return {"name": name, "type": second, "description": _joined(kept)}


def _relationship(parts: list[str], mended: list[str]) -> dict[str, object]:
    source, target, *further = parts
    numeric = [place for place, part in enumerate(further) if _NUMBER.fullmatch(part)]
    strength = further.pop(numeric[-1]) if numeric else ""
    if not numeric and len(further) > 1:
        strength = further.pop()
    if len(parts) > 4:
        mended.append(f"{len(parts) - 4} fields too many")
    return {"source": source, "target": target, "description": _joined(further), "strength": strength}


def _label(parts: list[str]) -> str:
    """Take the label out of the fields of a relationship; a blank one where there are too few for it."""
    return parts.pop(2) if len(parts) > 4 else ""


def _claim(parts: list[str], mended: list[str]) -> dict[str, object]:
    names = ("subject", "object", "type", "status", "start_date", "end_date", "description")
    quotes = parts[len(names) :]
    if len(quotes) > 1:
        mended.append(f"{len(quotes) - 1} fields too many")
    return {**dict(zip(names, parts, strict=False)), "quotes": quotes}


def _joined(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)


def _article(kind: RecordType) -> str:
    return "an" if kind == "entity" else "a"
