"""A record of a reply, and the instance that is made of it, repaired where that is safe."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from graphrag_dagster.engines.extractive.text_spans import TextPlaces
from graphrag_dagster.kernel.graph.graph_labels import RELATED_TO, is_weight, relation_label
from graphrag_dagster.kernel.tasks.task_ports import (
    UNKNOWN_TYPE,
    ClaimInstance,
    EntityInstance,
    RelationshipInstance,
)
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.kernel.text.text_similarity import clean, normalise

RecordType = Literal["entity", "relationship", "claim"]
Status = Literal["TRUE", "FALSE", "SUSPECTED"]
Instance = EntityInstance | RelationshipInstance | ClaimInstance

_NUMBER = re.compile(r"\s*[\[(\"']*\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)?)?")
_NOTHING = frozenset({"", "NONE", "NULL", "N/A", "NA", "UNKNOWN", "NOT SPECIFIED", "UNSPECIFIED", "-"})
#: Characters of a name, and of any other field.
_LONGEST_NAME, _LONGEST = 1_000, 20_000
_STATUSES: tuple[Status, ...] = get_args(Status)

_FIELDS: Mapping[RecordType, tuple[str, ...]] = {
    "entity": ("name", "type", "description"),
    "relationship": ("source", "target", "description", "strength"),
    "claim": ("subject", "object", "type", "status", "start_date", "end_date", "description", "quotes"),
}


def fields_of(kind: RecordType, *, labelled: bool) -> tuple[str, ...]:
    """Return the fields of a kind of record, in the order in which the prompts ask for them."""
    if labelled and kind == "relationship":
        return ("source", "target", "relation", "description", "strength")
    return _FIELDS[kind]


class BadRecord(Exception):
    """A record that lacks what it cannot do without; its text is the reason."""


@dataclass(slots=True)
class Record:
    """A record of a reply, and its words as they came; ``repaired``: some of it had to be guessed."""

    kind: RecordType
    fields: Mapping[str, object]
    raw: str
    repaired: bool = False

    def check_lengths(self) -> None:
        """Raise BadRecord where a field is longer than any that means something."""
        for name, value in self.fields.items():
            if (length := len(str(value))) > _LONGEST:
                raise BadRecord(f"the {name} has {length:,} characters; at most {_LONGEST:,} are taken")

    def text(self, name: str) -> str:
        """Return a field cleaned, on one line; lists are joined, what is missing is blank."""
        value = self.fields.get(name)
        if isinstance(value, list):
            value = " ".join(map(str, value))
        return "" if value is None or isinstance(value, dict) else clean(str(value))

    def name(self, name: str) -> str:
        """Return a field that is a name.

        Raises:
            BadRecord: it is empty, or too long to be a name.
        """
        text = self.text(name)
        if not any(map(str.isalnum, text)):
            raise BadRecord(f"the {name} is missing")
        if len(text) > _LONGEST_NAME:
            raise BadRecord(f"the {name} has {len(text):,} characters; at most {_LONGEST_NAME:,} are taken")
        return text

    def type(self) -> str:
        """Return the type in capitals, without brackets of a copied template; UNKNOWN if it is missing."""
        return self.or_repaired(clean(self.text("type").strip("<>[](){}.,:;* ")).upper(), UNKNOWN_TYPE)

    def or_repaired(self, text: str, otherwise: str) -> str:
        """Return a text, or something else in its place where it is blank, which is a repair."""
        self.repaired |= not text
        return text or otherwise


def make_entity(record: Record, places: TextPlaces, round_: int) -> EntityInstance:
    """Return the entity of a record; a missing type becomes UNKNOWN, a missing description empty.

    Raises:
        BadRecord: no name.
    """
    surface = record.name("name")
    name = normalise(surface)
    spans = places.name(surface) or places.name(name)
    description = record.or_repaired(record.text("description"), "")
    return EntityInstance(name, surface, record.type(), description, round_, spans)


def make_relationship(record: Record, places: TextPlaces, round_: int) -> RelationshipInstance:
    """Return the relationship of a record; a strength that is no number becomes 1.

    Its label is ``related_to`` where none was asked for, or what came is none.

    Raises:
        BadRecord: an end is missing.
    """
    source, target = record.name("source"), record.name("target")
    spans = places.sentences_with(places.name(source), places.name(target))
    return RelationshipInstance(
        normalise(source),
        normalise(target),
        record.or_repaired(record.text("description"), ""),
        _strength(record),
        "model",
        round_,
        spans,
        _relation(record),
    )


def make_claim(record: Record, places: TextPlaces, round_: int) -> ClaimInstance:
    """Return the claim of a record; its spans are where its quotes stand.

    Raises:
        BadRecord: no subject, or no description.
    """
    subject, object_ = record.name("subject"), record.text("object")
    description = record.text("description")
    if not description:
        raise BadRecord("the description is missing")
    return ClaimInstance(
        normalise(subject),
        None if object_.upper() in _NOTHING else normalise(object_),
        record.type(),
        _status(record),
        description,
        _date(record, "start_date"),
        _date(record, "end_date"),
        round_,
        _quoted_spans(record, places),
    )


def _relation(record: Record) -> str:
    if "relation" not in record.fields:
        return RELATED_TO
    return record.or_repaired(relation_label(record.text("relation")) or "", RELATED_TO)


def _strength(record: Record) -> float:
    number = _NUMBER.match(record.text("strength"))
    strength = float(number[1]) if number else math.nan
    if is_weight(strength):
        return strength
    record.repaired = True
    return 1.0


def _status(record: Record) -> Status:
    given = record.text("status").upper()
    if (status := next((one for one in _STATUSES if one == given), None)) is None:
        record.repaired = True
    return status or "SUSPECTED"


def _date(record: Record, name: str) -> str | None:
    given = record.text(name)
    if _DATE.fullmatch(given):
        return given
    record.repaired |= given.upper() not in _NOTHING
    return None


def _quoted_spans(record: Record, places: TextPlaces) -> tuple[Span, ...]:
    quotes = record.fields.get("quotes")
    each = quotes if isinstance(quotes, list) else [quotes]
    spans = (span for quote in each if quote for span in places.quote(clean(str(quote))))
    return tuple(sorted(set(spans)))
